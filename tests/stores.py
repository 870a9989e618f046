"""Files of stores that a test leaves open, as a killed server does, are closed after it.

Since Python 3.13 a connection to SQLite that nobody closed is a ResourceWarning, whenever it is
collected: an error in whichever test runs then.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest

from handful.storage import SQLiteStorage


@pytest.fixture(autouse=True)
def close_files(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Close the files that were opened since the test began."""
    connections: list[sqlite3.Connection] = []
    opened = SQLiteStorage._open

    def noted(storage: SQLiteStorage, durable: bool) -> None:
        opened(storage, durable)
        connections.append(storage.connection)

    monkeypatch.setattr(SQLiteStorage, "_open", noted)
    yield
    for connection in connections:
        connection.close()
