"""Limits of a client: time-outs, attempts, and the circuit breaker."""

from __future__ import annotations

from dataclasses import dataclass, fields

from handful.errors import SettingError, integer


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of a client; times are in seconds.

    timeout       how long one attempt may take, connecting included
    total         how long a call may take, waits between attempts included
    attempts      how often a call is tried at most
    first_wait    before the second attempt; doubled before each further one
    longest_wait  between two attempts, unless the service asks for more by Retry-After
    failures      after so many failed attempts in a row, decisions that have a fallback
                  are answered by it without asking the service
    pause         for so long, until one of them tries again
    """

    timeout: float = 2.0
    total: float = 10.0
    attempts: int = 5
    first_wait: float = 0.05
    longest_wait: float = 2.0
    failures: int = 3
    pause: float = 5.0

    def __post_init__(self) -> None:
        for name in ("attempts", "failures"):
            if integer(name, getattr(self, name)) < 1:
                raise SettingError(f"{name}={getattr(self, name)!r}: give at least 1")
        for name in (field.name for field in fields(self)):
            value = getattr(self, name)
            least = "0 or more" if name.endswith("wait") else "more than 0"
            if not (value >= 0 if name.endswith("wait") else value > 0):
                raise SettingError(f"{name}={value!r}: give {least}")
