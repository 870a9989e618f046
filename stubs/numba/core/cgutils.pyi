from collections.abc import Callable
from typing import Any

def create_struct_proxy(kind: Any) -> Callable[..., Any]: ...
