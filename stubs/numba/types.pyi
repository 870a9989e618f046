from typing import Any

void: Any
int64: Any
float64: Any
