"""A fleet on disk: a folder that always contains the last complete save.

    fleet.json   what all members share, their number, and the generation of the other files
    rows-G       the rows, with holes for members that have not begun
    sums-G       a checksum for each block of 64 rows
    wide-G       the wide rows, each with its checksum
    names-G      the names of members, if they have names
    journal      the changes of a save that counts, until they are made (`handful.fleet.journal`)
    lock         locked by the process that has the fleet open

Rows are mapped into memory: they are read from the file, and changes stay in memory until they are
saved. A save of few blocks uses the journal; a save of many writes a new generation of the files,
which counts as soon as `fleet.json` names it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from handful.errors import DamagedStoreError, SettingError, StoreError, StoreUnavailableError
from handful.files.lock import Lock
from handful.files.writing import PART, sync_folder, write_whole
from handful.fleet.header import HEADER, header_bytes, read_header
from handful.fleet.journal import NAME as JOURNAL
from handful.fleet.journal import Change, read_journal, write_journal
from handful.fleet.kernels.members import SHIFT
from handful.fleet.kernels.sums import sums_of
from handful.fleet.members import Members, blocks_of
from handful.fleet.wide_rows import wide_bytes, wide_from, wide_in

FILES = ("rows", "sums", "wide", "names")
ROWS, SUMS, WIDE_ROWS, NAMES = range(4)
MANY = 0.4
"""From this share of changed blocks on, a new generation is written instead of a journal."""
RUN = 1 << 12
"""The most blocks that are written at once."""


class Mapped(NamedTuple):
    """What files have for members: their rows, the checksums, and which were not looked at."""

    rows: NDArray[np.uint8]
    sums: NDArray[np.uint64]
    unseen: NDArray[np.uint8]


def locked(path: Path) -> Lock:
    """Lock a folder for one fleet of this process."""
    in_use = f"{path} is open in another process or another Fleet: close it there first"
    return Lock(path / "lock", str(path), in_use)


class Folder:
    """The folder of a fleet that is open: locked, and with the header of the last save."""

    def __init__(self, path: Path, lock: Lock, header: dict[str, Any]) -> None:
        self.path = path
        self.header = header
        self._lock = lock

    # Opening and closing.

    @classmethod
    def open(cls, path: Path) -> Folder:
        """Open and lock a folder, and finish the save that counts, if one was interrupted."""
        if not (path / HEADER).is_file():
            raise StoreError(f"{path} is not the folder of a fleet: there is no {HEADER} in it")
        lock = locked(path)
        try:
            folder = cls(path, lock, read_header((path / HEADER).read_bytes(), path))
            folder._recover()
        except BaseException:
            lock.release()
            raise
        return folder

    def close(self) -> None:
        """Let other processes open the fleet."""
        self._lock.release()

    @property
    def is_open(self) -> bool:
        """Whether the fleet is still saved here."""
        return self._lock.is_held

    def _finish(self) -> None:
        """Finish a save that counts, if it was interrupted."""
        journal = self.path / JOURNAL
        if journal.exists():
            header, _ = read_journal(journal)
            if read_header(header, self.path)["generation"] < self.header["generation"]:
                journal.unlink()  # its files have been replaced since
            else:
                self._apply()

    def _recover(self) -> None:
        """Finish the last save, and remove what others have left."""
        self._finish()
        kept = {self._file(kind).name for kind in range(len(FILES))}
        for file in self.path.iterdir():
            old = file.name.partition("-")[0] in FILES and file.name not in kept
            if old or file.suffix == PART:
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
        lock = locked(new)
        try:
            folder = cls(new, lock, {**facts, "generation": 0})
            folder._write_all(members, names)
            folder._write_header()
            mapped = folder._mapped(members)
            new.rename(path)
            sync_folder(path.parent)
        except BaseException:
            lock.release()
            shutil.rmtree(new, ignore_errors=True)
            raise
        folder.path = path
        folder._use(mapped, members)
        return folder

    def save(self, facts: dict[str, Any], members: Members, names: bytes) -> None:
        """Save what has changed since the last save."""
        self._finish()  # else the changes of a save that counts would be lost with its journal
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
                write_journal(self.path, header_bytes(self.header), journal)
                counts = True
                self._apply()
        except BaseException:
            if not counts:
                self.header = before
            raise
        self._use(self._mapped(members), members)

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
        wide = wide_in(members, blocks)
        for row, data in zip(wide.tolist(), wide_bytes(members, wide), strict=True):
            yield Change(WIDE_ROWS, row * len(data), data.tobytes())
        if len(names) > names_before:
            yield Change(NAMES, names_before, names[names_before:])

    def _apply(self) -> None:
        """Make the changes of the journal in the files, and remove it."""
        header, changes = read_journal(self.path / JOURNAL)
        self.header = read_header(header, self.path)
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
        sync_folder(self.path)

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
        wide = wide_bytes(members, np.arange(len(members.wide)))
        wide[members.free_wide()] = 0
        for kind, data in ((SUMS, sums.tobytes()), (WIDE_ROWS, wide.tobytes()), (NAMES, names)):
            with self._file(kind).open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        sync_folder(self.path)

    def _write_header(self) -> None:
        data = header_bytes(self.header)
        write_whole(self.path / HEADER, lambda file: file.write(data))

    # Reading.

    def _mapped(self, members: Members) -> Mapped:
        """Return what the files have for these members."""
        blocks = blocks_of(members.count)
        unseen = np.zeros(blocks, np.uint8)
        if members.unseen is not None:
            known = members.unseen[:blocks]
            unseen[: len(known)] = known
        rows = self.rows(members.layout.size, blocks)
        return Mapped(rows, np.fromfile(self._file(SUMS), np.uint64, blocks), unseen)

    def _use(self, mapped: Mapped, members: Members) -> None:
        """Let the rows be those of the file from now on: what is clean takes no memory."""
        members.rows, members.sums, members.unseen = mapped
        members.file = self
        members.moved = False
        members.dirty = np.zeros(len(mapped.unseen), np.uint8)

    def rows(self, size: int, blocks: int) -> NDArray[np.uint8]:
        """Map so many blocks of rows; the file is made longer if it is too short."""
        if blocks == 0:
            return np.zeros((0, size), np.uint8)  # an empty file cannot be mapped
        file = self._file(ROWS)
        wanted = (blocks << SHIFT) * size
        try:
            if file.stat().st_size < wanted:
                os.truncate(file, wanted)  # zeros, which the header does not count
            return np.memmap(file, np.uint8, "c", shape=(blocks << SHIFT, size))
        except (OSError, OverflowError, ValueError) as error:
            raise StoreUnavailableError(
                f"{file} cannot be mapped with {blocks << SHIFT:,} rows of {size} bytes: {error}"
            ) from None

    def load(self, members: Members) -> bytes:
        """Fill the members from the files, and return the names."""
        for kind, size in enumerate(self._sizes()):
            there = self._file(kind).stat().st_size if self._file(kind).exists() else -1
            if there < size:
                raise DamagedStoreError(
                    f"{self._file(kind)} is damaged: it has {max(0, there)} of {size} bytes; "
                    "restore the folder from a copy"
                )
        self._use(self._mapped(members), members)
        members.unseen = np.ones(blocks_of(members.count), np.uint8)
        count, size = self.header["wide"], self.header["wide_size"]
        data = wide_from(self._file(WIDE_ROWS), count, size)
        members.set_wide(data, self.header["free_wide"])
        names = self._file(NAMES).read_bytes()[: self.header["names_size"]]
        if crc32(names) != self.header["names_sum"]:
            raise DamagedStoreError(f"{self._file(NAMES)} is damaged: its checksum is wrong")
        return names


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
