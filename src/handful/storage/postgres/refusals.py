"""Translation of PostgreSQL's errors to those of handful."""

from __future__ import annotations

import psycopg

from handful.errors import StoreAccessError, StoreError, StoreUnavailableError
from handful.storage.schema import damaged

UNAVAILABLE = ("08", "25", "40", "53", "55", "57", "58")
"""Classes of SQLSTATE: connections, read-only servers, deadlocks, resources, locks, shutdowns."""
FORBIDDEN = "42501"
"""The SQLSTATE of a missing privilege."""


def unreachable(shown: str, error: psycopg.Error) -> StoreAccessError:
    """Return the error of a store that cannot be connected to."""
    return StoreAccessError(
        f"the store {shown!r} cannot be reached: {_first_line(error)}. Nothing of this request was "
        "stored; it may be sent again"
    )


def forbidden(why: str, schema: str, user: str) -> StoreAccessError:
    """Return the error of a store that the user of the connection may not use."""
    named, to = f'"{schema}"', 'TO "{}"'.format(user.replace('"', '""'))
    of = f"SCHEMA {named}"
    return StoreAccessError(
        f"the user {user!r} may not use the store in the schema {schema!r}: {why}. Let the owner "
        f"of its tables run: GRANT USAGE ON {of} {to}; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL "
        f"TABLES IN {of} {to}; GRANT SELECT, UPDATE ON ALL SEQUENCES IN {of} {to}. If there are "
        f"none yet: CREATE SCHEMA IF NOT EXISTS {named}; GRANT CREATE, USAGE ON {of} {to}"
    )


def translated(error: psycopg.Error, schema: str, user: str) -> StoreError:
    """Return the error of handful that stands for one of PostgreSQL.

    The statements are fixed and were tested, so one that PostgreSQL refuses, or a constraint that
    does not hold, comes from tables that are not what was written, or from a missing privilege.
    """
    state = error.sqlstate or ("08" if isinstance(error, psycopg.OperationalError) else "")
    said = f"PostgreSQL says {_first_line(error)!r}"
    if state == FORBIDDEN:
        return forbidden(said, schema, user)
    if state.startswith(UNAVAILABLE) or isinstance(error, psycopg.InterfaceError):
        return StoreUnavailableError(
            f"the store cannot be written to or read: {said}. Nothing of this request was stored; "
            "it may be sent again"
        )
    return damaged(said)


def _first_line(error: psycopg.Error) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
