"""Numba kernels of the simulator; how they are compiled is in `handful.compiling`."""
