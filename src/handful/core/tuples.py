"""Named tuples, made without a call of Python.

`Row(...)` runs a function that `NamedTuple` wrote in Python, which takes twice as long as
`new_tuple(Row, (...))`. That takes as many fields as it is given, in the order of the class, and
fills in no default.
"""

from __future__ import annotations

new_tuple = tuple.__new__
