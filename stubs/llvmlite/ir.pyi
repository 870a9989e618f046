# What handful uses of llvmlite, which ships no types.
from typing import Any

Undefined: Any

def DoubleType() -> Any: ...  # noqa: N802
def IntType(bits: int) -> Any: ...  # noqa: N802
def VectorType(element: Any, count: int) -> Any: ...  # noqa: N802
def Constant(kind: Any, value: Any) -> Any: ...  # noqa: N802
def VoidType() -> Any: ...  # noqa: N802
def FunctionType(returned: Any, arguments: Any) -> Any: ...  # noqa: N802
