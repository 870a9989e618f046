from typing import Any

void: Any
int64: Any
uint64: Any
boolean: Any
Integer: Any
NestedArray: Any
float64: Any
voidptr: Any

class Type:
    def __init__(self, name: str) -> None: ...
    def __call__(self, *arguments: Any) -> Any: ...
