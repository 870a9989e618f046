"""Programs that run in a fresh environment, where handful was installed from a wheel.

`kit.py` copies them into an empty folder with the pages that they need, so that the source tree is
out of reach. `alone.py` is run for every extra, and `NAME.py` for the extra NAME, if there is one.
A program fails by an exception, and its last line of output stands in the table.
"""
