"""Numba kernels: the only place where Numba is imported."""
