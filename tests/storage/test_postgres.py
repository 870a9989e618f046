"""A store in PostgreSQL keeps the contract of shared stores, also when it is cut off."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import pytest

from handful.errors import (
    DamagedStoreError,
    NewerStoreError,
    SettingError,
    StoreAccessError,
    StoreUnavailableError,
)
from handful.storage import Storage
from handful.storage.postgres import PostgresStorage, link, schema, without_password
from handful.storage.postgres.log import Head
from handful.testing.shared_storage import SharedStorageContract
from handful.testing.storage import created, decided
from tests.postgres import shared
from tests.proxy import Proxy


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


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    """A proxy in front of PostgreSQL."""
    with Proxy(shared().port) as made:
        yield made


def through(proxy: Proxy, address: str) -> str:
    """Return the address of the same store behind a proxy."""
    schema = address.rpartition("=")[2]
    return shared().address(schema, "127.0.0.1", proxy.port)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time limits that a test can wait for."""
    for name in ("STATEMENT_SECONDS", "UNANSWERED_SECONDS", "LOCK_SECONDS"):
        monkeypatch.setattr(link, name, 1.5)
    monkeypatch.setattr(link, "SLACK_SECONDS", 0.5)
    monkeypatch.setattr(link, "RETRY_SECONDS", 0.0)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("forward", [False, True], ids=["before the commit", "after it"])
def test_a_commit_that_is_cut_off(proxy: Proxy, forward: bool) -> None:
    """It is looked up: it was committed, or nothing of it is seen."""
    address = shared().new_store()
    with PostgresStorage(through(proxy, address)) as storage, PostgresStorage(address) as other:
        with storage.begin() as tx:
            tx.append([created(1)])
        for seq in (2, 3):  # the first commit of a connection, and a later one
            proxy.lose(b"COMMIT", forward=forward)
            tx = storage.begin()
            tx.append([decided(seq)])
            if forward:
                tx.commit()
            else:
                with pytest.raises(StoreUnavailableError, match="Nothing of this request"):
                    tx.commit()
            assert proxy.lost.is_set()
            with other.begin() as seen:
                assert (seen.row(seq) is not None) == forward
            with storage.begin() as tx:
                tx.set_number("again", seq)


@pytest.mark.usefixtures("quick")
def test_a_commit_whose_outcome_is_not_known(proxy: Proxy) -> None:
    address = shared().new_store()
    with PostgresStorage(through(proxy, address)) as storage, PostgresStorage(address) as other:
        tx = storage.begin()
        tx.append([created(1)])
        tx.last()
        proxy.refuse()
        with pytest.raises(StoreUnavailableError, match="not known"):
            tx.commit()
        with pytest.raises(StoreUnavailableError, match="cannot be reached"):
            storage.begin()
        proxy.release()
        with storage.begin() as tx, other.begin() as seen:
            assert tx.last() == seen.last() == (0, 0)


@pytest.mark.usefixtures("quick")
def test_a_store_that_does_not_answer_is_given_up(proxy: Proxy) -> None:
    """Everything is taken on the way, and nothing is forwarded."""
    address = shared().new_store()
    with PostgresStorage(through(proxy, address)) as storage:
        tx = storage.begin()
        tx.append([created(1)])
        proxy.hold()
        with pytest.raises(StoreUnavailableError):
            tx.last()
        tx.rollback()
        proxy.release()
        with storage.begin() as tx:
            assert tx.last() == (0, 0)


def test_attempts_to_connect_are_not_made_without_end(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that requests are refused at once while a store cannot be reached."""
    with PostgresStorage(through(proxy, shared().new_store())) as storage:
        proxy.refuse()
        for _ in range(2):
            with pytest.raises(StoreUnavailableError, match="cannot be reached"):
                storage.begin()
        proxy.release()
        with pytest.raises(StoreUnavailableError, match="cannot be reached"):
            storage.begin()
        monkeypatch.setattr(link, "RETRY_SECONDS", 0.0)
        with storage.begin() as tx:
            assert tx.last() == (0, 0)


def test_a_server_that_hangs_is_rolled_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others go on; it finds out when it wakes up."""
    address = shared().new_store()
    other = PostgresStorage(address)
    monkeypatch.setattr(link, "IDLE_SECONDS", 0.5)
    with PostgresStorage(address) as hung, other:
        with hung.begin() as tx:
            tx.append([created(1)])
        tx = hung.begin()
        held = tx.hold([1], [], 1, None)
        with other.begin() as seen:  # waits until the other was rolled back
            later = seen.hold([1], [], 1, None)
            seen.append([decided(later.seq + 1, at=later.at)])
        tx.append([decided(held.seq + 1, at=held.at)])
        with pytest.raises(StoreUnavailableError):
            tx.commit()
        with hung.begin() as tx:
            assert [row.seq for row in tx.rows_of(1)] == [1, later.seq + 1]


def test_a_server_that_hangs_after_a_pipeline_holds_its_bandits_no_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The clock of idle transactions stands still then."""
    address = shared().new_store()
    other = PostgresStorage(address)
    monkeypatch.setattr(link, "TRANSACTION_SECONDS", 1.0)
    with PostgresStorage(address) as hung, other:
        with hung.begin() as tx:
            tx.append([created(1)])
        tx = hung.begin()
        tx.hold([1], [], 1, None)
        with tx._connection.pipeline():
            tx._connection.execute("SELECT 1")
        with other.begin() as seen:  # waits until the other was rolled back
            assert seen.hold([1], [], 1, None).seq > 0
        tx.rollback()


def test_a_vanished_row_is_noticed() -> None:
    with PostgresStorage(shared().new_store()) as storage:
        with storage.begin() as tx:
            tx.append([created(1), decided(2), created(3, 2), decided(4), decided(5)])
        for gone, reader in ((4, 1), (5, 1), (3, 2)):
            tx = storage.begin()
            tx._write("DELETE FROM log WHERE seq = %s", (gone,))
            with pytest.raises(DamagedStoreError, match="missing"):
                list(tx.rows_of(reader))
            tx.rollback()
        assert storage.verify() == []
        with storage.begin() as tx:
            tx._write("DELETE FROM log WHERE seq IN (3, 4)")
        assert len(storage.verify()) == 2


def test_a_row_cannot_be_written_past_another_server() -> None:
    """Even if nobody had held the bandit."""
    address = shared().new_store()
    with PostgresStorage(address) as one, PostgresStorage(address) as two:
        with one.begin() as tx:
            tx.append([created(1)])
        tx = one.begin()
        tx._heads = {1: Head(1, 1000)}  # it believes so
        with two.begin() as other:
            other.append([decided(2)])
        tx.append([decided(3)])
        with pytest.raises(DamagedStoreError, match="division"):
            tx.commit()
        with one.begin() as tx:
            assert tx.last()[0] == 2


def test_what_is_no_store_is_refused() -> None:
    address = shared().new_store()
    with PostgresStorage(address) as storage, storage.begin() as tx:
        tx._write("UPDATE meta SET version = 99")
    with pytest.raises(NewerStoreError, match="install a newer handful"):
        PostgresStorage(address)
    with pytest.raises(DamagedStoreError, match="there is no store"):
        PostgresStorage(shared().new_store(), create=False)
    with pytest.raises(DamagedStoreError, match="is not a store of handful"):
        PostgresStorage(shared().address("pg_catalog"))
    with pytest.raises(StoreUnavailableError, match="cannot be reached"):
        PostgresStorage("postgresql://nobody:secret@127.0.0.1:1/none")


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("//me:secret@h:5/d?schema=s", "//me@h:5/d?schema=s"),
        ("//me:secret#secret?secret@h/d?schema=s", "//me@h/d?schema=s"),
        ("//me:%73ecret@[::1]:5/d", "//me@[::1]:5/d"),
        ("//me:secret@one:5,two:6/d", "//me@one:5,two:6/d"),
        ("//me:secret@one,two/d?port=7", "//me@one:7,two:7/d"),
        ("//h/d?user=m%40e&password=secret&sslpassword=secret&options=secret", "//m%40e@h/d"),
        ("//h/d?password=secret&host=/tmp/x&port=5", "///d?host=/tmp/x&port=5"),
        ("//me@%2Ftmp%2Fx/d?schema=s", "//me@/d?host=/tmp/x&schema=s"),
        ("///", "///"),
        ("//h/d", "//h/d"),
    ],
)
def test_passwords_are_not_shown(given: str, shown: str) -> None:
    assert without_password(f"postgresql:{given}") == f"postgresql:{shown}"
    assert without_password(f"postgres:{given}") == f"postgresql:{shown}"


@pytest.mark.parametrize(
    "given",
    [
        "me:secret@secret@h/d",
        "me:secret/secret@h/d",
        "me:secret/x?secret=secret@h/d",
        "me:5/x?secret=secret@h/d",
        "me:secret@[::1/d",
        "me:secret%zz@h/d",
        "me:secret@h:secret/d",
        "h/d?secret",
    ],
)
def test_an_address_that_cannot_be_read_is_not_shown(given: str) -> None:
    for use in (without_password, PostgresStorage):
        with pytest.raises(SettingError, match="write / as %2F") as refused:
            use(f"postgresql://{given}")
        assert "secret" not in str(refused.value)


def test_an_unknown_setting_of_an_address_is_named() -> None:
    with pytest.raises(SettingError, match="'no_such_word' in the address"):
        without_password("postgresql://h/d?no_such_word=1")


@pytest.mark.parametrize("name", ["Front", "a b", "", "x" * 64, "ä"])
def test_a_schema_has_one_spelling(name: str) -> None:
    """PostgreSQL takes names in small letters in some places, and as they are in others."""
    with pytest.raises(SettingError, match="small letters"):
        PostgresStorage(shared().address(quote(name)))


@pytest.fixture
def guest() -> Iterator[str]:
    """A user of the database who may do nothing yet."""
    name = f"guest{os.getpid()}"
    shared().program("psql", "-c", f"CREATE USER {name}")
    yield name
    shared().program("psql", "-c", f"DROP OWNED BY {name} CASCADE; DROP USER {name}")


def advice(address: str, begins: str, ends: str) -> str:
    """Return the statements that the refusal of a store advises."""
    with pytest.raises(StoreAccessError) as refused:
        PostgresStorage(address)
    return str(refused.value).partition(begins)[2].partition(ends)[0]


def test_a_missing_privilege_is_named_and_the_advice_helps(guest: str) -> None:
    address = shared().new_store()
    PostgresStorage(address).close()
    theirs = address.replace("//postgres@", f"//{guest}@")
    statements = advice(theirs, "run: ", ". If")
    shared().program("psql", "-c", statements)
    with PostgresStorage(theirs) as storage:
        with storage.begin() as tx:
            held = tx.hold([], [], 2, None)
            tx.append([created(held.seq + 1, at=held.at), decided(held.seq + 2, at=held.at)])
            tx.subset_number(b"[]")
        assert storage.verify() == []
        schema = address.rpartition("=")[2]
        shared().program("psql", "-c", f"REVOKE INSERT ON {schema}.log FROM {guest}")
        tx = storage.begin()
        seq, at = tx.draw(1, None)
        tx.append([decided(seq + 1, at=at)])
        with pytest.raises(StoreAccessError, match="permission denied for table log"):
            tx.commit()


def test_a_user_who_may_not_make_schemas_can_be_given_one(guest: str) -> None:
    theirs = shared().new_store().replace("//postgres@", f"//{guest}@")
    statements = advice(theirs, "yet: ", "\n")
    shared().program("psql", "-c", statements)
    with PostgresStorage(theirs) as storage, storage.begin() as tx:
        tx.append([created(1)])


def test_what_may_take_long_has_no_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even that of transactions, which PostgreSQL has from version 17 on."""
    names = "lock_timeout", "statement_timeout", "transaction_timeout"
    address = shared().new_store()
    with PostgresStorage(address) as storage:
        with storage.begin() as tx:
            assert tx._one("SHOW transaction_timeout") == ("2min",)
        for name in ("statement_timeout", "idle_in_transaction_session_timeout", names[2]):
            with storage.moment() as tx:
                assert tx._one(f"SHOW {name}") == ("0",)
    noted = ", ".join(f"current_setting('{name}') AS {name}" for name in names)
    monkeypatch.setattr(schema, "VERSION", 2)
    monkeypatch.setattr(schema, "MIGRATIONS", {1: f"CREATE TABLE noted AS SELECT {noted}"})
    with PostgresStorage(address) as storage, storage.begin() as tx:
        assert tx._all("SELECT * FROM noted") == [("0", "0", "0")]
        assert tx._one("SHOW transaction_timeout") == ("2min",)


def test_every_sequence_is_used() -> None:
    with PostgresStorage(shared().new_store()) as storage, storage.begin() as tx:
        found = tx._all(
            "SELECT relname FROM pg_class WHERE relkind = 'S' "
            "AND relnamespace = to_regnamespace(current_schema()) ORDER BY relname"
        )
    assert found == [("drawn",), ("drawn_at",), ("subsets_number_seq",)]


def test_a_migration_is_applied_as_a_whole_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    address = shared().new_store()
    PostgresStorage(address).close()

    def version() -> int:
        with PostgresStorage(address) as storage, storage.begin() as tx:
            found = tx._one("SELECT version FROM meta")
            assert found is not None
            return int(found[0])

    added = "CREATE TABLE added (number bigint PRIMARY KEY);"
    monkeypatch.setattr(schema, "VERSION", 2)
    monkeypatch.setattr(schema, "MIGRATIONS", {1: f"{added} NO SUCH STATEMENT"})
    with pytest.raises(DamagedStoreError, match="syntax error"):
        PostgresStorage(address)
    monkeypatch.setattr(schema, "VERSION", 1)
    assert version() == 1
    monkeypatch.setattr(schema, "VERSION", 2)
    monkeypatch.setattr(schema, "MIGRATIONS", {1: added})
    assert version() == 2


def test_many_open_a_new_store_at_once() -> None:
    """One makes the tables, and the others wait."""
    address = shared().new_store()
    with ThreadPoolExecutor(6) as pool:
        made = list(pool.map(PostgresStorage, [address] * 6))
    assert len({storage.identity() for storage in made}) == 1
    for storage in made:
        storage.close()
