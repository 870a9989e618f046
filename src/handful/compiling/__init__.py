"""Compilation of functions of records to machine code, for simulations and for fleets.

`jit` compiles and caches, `state` lets Numba see a record, `identity` and `sources` compute what a
cached kernel depends on, `arrays` has the types.
"""
