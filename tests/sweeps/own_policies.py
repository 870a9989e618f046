"""Policies that fail, for tests of sweeps."""

from __future__ import annotations

from typing import Any

from handful import UCBM


class UnpicklableError(Exception):
    """Cannot be made again in another process: it has another argument than its message."""

    def __init__(self, one: int, other: int) -> None:
        super().__init__(f"no {one} and no {other}")


class Failing(UCBM):
    """Raises at its 30th pull."""

    name = "failing"

    def select(self) -> Any:
        if self.pulls >= 30:
            raise UnpicklableError(1, 2)
        return super().select()
