"""Scripts that run other packages: one file a package, and `job.py`, which they share.

Each is run as a module from the root of the source tree, by the Python of the package's own
environment. None of them imports handful.
"""
