"""Compiling: how functions of records become machine code, for simulations and for fleets.

`jit` compiles and caches, `state` lets Numba see a record, `identity` and `sources` say what a
cached kernel belongs to, `arrays` has the types.
"""
