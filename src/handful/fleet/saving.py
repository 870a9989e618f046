"""A fleet on disk: a folder that always has the last complete save.

    fleet.json   what all members share, their number, and the generation of the other files
    rows-G       the rows, with holes for members that have not begun
    sums-G       a checksum for each block of 64 rows
    wide-G       the wide rows, each with its checksum
    names-G      the names of members, if they have names
    journal      the changes of a save that counts, until they are made (`handful.fleet.journal`)
    lock         locked by the process that has the fleet open

Rows are mapped into memory: what is read comes from the file, and what is changed stays in memory
until it is saved. A save of few blocks goes by the journal; one of many writes a new generation,
which counts as soon as `fleet.json` names it.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from handful.errors import (
    DamagedStoreError,
    NewerStoreError,
    SettingError,
    StoreError,
    StoreInUseError,
)
from handful.fleet.journal import NAME as JOURNAL
from handful.fleet.journal import Change, flush, read_journal, write_journal, write_whole
from handful.fleet.kernels.members import SHIFT
from handful.fleet.kernels.sums import sums_of
from handful.fleet.layout import WIDE
from handful.fleet.members import Members, blocks_of

FORMAT = 1
FILES = ("rows", "sums", "wide", "names")
ROWS, SUMS, WIDE_ROWS, NAMES = range(4)
HEADER = "fleet.json"
MANY = 0.4
"""From this share of changed blocks on, a new generation is written instead of a journal."""
RUN = 1 << 12
"""The most blocks that are written at once."""


class Folder:
    """The folder of a fleet that is open: locked, and with the header of the last save."""

    def __init__(self, path: Path, lock: int, header: dict[str, Any]) -> None:
        self.path = path
        self.header = header
        self._lock = lock

    # Opening and closing.

    @classmethod
    def open(cls, path: Path) -> Folder:
        """Open and lock a folder, and finish the save that counts, if one was interrupted."""
        if not (path / HEADER).is_file():
            raise StoreError(f"{path} is no folder of a fleet: there is no {HEADER} in it")
        lock = locked(path)
        try:
            folder = cls(path, lock, _read_header((path / HEADER).read_bytes(), path))
            folder._recover()
        except BaseException:
            os.close(lock)
            raise
        return folder

    def close(self) -> None:
        """Let other processes open the fleet."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    @property
    def is_open(self) -> bool:
        """Whether the fleet is still saved here."""
        return self._lock >= 0

    def _recover(self) -> None:
        journal = self.path / JOURNAL
        if journal.exists():
            header, _ = read_journal(journal)
            if _read_header(header, self.path)["generation"] < self.header["generation"]:
                journal.unlink()  # its files have been replaced since
            else:
                self._apply()
        kept = {self._file(kind).name for kind in range(len(FILES))}
        for file in self.path.iterdir():
            old = file.name.partition("-")[0] in FILES and file.name not in kept
            if old or file.suffix == ".new":
                file.unlink()

    def _file(self, kind: int) -> Path:
        return self.path / f"{FILES[kind]}-{self.header['generation']}"

    # Saving.

    @classmethod
    def create(cls, path: Path, facts: dict[str, Any], members: Members, names: bytes) -> Folder:
        """Save a fleet for the first time."""
        if path.exists():
            raise SettingError(
                f"{path} exists: save to a new folder, or open this one with Fleet.open"
            )
        new = path.with_name(f".{path.name}.new")
        if new.exists():
            shutil.rmtree(new)  # of a save that was interrupted
        new.mkdir(parents=True)
        folder = cls(new, locked(new), {**facts, "generation": 0})
        folder._write_all(members, names)
        folder._write_header()
        flush(new)
        new.rename(path)
        flush(path.parent)
        folder.path = path
        folder._map(members)
        return folder

    def save(self, facts: dict[str, Any], members: Members, names: bytes) -> None:
        """Save what has changed since the last save."""
        before = self.header
        blocks = np.flatnonzero(members.dirty[: blocks_of(members.count)])
        whole = members.moved or len(blocks) > MANY * max(1, blocks_of(members.count))
        generation = before["generation"] + whole
        self.header = {**facts, "generation": generation}
        counts = False
        try:
            if whole:
                self._write_all(members, names)
                self._write_header()
                counts = True
                self._recover()  # removes the last generation
            else:
                journal = self._changes(members, blocks, names, before["names_size"])
                write_journal(self.path, _header_bytes(self.header), journal)
                counts = True
                self._apply()
        except BaseException:
            if not counts:
                self.header = before
            raise
        self._map(members)

    def _changes(
        self, members: Members, blocks: NDArray[np.int64], names: bytes, names_before: int
    ) -> Iterator[Change]:
        words = members.words
        size = words.shape[1] * 8
        sums = sums_of(words, blocks)
        flat = words.reshape(-1).view(np.uint8).data
        for first, last in _runs(blocks):
            start, end = int(blocks[first]), int(blocks[last - 1]) + 1
            yield Change(ROWS, start * size, flat[start * size : end * size])
            yield Change(SUMS, start * 8, sums[first:last].tobytes())
        wide = _wide_bytes(members)
        for row in _wide_in(members, blocks).tolist():
            yield Change(WIDE_ROWS, row * wide.shape[1], wide[row].tobytes())
        if len(names) > names_before:
            yield Change(NAMES, names_before, names[names_before:])

    def _apply(self) -> None:
        """Make the changes of the journal in the files, and remove it."""
        header, changes = read_journal(self.path / JOURNAL)
        self.header = _read_header(header, self.path)
        files = [self._file(kind).open("r+b") for kind in range(len(FILES))]
        try:
            for change in changes:
                files[change.file].seek(change.offset)
                files[change.file].write(change.data)
            for kind, size in enumerate(self._sizes()):
                files[kind].truncate(size)
                files[kind].flush()
                os.fsync(files[kind].fileno())
        finally:
            for file in files:
                file.close()
        self._write_header()
        (self.path / JOURNAL).unlink()
        flush(self.path)

    def _sizes(self) -> list[int]:
        facts = self.header
        blocks = blocks_of(facts["members"])
        rows = (blocks << SHIFT) * facts["row_size"]
        return [rows, blocks * 8, facts["wide"] * facts["wide_size"], facts["names_size"]]

    def _write_all(self, members: Members, names: bytes) -> None:
        """Write all files of a generation; blocks of zeros become holes."""
        words = members.words
        blocks = np.arange(blocks_of(members.count))
        members.check(blocks)
        sums = np.zeros(len(blocks), np.uint64)
        with self._file(ROWS).open("wb") as file:
            for at in range(0, len(blocks), RUN):
                sums[at : at + RUN] = sums_of(words, blocks[at : at + RUN])
                for first, last in _runs(at + np.flatnonzero(sums[at : at + RUN]), whole=True):
                    file.seek(first * words.shape[1] * 8)
                    file.write(words[first:last].tobytes())
            file.truncate(len(blocks) * words.shape[1] * 8)
            file.flush()
            os.fsync(file.fileno())
        wide = _wide_bytes(members)
        wide[members.free_wide()] = 0
        for kind, data in ((SUMS, sums.tobytes()), (WIDE_ROWS, wide.tobytes()), (NAMES, names)):
            with self._file(kind).open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        flush(self.path)

    def _write_header(self) -> None:
        data = _header_bytes(self.header)

        def write(file: BinaryIO) -> None:
            file.write(data)

        write_whole(self.path / HEADER, write)

    # Reading.

    def _map(self, members: Members) -> None:
        """Let the rows be those of the file from now on: what is clean takes no memory."""
        blocks = blocks_of(members.count)
        members.rows = self.rows(members.layout.size, blocks)
        members.file = self
        members.moved = False
        members.dirty = np.zeros(blocks, np.uint8)
        members.sums = np.fromfile(self._file(SUMS), np.uint64)
        if members.unseen is None or len(members.unseen) != blocks:
            members.unseen = np.zeros(blocks, np.uint8)

    def rows(self, size: int, blocks: int) -> NDArray[np.uint8]:
        """Map so many blocks of rows; the file is made longer if it is too short."""
        file = self._file(ROWS)
        wanted = (blocks << SHIFT) * size
        if file.stat().st_size < wanted:
            os.truncate(file, wanted)  # zeros, which the header does not count
        return np.memmap(file, np.uint8, "c", shape=(blocks << SHIFT, size))

    def load(self, members: Members) -> bytes:
        """Fill the members from the files, and return the names."""
        for kind, size in enumerate(self._sizes()):
            there = self._file(kind).stat().st_size if self._file(kind).exists() else -1
            if there < size:
                raise DamagedStoreError(
                    f"{self._file(kind)} is damaged: it has {max(0, there)} of {size} bytes; "
                    "restore the folder from a copy"
                )
        self._map(members)
        members.unseen = np.ones(blocks_of(members.count), np.uint8)
        count, size = self.header["wide"], self.header["wide_size"]
        data = np.fromfile(self._file(WIDE_ROWS), np.uint8, count * size).reshape(count, size)
        wrong = sums_of(np.ascontiguousarray(data[:, :-8]).view(np.uint64), np.arange(count))
        if (wrong != np.ascontiguousarray(data[:, -8:]).view(np.uint64)[:, 0]).any():
            raise DamagedStoreError(f"{self._file(WIDE_ROWS)} is damaged: a checksum is wrong")
        members.set_wide(data, self.header["free_wide"])
        names = self._file(NAMES).read_bytes()[: self.header["names_size"]]
        if crc32(names) != self.header["names_sum"]:
            raise DamagedStoreError(f"{self._file(NAMES)} is damaged: its checksum is wrong")
        return names


def facts_of(members: Members, names: bytes) -> dict[str, Any]:
    """Return what the header says of members."""
    return {
        "members": members.count,
        "row_size": members.layout.size,
        "wide": len(members.wide),
        "wide_size": _wide_bytes(members).shape[1],
        "free_wide": members.free_wide(),
        "names_size": len(names),
        "names_sum": crc32(names),
    }


def _runs(blocks: NDArray[np.int64], whole: bool = False) -> Iterator[tuple[int, int]]:
    """Return where runs of consecutive blocks begin and end: places, or blocks if `whole`."""
    if not len(blocks):
        return
    ends = np.flatnonzero(np.diff(blocks) != 1) + 1
    first = 0
    for last in (*ends.tolist(), len(blocks)):
        for start in range(first, last, RUN):
            end = min(start + RUN, last)
            yield (int(blocks[start]), int(blocks[end - 1]) + 1) if whole else (start, end)
        first = last


def _wide_bytes(members: Members) -> NDArray[np.uint8]:
    """Return the wide rows as bytes: scalars, slots, zeros up to a word, and the checksum."""
    count = len(members.wide)
    scalars = members.wide.view(np.uint8).reshape(count, members.wide.itemsize)
    slots = members.wide_slots.view(np.uint8).reshape(
        count, members.wide_slots.itemsize * members.layout.memory
    )
    size = scalars.shape[1] + slots.shape[1]
    data = np.zeros((count, -(-size // 8) * 8 + 8), np.uint8)
    data[:, : scalars.shape[1]] = scalars
    data[:, scalars.shape[1] : size] = slots
    words = data.view(np.uint64)
    words[:, -1] = sums_of(np.ascontiguousarray(words[:, :-1]), np.arange(count))
    return data


def _wide_in(members: Members, blocks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the wide rows of the members of some blocks, and the free ones."""
    found: list[int] = []
    for block in blocks.tolist():
        first = block << SHIFT
        rows = first + np.flatnonzero(members.rows[first : first + (1 << SHIFT), 0] == WIDE)
        found += [members.word(row) for row in rows.tolist()]
    return np.array(sorted({*found, *members.free_wide()}), np.int64)


def _header_bytes(header: dict[str, Any]) -> bytes:
    text = json.dumps({"format": FORMAT, **header}, sort_keys=True)
    return json.dumps({"checksum": crc32(text.encode()), "fleet": text}).encode()


def _read_header(data: bytes, path: Path) -> dict[str, Any]:
    try:
        outer = json.loads(data)
        text = outer["fleet"]
        if crc32(text.encode()) != outer["checksum"]:
            raise ValueError
        header: dict[str, Any] = json.loads(text)
    except (ValueError, KeyError, TypeError):
        raise DamagedStoreError(
            f"{path / HEADER} is damaged: it is not what was written; restore the folder from a "
            "copy"
        ) from None
    if header.pop("format") != FORMAT:
        raise NewerStoreError(f"{path} was written by a newer version of handful: update handful")
    return header


def locked(path: Path) -> int:
    """Lock a folder for this process, and return the handle that holds the lock."""
    handle = os.open(path / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        import fcntl
    except ImportError:  # pragma: no cover  (not on Windows)
        return handle
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise StoreInUseError(
            f"{path} is open in another process or another Fleet: close it there first"
        ) from None
    return handle
