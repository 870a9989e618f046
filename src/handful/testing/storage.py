"""The tests of the contract of a store; a subclass defines how a store is made.

    class TestMyStorage(StorageContract):
        def new(self) -> Storage:
            return MyStorage(...)

        def reopened(self, storage: Storage) -> Storage:
            storage.close()
            return MyStorage(...)

pytest collects the methods of such a class. They raise `ContractError` if a store violates
`handful.storage.contract`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from handful.errors import DamagedStoreError, StoreInUseError
from handful.storage.contract import Storage, Transaction
from handful.storage.rows import Answer, BanditRow, Due, KeyRow, Kind, Point, Row, Snapshot
from handful.testing.contract import expect, expect_equal, expect_error


def created(seq: int, bandit: int = 1, at: int = 1000) -> Row:
    """Return the row of a new bandit."""
    return Row(seq, at, bandit, Kind.CREATED, note=b'[{"name": "b"}, ["a"]]')


def decided(seq: int, bandit: int = 1, at: int = 1000, ticket: int | None = 7) -> Row:
    """Return the row of a decision."""
    return Row(seq, at, bandit, Kind.DECIDED, 3, ticket, 0.25, None)


def rewarded(seq: int, decision: int, value: float = 0.5, bandit: int = 1, at: int = 1000) -> Row:
    """Return the row of a reward."""
    return Row(seq, at, bandit, Kind.REWARDED, decision, 1, value)


EVERY_FIELD = (
    Row(1, 0, 1, Kind.CREATED, note=b""),
    Row(2, 0, 2**40, Kind.DECIDED, 2**40, 2**63 - 1, 0.1, 5, b"\x00\xff"),
    Row(3, 5, 1, Kind.DECIDED, 0, 2**64 + 3, 1.0, 1),
    Row(4, 5, 1, Kind.DECIDED, 0, 0, 0.0),
    Row(5, 2**45, 1, Kind.REWARDED, 2, 1, -1e300),
    Row(6, 2**45, 1, Kind.LATE, 2, None, 5e-324),
    Row(7, 2**45, 1, Kind.CLOSED, 4, 0),
    Row(8, 2**45, 1, Kind.REWARDED, 3, 1, -0.0),
    Row(9, 2**45, 1, Kind.REWARDED, 4, 1, 2.0**53, None, b""),
)


class BrokenOffError(Exception):
    """The error that aborts a transaction."""


class StorageContract:
    """What every store does. A subclass overrides `new`, and `reopened` if it is on disk."""

    def new(self) -> Storage:
        """Return a new, empty store. It may be called several times in a test."""
        raise NotImplementedError

    def reopened(self, storage: Storage) -> Storage:
        """Close a store and open it again, as another process would."""
        return storage

    def damaged(self, storage: Storage, seq: int) -> Storage | None:
        """Damage a row of the log on disk and return the store, open; None if that cannot be."""
        return None

    # Transactions.

    def test_a_transaction_is_applied_as_a_whole(self) -> None:
        storage = self.new()
        with storage.begin() as tx:
            self._fill(tx)
        storage = self.reopened(storage)
        with storage.begin() as tx:
            before = _everything(tx)
        expect_equal(before["last"], (3, 1000), "the end of the log, after opening again")
        expect_equal(before["label"], {0: "a", 1: "b"}, "labels, after opening again")

    def test_a_transaction_that_is_broken_off_leaves_nothing(self) -> None:
        storage = self.new()
        with storage.begin() as tx:
            empty = _everything(tx)
        with suppress(BrokenOffError), storage.begin() as tx:
            self._fill(tx)
            raise BrokenOffError
        with storage.begin() as tx:
            expect_equal(_everything(tx), empty, "the store after a transaction was broken off")
            self._fill(tx)
        with storage.begin() as tx:
            full = _everything(tx)
        with suppress(BrokenOffError), storage.begin() as tx:
            self._change(tx)
            raise BrokenOffError
        with storage.begin() as tx:
            expect_equal(_everything(tx), full, "the store after changes were broken off")
        storage = self.reopened(storage)
        with storage.begin() as tx:
            expect_equal(_everything(tx), full, "the same, after opening again")

    def test_rollback_by_hand(self) -> None:
        storage = self.new()
        tx = storage.begin()
        self._fill(tx)
        tx.rollback()
        with storage.begin() as tx:
            expect_equal(tx.last(), (0, 0), "the end of the log after a rollback")

    def test_a_transaction_sees_what_it_has_written(self) -> None:
        storage = self.new()
        with storage.begin() as tx:
            self._fill(tx)
            inside = _everything(tx)
        with storage.begin() as tx:
            expect_equal(_everything(tx), inside, "what was seen inside, and after the commit")
            self._change(tx)
            inside = _everything(tx)
        with storage.begin() as tx:
            expect_equal(_everything(tx), inside, "changes seen inside, and after the commit")

    def test_there_is_one_transaction_at_a_time(self) -> None:
        storage = self.new()
        with storage.begin() as tx:
            with expect_error(StoreInUseError, "a transaction within another"):
                storage.begin()
            tx.set_number("a", 1)
        with storage.begin() as tx:
            expect_equal(tx.number("a"), 1, "what the first one wrote")

    def test_the_identity_is_of_one_store(self) -> None:
        storage = self.new()
        identity = storage.identity()
        expect_equal(len(identity), 16, "bytes of the identity")
        expect(self.new().identity() != identity, "two stores have the same identity")
        expect_equal(self.reopened(storage).identity(), identity, "the identity when opened again")

    def test_a_store_is_sound(self) -> None:
        storage = self.new()
        with storage.begin() as tx:
            self._fill(tx)
        expect_equal(storage.verify(), [], "what is wrong with a good store")
        expect(storage.size() >= 0, "the size is negative")

    # The log.

    def test_rows_come_back_as_they_were(self) -> None:
        storage = self.new()
        with storage.begin() as tx:
            tx.append(EVERY_FIELD[:3])
            tx.append([])
            tx.append(iter(EVERY_FIELD[3:]))
        storage = self.reopened(storage)
        with storage.begin() as tx:
            expect_equal(list(tx.rows()), list(EVERY_FIELD), "the rows of the log")
            for row in EVERY_FIELD:
                expect_equal(tx.row(row.seq), row, f"row {row.seq}")
            for absent in (0, -1, len(EVERY_FIELD) + 1, 2**62):
                expect(tx.row(absent) is None, f"row {absent} is there")
            expect_equal(tx.last(), (9, 2**45), "the end of the log")

    def test_parts_of_the_log(self) -> None:
        storage = self.new()
        with storage.begin() as tx:
            tx.append(EVERY_FIELD)
            for after in range(11):
                for upto in (None, *range(11)):
                    end = 9 if upto is None else upto
                    wanted = [row for row in EVERY_FIELD if after < row.seq <= end]
                    found = list(tx.rows(after, upto))
                    expect_equal(found, wanted, f"rows after {after}, up to {upto}")

    def test_rows_may_be_appended_while_others_are_read(self) -> None:
        storage = self.new()
        with storage.begin() as tx:
            tx.append(created(seq) for seq in range(1, 31))
            seen = []
            for row in tx.rows(upto=30):
                seen.append(row.seq)
                tx.append([created(tx.last()[0] + 1)])
            expect_equal(seen, list(range(1, 31)), "rows that were read")
            expect_equal(tx.last()[0], 60, "the end of the log")

    def test_rows_are_numbered_without_gaps(self) -> None:
        storage = self.new()
        with storage.begin() as tx:
            tx.append([created(1), decided(2)])
        for kept in (False, True, False, False, True):
            with suppress(BrokenOffError), storage.begin() as tx:
                last = tx.last()[0]
                tx.append([decided(last + 1), decided(last + 2)])
                if not kept:
                    raise BrokenOffError
        storage = self.reopened(storage)
        with storage.begin() as tx:
            expect_equal([row.seq for row in tx.rows()], [1, 2, 3, 4, 5, 6], "numbers of rows")

    def test_a_row_that_does_not_follow_is_refused(self) -> None:
        storage = self.new()
        with storage.begin() as tx:
            tx.append([created(1), created(2)])
        for wrong in ([1], [2], [4], [3, 5], [3, 3]):
            with expect_error(ValueError, f"rows {wrong} after row 2"), storage.begin() as tx:
                tx.append(created(seq) for seq in wrong)
            with storage.begin() as tx:
                expect_equal(tx.last()[0], 2, "the end of the log after a row was refused")

    def test_time_never_goes_back(self) -> None:
        storage = self.new()
        with storage.begin() as tx:
            tx.append([created(1, at=500), created(2, at=500)])
        for wrong in ([created(3, at=499)], [created(3, at=600), created(4, at=599)]):
            with expect_error(ValueError, "a row from before"), storage.begin() as tx:
                tx.append(wrong)
        with storage.begin() as tx:
            tx.append([created(3, at=500)])
            expect_equal(tx.last(), (3, 500), "the end of the log")

    def test_a_damaged_row_is_refused(self) -> None:
        storage = self.new()
        with storage.begin() as tx:
            tx.append([created(1), decided(2), decided(3), rewarded(4, 2), decided(5)])
            tx.set_answer(2, 4)
        for seq in (1, 2, 4):
            found = self.damaged(storage, seq)
            if found is None:
                return
            storage = found
            with storage.begin() as tx, expect_error(DamagedStoreError, f"row {seq}"):
                tx.row(seq)
            with storage.begin() as tx, expect_error(DamagedStoreError, "all rows"):
                list(tx.rows())
        with storage.begin() as tx:
            expect_equal(tx.row(3), decided(3), "a row beside damaged ones")

    # What is derived from the log.

    def test_answers(self) -> None:
        storage = self.new()
        with storage.begin() as tx:
            tx.append([created(1), decided(2), decided(3), rewarded(4, 3)])
            expect(tx.answer_to(3) is None, "a decision was answered too early")
            tx.set_answer(3, 4)
            expect_equal(tx.answer_to(3), 4, "the answer, at once")
        storage = self.reopened(storage)
        with storage.begin() as tx:
            expect_equal(tx.answer_to(3), 4, "the answer")
            for other in (1, 2, 4, 5):
                expect(tx.answer_to(other) is None, f"row {other} has an answer")
            expect_equal(tx.row(3), decided(3), "a decision that was answered")

    def test_several_answers(self) -> None:
        storage = self.new()
        with storage.begin() as tx:
            tx.append([created(1), *map(decided, (2, 3, 4)), rewarded(5, 4), rewarded(6, 2)])
            expect(tx.answer_to(4) is None, "a decision was answered too early")
            tx.set_answers({4: 5, 2: 6})
            expect_equal(tx.answer_to(4), 5, "one of two answers, at once")
        with self.reopened(storage).begin() as tx:
            found = [tx.answer_to(seq) for seq in (2, 3, 4)]
            expect_equal(found, [6, None, 5], "answers that were set together")

    def test_due(self) -> None:
        storage = self.new()
        with storage.begin() as tx:
            tx.append([created(1), decided(2), decided(3, bandit=2, ticket=None)])
            tx.append([decided(4, ticket=2**70), rewarded(5, 4, 0.125), decided(6, ticket=9)])
            tx.append([Row(7, 1000, 1, Kind.DROPPED, 6, 0)])
            tx.set_answer(4, 5)
            tx.set_answer(6, 7)
            four = Due(4, 2**70, 0.125, answered=True)
            six = Due(6, 9, None, answered=True)
            two = Due(2, 7, None, answered=False)
            three = Due(3, None, None, answered=False)
            for after, upto, wanted in (
                (0, 7, {1: [two, four, six], 2: [three]}),
                (2, 6, {1: [four, six], 2: [three]}),
                (2, 3, {2: [three]}),
                (3, 5, {1: [four]}),
                (6, 7, {}),
                (4, 4, {}),
            ):
                expect_equal(tx.due(after, upto), wanted, f"due after {after}, up to {upto}")

    def test_written_by(self) -> None:
        times = [10, 10, 10, 20, 30, 30, 40]
        storage = self.new()
        with storage.begin() as tx:
            expect_equal(tx.written_by(5, 0, 100), 0, "the last row of an empty log")
            tx.append(created(seq, at=at) for seq, at in enumerate(times, 1))
            for at in range(45):
                for after in range(8):
                    for most in (1, 2, 3, 100):
                        rows = [seq for seq, then in enumerate(times, 1) if then <= at]
                        wanted = max(after, min(after + most, len(rows)))
                        found = tx.written_by(at, after, most)
                        expect_equal(found, wanted, f"written by {at}, {most} after {after}")

    def test_callers_own_keys(self) -> None:
        storage = self.new()
        with storage.begin() as tx:
            tx.append([created(1), decided(2), decided(3), decided(4, bandit=2)])
            tx.set_key(1, "x", 2)
            tx.set_key(1, "ÿ 'x'", 3)
            tx.set_key(2, "x", 4)
        storage = self.reopened(storage)
        with storage.begin() as tx:
            expect_equal(tx.decision_with_key(1, "x"), 2, "the decision with a key")
            expect_equal(tx.decision_with_key(1, "ÿ 'x'"), 3, "the decision with a strange key")
            expect_equal(tx.decision_with_key(2, "x"), 4, "the same key of another bandit")
            expect(tx.decision_with_key(2, "ÿ 'x'") is None, "a key of another bandit is found")
            expect(tx.decision_with_key(1, "X") is None, "keys are compared without case")
            expect_equal(tx.keys_of((2, 4)), {2: "x", 3: "ÿ 'x'", 4: "x"}, "keys of decisions")
            expect_equal(tx.keys_of((3, 3)), {3: "ÿ 'x'"}, "the key of a decision")

    def test_sets_of_allowed_arms(self) -> None:
        storage = self.new()
        bodies = [b'["a"]', b'["a","b"]', b"", b"\x00" * 5000]
        with storage.begin() as tx:
            numbers = [tx.subset_number(body) for body in bodies]
            expect_equal(len(set(numbers)), 4, "numbers of four sets")
        with suppress(BrokenOffError), storage.begin() as tx:
            tx.subset_number(b"new")
            raise BrokenOffError
        storage = self.reopened(storage)
        with storage.begin() as tx:
            expect_equal([tx.subset_number(body) for body in bodies], numbers, "numbers again")
            expect_equal([tx.subset(number) for number in numbers], bodies, "the sets")

    def test_bandits(self) -> None:
        storage = self.new()
        with storage.begin() as tx:
            tx.append(created(seq, bandit=seq) for seq in range(1, 5))
            for number, name in enumerate(["b", "a", "C", "b"], 1):
                found = tx.bandit_named(name)
                if found is not None:
                    tx.put_bandit(found._replace(deleted=True))
                tx.put_bandit(BanditRow(number, name, number))
            tx.set_number("bandits", 4)
        storage = self.reopened(storage)
        with storage.begin() as tx:
            expect_equal(tx.bandit_named("b"), BanditRow(4, "b", 4), "the bandit with a name")
            expect_equal(tx.bandit(1), BanditRow(1, "b", 1, True), "a deleted bandit")
            expect(tx.bandit_named("c") is None, "names are compared without case")
            expect(tx.bandit(5) is None, "a bandit that was never made is there")
            for after, limit, wanted in (
                ("", None, ["C", "a", "b"]),
                ("", 2, ["C", "a"]),
                ("C", None, ["a", "b"]),
                ("aa", 5, ["b"]),
                ("b", None, []),
                ("", 0, []),
            ):
                found_names = [row.name for row in tx.bandits(after, limit)]
                expect_equal(found_names, wanted, f"{limit} bandits after {after!r}")

    def test_labels(self) -> None:
        storage = self.new()
        with storage.begin() as tx:
            tx.put_labels(1, 0, ["a", "ÿ", "a b"])
            tx.put_labels(2, 0, ["z"])
            tx.put_labels(1, 3, iter(["d"]))
        storage = self.reopened(storage)
        with storage.begin() as tx:
            every = {0: "a", 1: "ÿ", 2: "a b", 3: "d"}
            expect_equal(tx.labels(1), every, "all labels")
            expect_equal(tx.labels(1, iter([3, 1])), {3: "d", 1: "ÿ"}, "some labels")
            expect_equal(tx.labels(1, []), {}, "no labels")
            expect_equal(tx.labels(3), {}, "labels of another bandit")
            expect_equal(tx.labels_from(1, 2), ["a b", "d"], "labels from the third on")
            expect_equal(tx.labels_from(1, 4), [], "labels from the fifth on")
            expect_equal(tx.labels_from(1, 1, 2), tx.labels_from(1, 1)[:2], "two labels")
            with expect_error(DamagedStoreError, "a label that is missing"):
                tx.labels(1, [4])

    # Caches, and what has nothing to do with the log.

    def test_snapshots(self) -> None:
        storage = self.new()
        with storage.begin() as tx:
            tx.put_snapshot(Snapshot(1, 5, b"old"))
            tx.put_snapshot(Snapshot(2, 6, b"other"))
            tx.put_snapshot(Snapshot(1, 7, b"\x00" * 10_000))
        storage = self.reopened(storage)
        with storage.begin() as tx:
            expect_equal(tx.snapshot(1), Snapshot(1, 7, b"\x00" * 10_000), "the last snapshot")
            expect_equal(tx.snapshot(2), Snapshot(2, 6, b"other"), "another bandit's snapshot")
            expect(tx.snapshot(3) is None, "a snapshot that was never put is there")

    def test_points(self) -> None:
        storage = self.new()
        with storage.begin() as tx:
            for decisions in (1, 2, 3, 4):
                tx.put_point(1, Point(decisions, 10 * decisions, b"%d" % decisions), 1)
            tx.put_point(2, Point(3, 5, b"three"), 1)
            tx.put_point(1, Point(6, 60, b"six"), 2)
            tx.put_point(1, Point(4, 41, b"again"), 2)
        storage = self.reopened(storage)
        with storage.begin() as tx:
            wanted = [Point(2, 20, b"2"), Point(4, 41, b"again"), Point(6, 60, b"six")]
            expect_equal(tx.points(1), wanted, "the points whose number is even, in order")
            expect_equal(tx.points(2), [Point(3, 5, b"three")], "points of another bandit")

    def test_answered_requests(self) -> None:
        storage = self.new()
        one, two = Answer(b"1", 201, b"{}"), Answer(b"\x00", 409, b"")
        with storage.begin() as tx:
            tx.put_answered("a /v1", "k", two, 98)
            tx.put_answered("a /v1", "k", one, 100)
            tx.put_answered("b /v1", "k", two, 200)
            tx.put_answered("a /v1", "old", one, 99)
        storage = self.reopened(storage)
        with storage.begin() as tx:
            expect_equal(tx.answered("a /v1", "k"), one, "an answer")
            expect_equal(tx.answered("b /v1", "k"), two, "an answer to the same key elsewhere")
            expect(tx.answered("a /v1", "K") is None, "keys are compared without case")
            tx.forget_answered(100)
            expect(tx.answered("a /v1", "old") is None, "an old answer is not forgotten")
            expect_equal(tx.answered("a /v1", "k"), one, "an answer of that time")

    def test_keys_of_callers(self) -> None:
        storage = self.new()
        rows = [
            KeyRow("b", "one", b"\x01", "decide reward", None, 5),
            KeyRow("a", "two", b"\x02", "admin", "front", 7),
            KeyRow("c", "two", b"\x03", "admin", None, 5),
        ]
        with storage.begin() as tx:
            for row in rows:
                tx.put_caller_key(row)
        storage = self.reopened(storage)
        with storage.begin() as tx:
            expect_equal(tx.caller_keys(), [rows[0], rows[2], rows[1]], "keys by time")
            expect(tx.remove_caller_key("b"), "a key that was there was not removed")
            expect(not tx.remove_caller_key("b"), "a key was removed twice")
            expect_equal(tx.caller_keys(), [rows[2], rows[1]], "keys that are left")

    def test_numbers(self) -> None:
        storage = self.new()
        with storage.begin() as tx:
            expect_equal(tx.number("window 5.0"), 0, "a number that was never stored")
            for name, value in (("window 5.0", 3), ("window 1.0", 2**60), ("other", -1)):
                tx.set_number(name, value)
            tx.set_number("window 5.0", 4)
        storage = self.reopened(storage)
        with storage.begin() as tx:
            expect_equal(tx.number("window 5.0"), 4, "a number")
            wanted = {"window 5.0": 4, "window 1.0": 2**60}
            expect_equal(tx.numbers("window "), wanted, "numbers by the beginning of their names")
            expect_equal(tx.numbers("Window"), {}, "numbers with another case")

    # What the tests above write.

    def _fill(self, tx: Transaction) -> None:
        tx.append([created(1), decided(2), rewarded(3, 2)])
        tx.set_answer(2, 3)
        tx.set_key(1, "key", 2)
        tx.subset_number(b"set")
        tx.put_bandit(BanditRow(1, "one", 1))
        tx.put_labels(1, 0, ["a", "b"])
        tx.put_snapshot(Snapshot(1, 3, b"state"))
        tx.put_point(1, Point(1, 1000, b"point"), 1)
        tx.put_answered("scope", "key", Answer(b"digest", 200, b"body"), 1000)
        tx.put_caller_key(KeyRow("id", "name", b"digest", "admin", None, 1000))
        tx.set_number("bandits", 1)

    def _change(self, tx: Transaction) -> None:
        tx.append([decided(4), Row(5, 1001, 1, Kind.DROPPED, 4)])
        tx.set_answer(4, 5)
        tx.set_key(1, "other", 4)
        tx.put_bandit(BanditRow(1, "one", 1, True))
        tx.put_labels(1, 2, ["c"])
        tx.put_snapshot(Snapshot(1, 5, b"later"))
        tx.put_point(1, Point(2, 1001, b"point"), 2)
        tx.put_answered("scope", "key", Answer(b"other", 201, b""), 1001)
        tx.put_answered("scope", "more", Answer(b"other", 201, b""), 1001)
        tx.forget_answered(1001)
        tx.remove_caller_key("id")
        tx.set_number("probe", 5)


def _everything(tx: Transaction) -> dict[str, Any]:
    """Return all that the tests write, as a transaction sees it."""
    return {
        "last": tx.last(),
        "rows": list(tx.rows()),
        "answers": [tx.answer_to(2), tx.answer_to(4)],
        "due": tx.due(0, 5),
        "own keys": [tx.decision_with_key(1, "key"), tx.decision_with_key(1, "other")],
        "keys of": tx.keys_of((1, 5)),
        "named": tx.bandit_named("one"),
        "bandit": tx.bandit(1),
        "bandits": tx.bandits(),
        "label": tx.labels(1),
        "snapshot": tx.snapshot(1),
        "points": tx.points(1),
        "answered": [tx.answered("scope", "key"), tx.answered("scope", "more")],
        "callers": tx.caller_keys(),
        "numbers": [tx.number("bandits"), tx.number("probe"), tx.numbers("")],
    }


def contract_tests(tests: StorageContract) -> Iterable[tuple[str, Callable[[], None]]]:
    """Yield the name of each test and the test itself, for use without pytest."""
    for name in dir(tests):
        if name.startswith("test_"):
            yield name, getattr(tests, name)
