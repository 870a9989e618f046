"""What segments work on: the memory of a block of runs, their random numbers, and tables.

A block is L runs that walk the schedule in lockstep, one run a lane. What belongs to slot i of lane
l stands at i * L + l; a block of one run is simply a list of slots.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from handful.compiling.arrays import Floats, Ints, Words
from handful.compiling.jit import named
from handful.simulation.kernels.world import Build, Distribution, World, arm_facts

TABLE = 2**20
"""Entries of a table; what lies beyond is computed when needed."""
PULLS = 8
"""Of a sub-phase that is looked up as a whole (see `lookup`)."""
WHOLES = 4**PULLS
"""Entries of the table of those: two bits a pull."""
M_NOW, LANE, BEGAN = 5, 6, 7
"""Where `Scratch.numbers` says, for the message of a run that fails, how many arms are in memory,
which lane fails, and when the sub-phase began."""
AHEAD = 32
"""Pulls whose random numbers are drawn together."""
LINE, PAGE, ROOM = 64, 2**12, 2**17
"""Bytes of a line of the processor's cache, of a page, and of a stretch of room."""


class Block(NamedTuple):
    """Runs first, ..., first + used - 1, in a block of so many lanes."""

    first: int
    used: int
    lanes: int


class Memory(NamedTuple):
    """The arms in memory, what is true of them, and what their runs know of them.

    `hat` and `wide` are scratch of the segment: for scores, the mean and the factor of the bonus or
    a bound on the score.
    """

    arms: Ints
    mus: Floats
    centres: Floats
    gaps: Floats
    n: Ints
    s: Floats
    hat: Floats
    wide: Floats


class Luck(NamedTuple):
    """Where choices and rewards come from: positions of L generators, then their L steps."""

    choices: Words
    rewards: Words
    tape: Words
    on_tape: bool
    distribution: Distribution


class Tables(NamedTuple):
    """Growth by t and width by n, how far each is filled, and for which b and m the width is.

    The last of `marks` is not 0 once a growth or a width is NaN or very large: then scores are
    looked at before they are compared, which takes longer.

    `wholes` is what short sub-phases come to, 0 where it is not known (see `lookup`). Thompson
    sampling, which has no bonus, finds tables of posteriors in place of its factors: probabilities
    for the growth, cells for the width (see `few_pulls`).
    """

    growths: Floats
    widths: Floats
    wholes: Ints
    marks: Ints


class Walk(NamedTuple):
    """Where each lane is in the schedule: its run, shuffle, first arm, and regret as a pair."""

    runs: Ints
    keys: Words
    starts: Ints
    high: Floats
    low: Floats


class Scratch(NamedTuple):
    """Working space of a segment.

    For each lane a slot, `AHEAD` uniform numbers and four shapes; for all slots an integer, in
    one run a list of slots; a few numbers that a run finds again in the next segment; for the
    walker, two words a lane; a generator.
    """

    best: Ints
    uniforms: Floats
    shapes: Floats
    slots: Ints
    numbers: Floats
    halves: Words
    generator: Words


class Space(NamedTuple):
    """All that a kernel writes to besides its results.

    Kernels themselves allocate nothing, so that they are compiled without reference counts: quicker
    to compile, and quicker.
    """

    memory: Memory
    choices: Words
    rewards: Words
    tape: Words
    walk: Walk
    scratch: Scratch
    tables: Tables


@cache
def entry(build: Build) -> Callable[..., None]:
    """Return a function that puts an arm in memory, with fresh statistics.

    enter(at, arm, key, world, memory, generator), with the key of a reservoir's arms; the generator
    is overwritten.
    """
    mean_in, centre_of = arm_facts(build)

    def enter(at: int, arm: int, key: int, world: World, memory: Memory, generator: Words) -> None:
        mu = mean_in(world, arm, key, generator)
        memory.arms[at] = arm
        memory.mus[at] = mu
        memory.centres[at] = centre_of(world.distribution, mu, arm)
        memory.gaps[at] = world.best_mean - mu
        memory.n[at] = 0
        memory.s[at] = 0.0

    return named(enter, "enter", build.world_tag)


class Room:
    """Cuts arrays of zeros from one stretch of memory, each from the start of a line of the cache.

    A vector of lanes is at most as wide as a line. An allocator aligns arrays to 16 bytes only:
    many vectors would lie across two lines, and pulls with ten arms in memory take up to a fifth
    longer.
    """

    def __init__(self) -> None:
        self.left = np.zeros(0, dtype=np.uint8)

    def ints(self, size: int) -> Ints:
        """Return so many integers."""
        cut: Ints = self._cut(size, np.int64)
        return cut

    def words(self, size: int) -> Words:
        """Return so many unsigned integers."""
        cut: Words = self._cut(size, np.uint64)
        return cut

    def floats(self, size: int) -> Floats:
        """Return so many numbers."""
        cut: Floats = self._cut(size, np.float64)
        return cut

    def _cut(self, size: int, kind: Any) -> Any:
        length = size * np.dtype(kind).itemsize
        lines = -(-length // LINE) * LINE
        if lines > len(self.left):
            fresh = np.zeros(max(lines, ROOM) + PAGE, dtype=np.uint8)
            self.left = fresh[-fresh.ctypes.data % PAGE :]
        cut, self.left = self.left[:length], self.left[lines:]
        return cut.view(kind)


def empty_memory(slots: int, room: Room | None = None) -> Memory:
    """A memory of so many slots."""
    room = room or Room()
    return Memory(
        arms=room.ints(slots),
        mus=room.floats(slots),
        centres=room.floats(slots),
        gaps=room.floats(slots),
        n=room.ints(slots),
        s=room.floats(slots),
        hat=room.floats(slots),
        wide=room.floats(slots),
    )


def space(slots: int, lanes: int) -> Space:
    """The space of one thread that runs blocks of up to so many lanes and slots."""
    room = Room()
    return Space(
        empty_memory(slots * lanes, room),
        room.words(2 * lanes),
        room.words(2 * lanes),
        room.words(lanes),
        Walk(
            room.ints(lanes),
            room.words(lanes),
            room.ints(lanes),
            room.floats(lanes),
            room.floats(lanes),
        ),
        Scratch(
            room.ints(lanes),
            room.floats(AHEAD * lanes),
            room.floats(4 * lanes),
            room.ints(slots * lanes),
            room.floats(8),
            room.words(2 * lanes),
            room.words(2),
        ),
        Tables(
            np.empty(TABLE + 1),
            np.empty(TABLE + 1),
            np.zeros(WHOLES, dtype=np.uint8),
            room.ints(5),
        ),
    )
