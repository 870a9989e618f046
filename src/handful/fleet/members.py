"""The members of a fleet as arrays: rows, wide rows, and which blocks have changed."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from handful.compiling.state import empty_record
from handful.core.state import State
from handful.errors import DamagedStoreError, SettingError
from handful.fleet.kernels.members import (
    DONE,
    NEXT,
    NO_ROOM,
    SHIFT,
    USED,
    Desk,
    Rows,
    desk_for,
)
from handful.fleet.kernels.sums import sums_of
from handful.fleet.layout import BEGUN, KEY, LINE, NOT_BEGUN, WIDE, Layout
from handful.fleet.packing import from_wide, packed, to_wide, unpacked

if TYPE_CHECKING:
    from handful.fleet.saving import Folder

SMALL = 4096
"""Calls that name fewer members are served by one thread."""
SPARE = 8
"""Wide rows that are kept ready for each thread."""

Ids = NDArray[np.int64]
Task = Callable[[int, int, Desk], int]
"""Serves a part of so many, at a desk; returns why it ended."""


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def _pool(threads: int, process: int) -> ThreadPoolExecutor:
    """Return threads of this process: those of its parent do not live on in it."""
    return ThreadPoolExecutor(threads, thread_name_prefix="fleet")


class Members:
    """The rows of `count` members. There may be room for more."""

    def __init__(self, layout: Layout, count: int, first_seed: int, in_memory: bool = True) -> None:
        self.layout = layout
        self.count = count
        self.first_seed = first_seed
        self.rows = self._empty(blocks_of(count) if in_memory else 0)
        self.file: Folder | None = None
        """Where the rows are mapped from, if anywhere."""
        self.moved = True
        """Whether the rows are no longer those of the file, changed, but others."""
        self.sums = np.zeros(0, np.uint64)
        self.unseen: NDArray[np.uint8] | None = None
        """For each block of the file, whether its checksum has not been looked at yet."""
        self.dirty = np.zeros(blocks_of(count), np.uint8)
        scalars, slots, _ = empty_record(layout.state, layout.memory, 0)
        self.wide = np.zeros(0, scalars.dtype)
        self.wide_slots = np.zeros((0, layout.memory), slots.dtype)
        self._spare: list[int] = []
        self._desks: list[Desk] = []
        self._types = np.zeros(0, layout.head), np.zeros(0, layout.slot)

    def _empty(self, blocks: int) -> NDArray[np.uint8]:
        size = (blocks << SHIFT) * self.layout.size
        try:
            room = np.zeros(size + LINE, np.uint8)
        except (MemoryError, ValueError):
            raise SettingError(
                f"{blocks << SHIFT:,} rows of {self.layout.size} bytes do not fit into the memory "
                "of this machine: give fewer members, or use several machines (ShardedFleet)"
            ) from None
        start = -room.ctypes.data % LINE  # a row begins with a cache line, if it fills lines
        return room[start : start + size].reshape(-1, self.layout.size)

    @property
    def words(self) -> NDArray[np.uint64]:
        """The rows as words, a line for each block."""
        lines = len(self.rows) >> SHIFT
        return self.rows.reshape(-1).view(np.uint64).reshape(lines, 8 * self.layout.size)

    def check_rows(self, rows: Ids) -> None:
        """Refuse rows of a file that are not what was saved, when they are first needed."""
        if self.unseen is not None:
            self.check(rows >> SHIFT)

    def check(self, blocks: NDArray[np.int64]) -> None:
        """Refuse blocks of a file that are not what was saved, when they are first needed."""
        if self.unseen is None or self.file is None:
            return
        blocks = blocks[blocks < len(self.unseen)]
        new = np.unique(blocks[self.unseen[blocks] != 0])
        if not len(new):
            return
        wrong = new[sums_of(self.words, new) != self.sums[new]]
        if len(wrong):
            first = int(wrong[0]) << SHIFT
            raise DamagedStoreError(
                f"{self.file.path} is damaged: rows {first} to {first + (1 << SHIFT) - 1} are not "
                "what was saved; restore the folder from a copy"
            )
        self.unseen[new] = 0

    @property
    def seen(self) -> Rows:
        """The members as kernels see them."""
        return Rows(
            self.rows, *self._types, self.wide, self.wide_slots, self.dirty,
            np.uint64(self.first_seed),
        )  # fmt: skip

    # Kernels.

    def run(self, size: int, threads: int, task: Task, listed: int = 0) -> tuple[int, int]:
        """Run a task on all members that a call of some size names.

        Desks have room to list so many positions of the call.

        Return why it ended, and the number of the part that it ended in; the desk of this part says
        where. Parts are a power of 2, so that a block's part is cheap to find.
        """
        parts = 1 if size < SMALL else 1 << (threads - 1).bit_length()
        waiting = list(range(parts))
        self._lay_desks(parts, listed)
        while waiting:
            self._hand_out(waiting)

            def serve(part: int, parts: int = parts) -> int:
                return task(part, parts, self._desks[part])

            try:
                if len(waiting) == 1:
                    ended = [serve(waiting[0])]
                else:
                    futures = [_pool(threads, os.getpid()).submit(serve, part) for part in waiting]
                    wait(futures)  # an error of one must not leave others running
                    ended = [future.result() for future in futures]
            finally:
                self._take_back(waiting)
            for part, why in zip(waiting, ended, strict=True):
                if why not in (DONE, NO_ROOM):
                    return why, part
            waiting = [part for part, why in zip(waiting, ended, strict=True) if why == NO_ROOM]
        return DONE, 0

    def desk(self, part: int) -> Desk:
        """Return the desk of a part."""
        return self._desks[part]

    def _lay_desks(self, parts: int, listed: int) -> None:
        while len(self._desks) < parts:
            self._desks.append(desk_for(self.layout, np.zeros(0, np.int64)))
        for part, desk in enumerate(self._desks[:parts]):
            desk.at[NEXT] = 0
            if len(desk.mine) < listed:
                self._desks[part] = desk._replace(mine=np.empty(listed, np.int64))

    def _hand_out(self, parts: list[int]) -> None:
        """Give each part its share of the free wide rows, and make more if they are few."""
        if len(self._spare) < SPARE * len(parts):
            self.make_room(max(SPARE * len(parts), len(self.wide)))
        share = len(self._spare) // len(parts)
        for i, part in enumerate(parts):
            mine = np.array(self._spare[i * share : (i + 1) * share], np.int64)
            self._desks[part] = self._desks[part]._replace(spare=mine)
            self._desks[part].at[USED] = 0
        del self._spare[: share * len(parts)]

    def _take_back(self, parts: list[int]) -> None:
        for part in parts:
            desk = self._desks[part]
            self._spare += desk.spare[desk.at[USED] :].tolist()

    def make_room(self, more: int) -> None:
        """Make more wide rows."""
        had = len(self.wide)
        self.wide = np.concatenate([self.wide, np.zeros(more, self.wide.dtype)])
        zeros = np.zeros((more, self.layout.memory), self.wide_slots.dtype)
        self.wide_slots = np.concatenate([self.wide_slots, zeros])
        self._spare += range(had, had + more)

    # Single members.

    def status(self, row: int) -> int:
        """Return whether a member has begun, and where it is."""
        return int(self.rows[row, 0])

    def word(self, row: int) -> int:
        """Return the key of a row, or what stands there."""
        return int.from_bytes(self.rows[row, KEY : KEY + 8].tobytes(), "little")

    def set_word(self, row: int, word: int) -> None:
        """Set the key of a row, or what stands there."""
        self.rows[row, KEY : KEY + 8] = np.frombuffer(word.to_bytes(8, "little"), np.uint8)

    def set_words(self, first: int, words: NDArray[np.uint64]) -> None:
        """Set the keys of rows, from the first of them on, that have not begun."""
        last = first + len(words)
        self.check(np.arange(first >> SHIFT, blocks_of(last)))
        self.rows[first:last, KEY : KEY + 8] = words.view(np.uint8).reshape(-1, 8)
        self.dirty[first >> SHIFT : blocks_of(last)] = 1

    def resize(self, count: int) -> None:
        """Change the number of members: remove the last ones, or add new ones."""
        before = self.count
        # Wide rows of blocks that go are free from now on; new rows share a block with old ones.
        self.check(np.arange(min(count, before) >> SHIFT, blocks_of(before)))
        if count < before:
            gone = count + np.flatnonzero(self.rows[count:before, 0] == WIDE)
            self._spare += [self.word(row) for row in gone.tolist()]
            self.rows[count:before] = 0
            self.dirty[count >> SHIFT : blocks_of(before)] = 1
        elif count > len(self.rows):
            self._make_roomier(blocks_of(max(count, before * 3 // 2)))
        self.count = count

    def _make_roomier(self, blocks: int) -> None:
        """Change to rows with room for so many blocks."""
        had = len(self.rows) >> SHIFT
        if self.file is None or self.moved:
            rows = self._empty(blocks)
            rows[: len(self.rows)] = self.rows
        else:
            rows = self.file.rows(self.layout.size, blocks)
            for block in np.flatnonzero(self.dirty).tolist():
                first, last = block << SHIFT, (block + 1) << SHIFT
                rows[first:last] = self.rows[first:last]
        more = np.zeros(blocks - had, np.uint8)
        dirty = np.concatenate([self.dirty, more])
        if self.unseen is not None:
            unseen = np.concatenate([self.unseen, more])
            sums = np.concatenate([self.sums, np.zeros(blocks - had, np.uint64)])
            self.unseen, self.sums = unseen, sums
        # All at once, after everything that can fail: kernels do not check bounds.
        self.rows, self.dirty = rows, dirty

    def state(self, row: int) -> State | None:
        """Return the record of a member; None if it has not begun."""
        status = self.status(row)
        if status == NOT_BEGUN:
            return None
        if status == BEGUN:
            return unpacked(self.rows[row], self.layout)
        at = self.word(row)
        return from_wide(self.wide[at], self.wide_slots[at], self.layout)

    def put(self, row: int, state: State) -> None:
        """Set the record of a member."""
        data = packed(state, self.layout)
        was_wide = self.status(row) == WIDE
        if data is not None:
            if was_wide:
                self._spare.append(self.word(row))
            self.rows[row] = data
        else:
            if not was_wide and not self._spare:
                self.make_room(SPARE)
            at = self.word(row) if was_wide else self._spare[-1]
            to_wide(state, self.wide[at : at + 1], self.wide_slots[at])
            if not was_wide:
                self._spare.pop()
                self.rows[row, 0] = WIDE
                self.set_word(row, at)
        self.dirty[row >> SHIFT] = 1

    def free_wide(self) -> list[int]:
        """Return the wide rows that are free."""
        return sorted(self._spare)

    def set_wide(self, data: NDArray[np.uint8], free: list[int]) -> None:
        """Set all wide rows from bytes."""
        scalars = self.wide.itemsize
        slots = self.wide_slots.itemsize * self.layout.memory
        count = len(data)
        self.wide = np.ascontiguousarray(data[:, :scalars]).view(self.wide.dtype).reshape(count)
        self.wide_slots = (
            np.ascontiguousarray(data[:, scalars : scalars + slots])
            .view(self.wide_slots.dtype)
            .reshape(count, self.layout.memory)
        )
        self._spare = list(free)

    def used_wide(self) -> int:
        """Return how many wide rows are used."""
        return len(self.wide) - len(self._spare)


def blocks_of(count: int) -> int:
    """Return how many blocks so many members have."""
    return (count + (1 << SHIFT) - 1) >> SHIFT
