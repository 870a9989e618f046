"""A store in PostgreSQL keeps the contract of shared stores."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from handful.storage import Storage
from handful.storage.postgres import PostgresStorage
from handful.testing.shared_storage import SharedStorageContract
from tests.postgres import shared


class TestPostgres(SharedStorageContract):
    @pytest.fixture(autouse=True)
    def _stores(self) -> Iterator[None]:
        self.addresses: dict[int, str] = {}
        self.made: list[PostgresStorage] = []
        yield
        for storage in self.made:
            storage.close()

    def _opened(self, address: str) -> PostgresStorage:
        self.made.append(PostgresStorage(address))
        self.addresses[id(self.made[-1])] = address
        return self.made[-1]

    def new(self) -> PostgresStorage:
        return self._opened(shared().new_store())

    def beside(self, storage: Storage) -> PostgresStorage:
        return self._opened(self.addresses[id(storage)])

    def reopened(self, storage: Storage) -> PostgresStorage:
        storage.close()
        return self.beside(storage)

    def damaged(self, storage: Storage, seq: int) -> Storage:
        assert isinstance(storage, PostgresStorage)
        tx = storage.begin()
        tx._write("UPDATE log SET ref = coalesce(ref, 0) + 1 WHERE seq = %s", (seq,))
        tx.commit()
        return storage
