from typing import Any

class StructModel:
    def __init__(self, manager: Any, kind: Any, members: list[tuple[str, Any]]) -> None: ...
