"""Building blocks of checks: expectations, and a check bound to its subject.

Checks do not use `assert`, which `python -O` leaves out and only pytest explains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from handful.errors import ContractError


class Check:
    """A check of one subject, to be called without arguments. Its name is that of the check."""

    def __init__(self, name: str, function: Callable[[Any], None], subject: Any) -> None:
        self.__name__ = name
        self._function = function
        self._subject = subject

    def __call__(self) -> None:
        """Run the check; raise `ContractError` if it fails."""
        try:
            self._function(self._subject)
        except ContractError as error:
            raise ContractError(f"{self._subject}, check {self.__name__}: {error}") from None
        except Exception as error:
            raise ContractError(
                f"{self._subject}, check {self.__name__}: raised {type(error).__name__}: {error}"
            ) from error

    def __repr__(self) -> str:
        return f"<check {self.__name__} of {self._subject}>"


def expect(condition: bool, message: str) -> None:
    """Raise `ContractError` unless the condition holds."""
    if not condition:
        raise ContractError(message)


def expect_equal(found: Any, wanted: Any, what: str) -> None:
    """Raise `ContractError` unless both are equal."""
    if found != wanted:
        raise ContractError(f"{what}: found {found!r}, expected {wanted!r}")


@contextmanager
def expect_error(kinds: type[Exception] | tuple[type[Exception], ...], what: str) -> Iterator[None]:
    """Raise `ContractError` unless the block raises one of these errors."""
    try:
        yield
    except kinds:
        return
    except Exception as error:
        raise ContractError(f"{what}: raised {type(error).__name__}: {error}") from error
    raise ContractError(f"{what}: was accepted")
