from typing import Any

from playwright.sync_api import Page

class AxeResults:
    response: dict[str, Any]
    violations_count: int
    def generate_report(self) -> str: ...

class Axe:
    def __init__(self) -> None: ...
    def run(self, page: Page, *, options: dict[str, Any] | None = None) -> AxeResults: ...
