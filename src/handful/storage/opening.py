"""Stores by name: the path of a file, or the address of a database."""

from __future__ import annotations

from pathlib import Path

from handful.errors import MissingExtraError, SettingError
from handful.storage.contract import Storage
from handful.storage.shared import SharedStorage
from handful.storage.sqlite import SQLiteStorage

ADDRESSES = ("postgresql://", "postgres://")


def is_address(store: str | Path) -> bool:
    """Return whether a store is named by the address of a database, and not by a file."""
    return str(store).startswith(ADDRESSES)


def open_store(
    store: str | Path, *, durable: bool = True, create: bool = True, patient: bool = False
) -> Storage:
    """Open a store by its name; `patient` is for commands that read or write all of it."""
    if is_address(store):
        return open_shared(str(store), durable=durable, create=create, patient=patient)
    if "://" in str(store):
        raise SettingError(
            f"{str(store)!r} is not a store: give the path of a file, or postgresql://HOST/DATABASE"
        )
    return SQLiteStorage(store, durable=durable, create=create)


def open_shared(
    address: str, *, durable: bool = True, create: bool = True, patient: bool = False
) -> SharedStorage:
    """Open a store that several servers share."""
    try:
        from handful.storage.postgres import PostgresStorage
    except ImportError as error:
        raise MissingExtraError("a store in PostgreSQL", str(error.name), "postgres") from None
    return PostgresStorage(address, durable=durable, create=create, patient=patient)


def shown(store: str | Path) -> str:
    """Return the name of a store as it may be printed: without a password."""
    if not is_address(store):
        return str(store)
    from handful.storage.postgres import without_password

    return without_password(str(store))
