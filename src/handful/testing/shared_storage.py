"""The tests of the contract of a store that several processes share.

They are those of every store, except where `handful.storage.shared` differs, and tests in which two
processes use one store: a subclass opens it a second time.

    class TestMyStorage(SharedStorageContract):
        def new(self) -> SharedStorage: ...

        def reopened(self, storage: Storage) -> SharedStorage:
        return self.beside(storage)

    def beside(self, storage: Storage) -> SharedStorage:
            return MyStorage(storage.address)
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from handful.errors import StoreUnavailableError
from handful.storage.contract import Storage
from handful.storage.rows import Due, KeyRow, Kind, Row
from handful.storage.shared import SharedStorage, SharedTransaction
from handful.testing.contract import expect, expect_equal, expect_error
from handful.testing.storage import BrokenOffError, StorageContract, created, decided, rewarded

PATIENCE = 30.0
"""Seconds after which a test gives up."""
T = TypeVar("T")


class SharedStorageContract(StorageContract):
    """What every shared store does. A subclass overrides `new` and `beside`."""

    def new(self) -> SharedStorage:
        raise NotImplementedError

    def reopened(self, storage: Storage) -> SharedStorage:
        return self.beside(storage)

    def beside(self, storage: Storage) -> SharedStorage:
        """Open a store that is open already, as another process would."""
        raise NotImplementedError

    def _two(self) -> tuple[SharedStorage, SharedStorage]:
        """Return a store with the bandits 1 and 2, open twice."""
        one = self.new()
        with one.begin() as tx:
            tx.append([created(1, 1), created(2, 2)])
        return one, self.beside(one)

    # Order is that of one bandit.

    def test_rows_are_numbered_without_gaps(self) -> None:
        """Check that numbers have gaps, and rows of a bandit are in the order of commits."""
        storage = self.new()
        with storage.begin() as tx:
            tx.append([created(1), created(3, 2), decided(4), decided(9, 2)])
        storage = self.reopened(storage)
        with storage.begin() as tx:
            expect_equal([row.seq for row in tx.rows()], [1, 3, 4, 9], "numbers of rows")
            assert isinstance(tx, SharedTransaction)
            expect_equal([row.seq for row in tx.rows_of(2)], [3, 9], "rows of a bandit")
            expect_equal([row.seq for row in tx.rows_of(2, 3)], [9], "rows after a number")
            expect_equal([row.seq for row in tx.rows_of(1, 0, 3)], [1], "rows up to a number")
            expect_equal(list(tx.rows_of(7)), [], "rows of a bandit that is not there")
            expect_equal(tx.versions(), {1: 4, 2: 9}, "the last rows of all bandits")
            expect_equal(tx.versions([2, 7]), {2: 9}, "the last row of one")
            expect_equal(set(tx.rows_at([4, 9, 5])), {4, 9}, "rows by number")
            expect_equal(tx.decided(2, 0, 5), [(9, 1000)], "decisions of a bandit")

    def test_a_row_that_does_not_follow_is_refused(self) -> None:
        storage = self.new()
        with storage.begin() as tx:
            tx.append([created(1), created(2)])
        for wrong in ([1], [2], [3, 3], [5, 4]):
            with expect_error(ValueError, f"rows {wrong} after row 2"), storage.begin() as tx:
                tx.append(created(seq) for seq in wrong)
            with storage.begin() as tx:
                expect_equal(tx.last()[0], 2, "the end of the log after a row was refused")

    def test_numbers_are_drawn_in_the_order_of_time(self) -> None:
        one, two = self._two()
        drawn = []
        for time in (5000, 100, None, 300):
            for storage in (one, two):
                with suppress(BrokenOffError), storage.begin() as tx:
                    seq, at = tx.draw(3, time)
                    drawn += [(seq + i, at) for i in (1, 2, 3)]
                    if time == 100:
                        raise BrokenOffError
        expect_equal(drawn, sorted(drawn), "numbers and times")
        expect_equal(len({seq for seq, _ in drawn}), len(drawn), "numbers that were drawn once")
        expect(drawn[0][0] > 2, "a number of a row was drawn again")
        expect(drawn[0][1] >= 5000, "a time is less than was asked for")
        with one.begin() as tx:
            tx.append([decided(500, at=drawn[-1][1] + 10)])
        with two.begin() as tx:
            seq, at = tx.draw(1, 0)
        expect(seq >= 500 and at >= drawn[-1][1] + 10, "a row that was appended is ahead")

    # Bandits are held.

    def test_a_bandit_is_held_by_one_transaction(self) -> None:
        one, two = self._two()
        with one.begin() as tx:
            expect_equal(tx.hold([1], [], 1, None).versions, {1: 1}, "what is held")
            with two.begin() as other:
                held = other.hold([2], [1], 1, None)
                expect_equal(held.versions, {2: 2}, "what is left to hold")
                expect_equal(other.versions([1]), {1: 1}, "what can be seen of a held bandit")
                expect_equal(other.hold([1], [], 1, None).versions, {2: 2}, "... after a hold")
            seq, at = tx.draw(2, None)
            tx.append([decided(seq + 1, at=at), decided(seq + 2, at=at)])
        with two.begin() as other:
            expect_equal(other.hold([1], [2], 0, None).versions, {1: seq + 2, 2: 2}, "the end")

    def test_a_bandit_is_waited_for(self) -> None:
        one, two = self._two()
        tx = one.begin()
        held = tx.hold([1], [], 1, None)
        waiting = _Thread(lambda: _held(two, 1))
        tx.append([decided(held.seq + 1, at=held.at)])
        expect(not waiting.ended.wait(0.2), "a bandit was held twice")
        tx.commit()
        expect_equal(waiting.result(), {1: held.seq + 1}, "the last row after the wait")

    def test_a_bandit_is_not_waited_for_without_end(self) -> None:
        one, two = self._two()
        with one.begin() as tx:
            tx.hold([1], [], 1, None)
            with expect_error(StoreUnavailableError, "a wait without an end"):
                _held(two, 1)
        expect_equal(_held(two, 1), {1: 1}, "the bandit when it is free")

    def test_names_are_held(self) -> None:
        one, two = self._two()
        with one.begin() as tx:
            expect(tx.lock("a"), "a free name was not had")
            with two.begin() as other:
                other.hold([1], [], 1, None)
                expect(not other.lock("a"), "a name was had twice")
                expect(other.lock("b"), "another name was not had")
        with two.begin() as other:
            expect(other.lock("a"), "a name was not given back")

    def test_a_row_that_was_written_meanwhile_is_not_overtaken(self) -> None:
        one, two = self._two()
        with one.begin() as tx:
            seq, at = tx.draw(1, None)
            with two.begin() as other:
                later, then = other.draw(1, None)
                other.append([decided(later + 1, at=then)])
            with expect_error(ValueError, "a number from before the last row"):
                tx.append([decided(seq + 1, at=at)])

    def test_a_transaction_is_seen_when_it_is_committed(self) -> None:
        one, two = self._two()
        moment = two.moment()
        expect_equal(moment.last()[0], 2, "the end of the log")
        with one.begin() as tx:
            tx.append([decided(5), rewarded(6, 5)])
            tx.set_answer(5, 6)
            with self.beside(one).begin() as other:
                expect(other.row(5) is None, "a row is seen before its commit")
        expect_equal(moment.last()[0], 2, "the end of the log at that moment")
        moment.rollback()
        with two.begin() as other:
            expect_equal(other.row(5), decided(5), "a row after its commit")
            expect_equal(other.answer_to(5), 6, "its answer")

    def test_a_decision_is_answered_once(self) -> None:
        one, two = self._two()
        with one.begin() as tx:
            tx.append([decided(5), rewarded(6, 5)])
            tx.set_answer(5, 6)
        with expect_error(Exception, "a second answer"), two.begin() as tx:
            tx.set_answer(5, 7)

    # Windows, and keys of callers.

    def test_windows_of_bandits(self) -> None:
        one, two = self._two()
        with one.begin() as tx:
            tx.append([decided(3), decided(4, 2), rewarded(5, 3), decided(6)])
            tx.append([Row(7, 1000, 1, Kind.LATE, 6, None, 1.0)])
            tx.set_answer(3, 5)
            tx.set_answer(6, 7)
            three = Due(3, 7, 0.5, answered=True)
            six = Due(6, 7, None, answered=False)
            expect_equal(tx.due_of(1, 0, 9), [three, six], "decisions of one bandit")
            expect_equal(tx.due_of(1, 3, 5), [], "none")
            tx.set_due(1, 3000)
            tx.set_due(2, 4000)
        with two.begin() as tx:
            expect_equal(tx.hold_due(2999, 10), {}, "bandits that are due too early")
            expect_equal(tx.hold_due(5000, 1), {1: 7}, "the first that is due")
            with one.begin() as other:
                expect_equal(other.hold_due(5000, 9), {2: 4}, "one that is not held")
            expect_equal(tx.hold_due(None, 9), {1: 7, 2: 4}, "those due by now")
            tx.set_due(1, None)
            tx.set_due(2, 1, unless_set=True)
        with one.begin() as tx:
            expect_equal(tx.hold_due(3999, 9), {}, "what is due, and was not set anew")
            expect_equal(tx.hold_due(5000, 9), {2: 4}, "what is still due")
            tx.set_due(1, 1, unless_set=True)
            expect_equal(set(tx.hold_due(5000, 9)), {1, 2}, "what was set where nothing was")

    def test_answers_are_those_after_a_hold(self) -> None:
        one, two = self._two()
        with one.begin() as tx:
            tx.append([decided(5), decided(6)])
        with one.begin() as tx:
            expect(tx.row(5) == decided(5) and tx.answer_to(5) is None, "an answer is there")
            with two.begin() as other:
                other.append([rewarded(7, 5), rewarded(8, 6)])
                other.set_answers({5: 7, 6: 8})
            tx.hold([1], [], 1, None, [6])
            expect_equal(tx.answer_to(5), 7, "an answer that came before the hold")
            expect_equal(tx.answer_to(6), 8, "one that was asked for with the hold")

    def test_tails(self) -> None:
        storage = self.new()
        with storage.begin() as tx:
            tx.append([created(1, 1), created(2, 2), decided(3, 1), decided(4, 2), decided(5, 1)])
            found = tx.tails({1: 1, 2: 4, 9: 0}, 10)
            expect_equal(found, {1: [decided(3), decided(5)], 2: [], 9: []}, "rows of bandits")
            expect_equal(tx.tails({1: 0}, 2), {1: [created(1), decided(3)]}, "the first two")

    def test_keys_of_callers_have_a_revision(self) -> None:
        one, two = self._two()
        seen = []
        for step in range(3):
            with two.begin() as tx:
                seen.append(tx.revision())
            with one.begin() as tx:
                if step == 0:
                    tx.put_caller_key(KeyRow("a", "n\x00", b"1", "admin", None, 5))
                else:
                    tx.remove_caller_key("a")
        expect_equal(len(set(seen)), 3, "revisions")

    def test_any_text(self) -> None:
        storage = self.new()
        text = "\x00 \U0001f600 \u202e '%s' \\x"
        with storage.begin() as tx:
            tx.append([created(1), decided(2)])
            tx.put_labels(1, 0, [text])
            tx.set_key(1, text, 2)
            expect(tx.bandit_named(text) is None, "a bandit with a strange name is there")
            expect(tx.answered(text, text) is None, "an answer is there")
            expect(not tx.remove_caller_key(text), "a key is there")
        storage = self.beside(storage)
        with storage.begin() as tx:
            expect_equal(tx.labels(1), {0: text}, "a strange label")
            expect_equal(tx.decision_with_key(1, text), 2, "a strange key")
            expect_equal(tx.keys_of((1, 2)), {2: text}, "a strange key, by its decision")


def _held(storage: SharedStorage, bandit: int) -> dict[int, int]:
    with storage.begin() as tx:
        return tx.hold([bandit], [], 0, None).versions


class _Thread:
    """A thread that works while the test runs."""

    def __init__(self, work: Callable[[], dict[int, int]]) -> None:
        self.ended = threading.Event()
        self._found: list[dict[int, int]] = []
        self._errors: list[Exception] = []

        def run() -> None:
            try:
                self._found.append(work())
            except Exception as error:
                self._errors.append(error)
            self.ended.set()

        threading.Thread(target=run, daemon=True).start()

    def result(self) -> dict[int, int]:
        expect(self.ended.wait(PATIENCE), "a wait did not end")
        if self._errors:
            raise self._errors[0]
        return self._found[0]
