from typing import Any

class AttributeTemplate:
    context: Any

def infer_getattr(template: type) -> type: ...
def signature(result: Any, *arguments: Any) -> Any: ...
