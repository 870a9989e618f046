"""The bytes of wide rows in a file: scalars, slots, zeros up to a word, and a checksum."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from handful.errors import DamagedStoreError
from handful.fleet.kernels.members import SHIFT
from handful.fleet.kernels.sums import sums_of
from handful.fleet.layout import WIDE
from handful.fleet.members import Members


def wide_size(members: Members) -> int:
    """Return the bytes of a wide row in a file."""
    size = members.wide.itemsize + members.wide_slots.itemsize * members.layout.memory
    return -(-size // 8) * 8 + 8


def wide_bytes(members: Members, rows: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return some wide rows as bytes, a line for each."""
    count, scalars = len(rows), members.wide.itemsize
    slots = members.wide_slots.itemsize * members.layout.memory
    data = np.zeros((count, wide_size(members)), np.uint8)
    data[:, :scalars] = members.wide[rows].view(np.uint8).reshape(count, scalars)
    data[:, scalars : scalars + slots] = (
        members.wide_slots[rows].view(np.uint8).reshape(count, slots)
    )
    data.view(np.uint64)[:, -1] = _sums(data)
    return data


def wide_from(path: Path, count: int, size: int) -> NDArray[np.uint8]:
    """Return the wide rows of a file as bytes; refuse a file that is damaged."""
    data = np.fromfile(path, np.uint8, count * size).reshape(count, size)
    if (_sums(data) != data.view(np.uint64)[:, -1]).any():
        raise DamagedStoreError(
            f"{path} is damaged: a checksum is wrong; restore the folder from a copy"
        )
    return data


def wide_in(members: Members, blocks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the wide rows of the members of some blocks, and the free ones."""
    found: list[int] = []
    for block in blocks.tolist():
        first = block << SHIFT
        rows = first + np.flatnonzero(members.rows[first : first + (1 << SHIFT), 0] == WIDE)
        found += [members.word(row) for row in rows.tolist()]
    return np.array(sorted({*found, *members.free_wide()}), np.int64)


def _sums(data: NDArray[np.uint8]) -> NDArray[np.uint64]:
    words = np.ascontiguousarray(data.view(np.uint64)[:, :-1])
    return sums_of(words, np.arange(len(words)))
