"""Translation of SQLite's errors to those of handful."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from handful.errors import StoreError, StoreUnavailableError
from handful.storage.schema import damaged

UNAVAILABLE = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_INTERRUPT,
}

P = ParamSpec("P")
R = TypeVar("R")


def translated(error: sqlite3.Error) -> StoreError:
    """Return the error of handful that stands for one of SQLite.

    The statements are fixed and were tested, so one that SQLite refuses, or a constraint that does
    not hold, comes from a file that is not what was written.
    """
    code = getattr(error, "sqlite_errorcode", None)
    if isinstance(code, int) and code & 0xFF in UNAVAILABLE:
        return StoreUnavailableError(
            f"the store cannot be written to or read: SQLite says {str(error)!r}. Nothing of this "
            "request was stored; it may be sent again"
        )
    return damaged(f"SQLite says {str(error)!r}")


def guarded(method: Callable[P, R]) -> Callable[P, R]:
    """Raise errors of handful in place of those of SQLite."""

    @wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(*args, **kwargs)
        except (sqlite3.ProgrammingError, sqlite3.InterfaceError):
            raise  # of the caller's making, such as a store that was closed
        except sqlite3.Error as error:
            raise translated(error) from error
        except UnicodeDecodeError as error:  # of a message of SQLite's that quotes the file
            raise damaged("it has text that is none") from error

    return call
