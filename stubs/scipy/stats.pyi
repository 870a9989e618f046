# SciPy ships no types; tests use its reference distributions and tests of fit.
from typing import Any

def __getattr__(name: str) -> Any: ...
