"""Named tuples, created without a call of a Python function.

`Row(...)` runs a function that `NamedTuple` wrote in Python, which takes twice as long as
`new_tuple(Row, (...))`. `new_tuple` accepts any number of fields, in the order of the class, and
fills in no default.
"""

from __future__ import annotations

new_tuple = tuple.__new__
