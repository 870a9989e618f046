"""The log of a store in PostgreSQL: rows, and which of them answer decisions.

Each row has the number of the bandit's previous row, so that a missing one is noticed. The last row
of a bandit, its head, is held from the bandit's first write on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from handful.storage.postgres import statements as sql
from handful.storage.postgres.link import Link
from handful.storage.postgres.tables import Tables
from handful.storage.rows import ANSWERS, Due, Kind, Row, checked
from handful.storage.schema import damaged


class Head(NamedTuple):
    """The last row of a bandit."""

    seq: int
    at: int


class Log(Tables):
    """The statements of a transaction about the log."""

    def __init__(self, link: Link) -> None:
        super().__init__(link)
        self._heads: dict[int, Head] = {}
        """The last rows of bandits that are held or written to."""
        self._drawn: tuple[int, int, int] = 0, 0, 0
        """Numbers that were drawn: after the first, up to the second; and their time."""
        self._answers: dict[int, int | None] = {}
        """Answers to decisions whose rows were read."""
        self._holds = False
        """Whether others may wait for what this transaction holds."""

    def last(self) -> tuple[int, int]:
        found = self._one("SELECT seq, at FROM log ORDER BY seq DESC LIMIT 1")
        return (0, 0) if found is None else (found[0], found[1])

    def append(self, rows: Iterable[Row]) -> None:
        added = list(rows)
        if not added:
            return
        before = self._heads_of({row.bandit for row in added})
        heads = dict(before)
        seq = at = 0
        stored = []
        for row in added:
            head = heads.get(row.bandit, Head(0, 0))
            if row.seq <= max(seq, head.seq) or row.at < max(at, head.at):
                raise ValueError(f"row {row.seq} cannot follow row {max(seq, head.seq)} of the log")
            stored.append(_stored(row, head.seq))
            heads[row.bandit] = Head(row.seq, row.at)
            seq, at = row.seq, row.at
        written = {row.bandit for row in added}
        new = [(each, *heads[each]) for each in written if each not in before]
        changed = [(each, *heads[each], before[each].seq) for each in written if each in before]
        low, high, _ = self._drawn
        self._written = True
        if not (low < added[0].seq and seq <= high):
            self._queue(sql.ADVANCE, (seq, at))
        self._queue(sql.INSERT, _columns(stored))
        if new:
            self._queue(sql.ADD_HEADS, _columns(new))
        if changed:
            self._queue(sql.SET_HEADS, _columns(changed))
        self._heads |= heads

    def _heads_of(self, bandits: set[int]) -> dict[int, Head]:
        """Return the last rows of bandits, which are held from now on."""
        rest = [bandit for bandit in bandits if bandit not in self._heads]
        if rest:
            found = self._all(
                "SELECT bandit, seq, at FROM heads WHERE bandit = ANY(%s) ORDER BY bandit "
                "FOR UPDATE",
                (rest,),
            )
            self._heads |= {bandit: Head(seq, at) for bandit, seq, at in found}
            self._holds = True
        return {bandit: self._heads[bandit] for bandit in bandits if bandit in self._heads}

    def row(self, seq: int) -> Row | None:
        return self.rows_at([seq]).get(seq)

    def rows_at(self, numbers: Iterable[int]) -> dict[int, Row]:
        found = self._all(
            f"SELECT {sql.WITH_ANSWER} FROM log l LEFT JOIN answers a ON a.decision = l.seq "
            "WHERE l.seq = ANY(%s)",
            (list(numbers),),
        )
        self._answers |= {each[0]: each[12] for each in found}
        return {each[0]: _loaded(each) for each in found}

    def rows(self, after: int = 0, upto: int | None = None) -> Iterator[Row]:
        page = (
            f"SELECT {sql.WITH_ANSWER} FROM log l LEFT JOIN answers a ON a.decision = l.seq "
            f"WHERE l.seq > %s AND l.seq <= %s ORDER BY l.seq LIMIT {sql.PAGE}"
        )
        for found in self._pages(page, after, self.last()[0] if upto is None else upto):
            yield _loaded(found)

    def rows_of(self, bandit: int, after: int = 0, upto: int | None = None) -> Iterator[Row]:
        end = self.versions([bandit]).get(bandit, 0) if upto is None else upto
        page = (
            f"SELECT {sql.COLUMNS} FROM log WHERE bandit = %s AND seq > %s AND seq <= %s "
            f"ORDER BY seq LIMIT {sql.PAGE}"
        )
        last = after
        for found in self._pages(page, after, end, bandit):
            if found[10] != last:
                raise damaged(f"a row of bandit {bandit} between {last} and {found[0]} is missing")
            last = found[0]
            yield _loaded(found)
        if upto is None and last < end:
            raise damaged(f"a row of bandit {bandit} between {last} and {end} is missing")

    def tails(self, after: dict[int, int], most: int) -> dict[int, list[Row]]:
        found: dict[int, list[Row]] = {bandit: [] for bandit in after}
        last = dict(after)
        for each in self._all(sql.TAILS, (list(after), list(after.values()), most)):
            bandit = each[2]
            if each[10] != last[bandit]:
                raise damaged(f"a row of bandit {bandit} before {each[0]} is missing")
            last[bandit] = each[0]
            found[bandit].append(_loaded(each))
        return found

    def _pages(self, statement: str, after: int, upto: int, *of: int) -> Iterator[tuple[Any, ...]]:
        seq = after
        while seq < upto:
            page = self._all(statement, (*of, seq, upto))
            if page and len(page[0]) > 12 and self._moment:
                # Nothing changes at a moment, so that the answers need not be asked for again.
                self._answers = {found[0]: found[12] for found in page}
            for found in page:
                seq = found[0]
                yield found
            if len(page) < sql.PAGE:
                return

    def answer_to(self, decision: int) -> int | None:
        if decision not in self._answers:
            found = self._one("SELECT seq FROM answers WHERE decision = %s", (decision,))
            self._answers[decision] = None if found is None else found[0]
        return self._answers[decision]

    def set_answer(self, decision: int, seq: int) -> None:
        self.set_answers({decision: seq})

    def set_answers(self, answers: Mapping[int, int]) -> None:
        self._write(
            "INSERT INTO answers SELECT * FROM unnest(%s::bigint[], %s::bigint[])",
            (list(answers), list(answers.values())),
        )
        self._answers |= answers

    def due(self, after: int, upto: int) -> dict[int, list[Due]]:
        found: dict[int, list[Due]] = {}
        for bandit, due in self._due("", (after, upto)):
            found.setdefault(bandit, []).append(due)
        return found

    def due_of(self, bandit: int, after: int, upto: int) -> list[Due]:
        return [due for _, due in self._due("AND l.bandit = %s", (after, upto, bandit))]

    def _due(self, where: str, values: tuple[int, ...]) -> Iterator[tuple[int, Due]]:
        answer = ", ".join(f"r.{name}" for name in sql.COLUMNS.split(", "))
        found = self._all(
            f"SELECT {sql.WITH_ANSWER}, {answer} FROM log l "
            "LEFT JOIN answers a ON a.decision = l.seq LEFT JOIN log r ON r.seq = a.seq "
            f"WHERE l.seq > %s AND l.seq <= %s {where} AND l.kind = {int(Kind.DECIDED)} "
            "ORDER BY l.seq",
            values,
        )
        for each in found:
            row = _loaded(each)
            value, answered = None, False
            if each[12] is not None:
                reply = None if each[13] is None else _loaded(each[13:])
                if reply is None or reply.kind not in ANSWERS or reply.ref != row.seq:
                    raise damaged(f"the stored answer to decision {row.seq} is not one")
                answered = reply.kind != Kind.LATE
                value = reply.value if answered else None
            yield row.bandit, Due(row.seq, row.mark, value, answered)

    def decided(self, bandit: int, after: int, most: int) -> list[tuple[int, int]]:
        return self._all(
            "SELECT seq, at FROM log WHERE bandit = %s AND seq > %s "
            f"AND kind = {int(Kind.DECIDED)} ORDER BY seq LIMIT %s",
            (bandit, after, most),
        )

    def broken_chains(self, most: int) -> list[tuple[int, int, int]]:
        """Return rows that do not follow on the one before them, each with its bandit."""
        return [*self._all(sql.CHAINS, (most,)), *self._all(sql.HEADS, (most,))]

    def size(self) -> int:
        found = self._one(sql.SIZE)
        return 0 if found is None else int(found[0])

    def written_by(self, at: int, after: int, most: int) -> int:
        found = self._one(
            "SELECT max(seq) FROM (SELECT seq, at FROM log WHERE seq > %s ORDER BY seq LIMIT %s) l "
            "WHERE at <= %s",
            (after, most, at),
        )
        return after if found is None or found[0] is None else int(found[0])


def _stored(row: Row, prev: int) -> tuple[Any, ...]:
    """Return the columns of a row. Tickets beyond 63 bits are stored as text."""
    seq, at, bandit, kind, ref, mark, value, subset, note = row
    wide = None
    if mark is not None and not -(2**63) <= mark < 2**63:
        mark, wide = None, str(mark)
    if value is not None:
        value = float(value)
    return seq, at, bandit, int(kind), ref, mark, value, subset, note, wide, prev, row.check()


def _loaded(found: tuple[Any, ...]) -> Row:
    if found[9] is not None:
        found = (*found[:5], int(found[9]), *found[6:])
    return checked(Row._make(found[:9]), found[11])


def _columns(rows: list[tuple[Any, ...]]) -> tuple[list[Any], ...]:
    """Return rows as the columns that `unnest` takes."""
    return tuple(map(list, zip(*rows, strict=True)))
