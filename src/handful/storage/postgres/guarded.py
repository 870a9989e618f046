"""Errors of handful in place of those of PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg

from handful.errors import StoreError, StoreUnavailableError
from handful.storage.schema import damaged

UNAVAILABLE = ("08", "25", "40", "53", "55", "57", "58")
"""Classes of SQLSTATE: connections, read-only servers, deadlocks, resources, locks, shutdowns."""


def translated(error: psycopg.Error) -> StoreError:
    """Return the error of handful that stands for one of PostgreSQL.

    The statements are fixed and were tested, so one that PostgreSQL refuses, or a constraint that
    does not hold, comes from tables that are not what was written.
    """
    state = error.sqlstate or ("08" if isinstance(error, psycopg.OperationalError) else "")
    said = (str(error).strip().splitlines() or [type(error).__name__])[0]
    if state.startswith(UNAVAILABLE) or isinstance(error, psycopg.InterfaceError):
        return StoreUnavailableError(
            f"the store cannot be written to or read: PostgreSQL says {said!r}. Nothing of this "
            "request was stored; it may be sent again"
        )
    return damaged(f"PostgreSQL says {said!r}")


@contextmanager
def guarded(give_up: Callable[[], None]) -> Iterator[None]:
    """Raise errors of handful in place of those of PostgreSQL; after one, give the link up."""
    try:
        yield
    except psycopg.Error as error:
        give_up()
        raise translated(error) from error
