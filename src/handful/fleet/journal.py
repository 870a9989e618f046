"""A journal: all changes of a save in one file, which is written completely or not at all.

    mark | header of the fleet | (file, offset, data) ... | end | digest

The journal is written under another name, flushed to disk and renamed: the save counts from then
on. Only then are the changes made in the files themselves. A process that opens a folder with a
journal makes them again, which is harmless.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from struct import Struct
from typing import BinaryIO, NamedTuple

from handful.errors import DamagedStoreError
from handful.files.writing import write_whole

NAME = "journal"
MARK = b"handful fleet journal 1\n"
ENTRY = Struct("<BQQ")
END = 255
DIGEST_SIZE = 16


class Change(NamedTuple):
    """Bytes of a file, by its place in `saving.FILES`, that are other from now on."""

    file: int
    offset: int
    data: bytes | memoryview


def write_journal(folder: Path, header: bytes, changes: Iterable[Change]) -> None:
    """Write a journal. When this returns, the save counts."""

    def write(file: BinaryIO) -> None:
        digest = blake2b(digest_size=DIGEST_SIZE)

        def put(data: bytes | memoryview) -> None:
            digest.update(data)
            file.write(data)

        put(MARK + ENTRY.pack(0, 0, len(header)) + header)
        for change in changes:
            put(ENTRY.pack(change.file, change.offset, len(change.data)))
            put(change.data)
        put(ENTRY.pack(END, 0, 0))
        file.write(digest.digest())

    write_whole(folder / NAME, write)


def read_journal(path: Path) -> tuple[bytes, Iterator[Change]]:
    """Return the header and the changes of a journal, which is checked first."""
    digest = blake2b(digest_size=DIGEST_SIZE)
    left = path.stat().st_size - DIGEST_SIZE
    with path.open("rb") as file:
        while left > 0:
            data = file.read(min(left, 1 << 20))
            digest.update(data)
            left -= len(data)
        if left < 0 or file.read() != digest.digest():
            raise DamagedStoreError(
                f"{path} is damaged: it is not the journal that was written; restore the folder "
                "from a copy"
            )

    def changes() -> Iterator[Change]:
        with path.open("rb") as file:
            file.seek(len(MARK))
            _, _, size = ENTRY.unpack(file.read(ENTRY.size))
            file.seek(size, os.SEEK_CUR)
            while True:
                kind, offset, size = ENTRY.unpack(file.read(ENTRY.size))
                if kind == END:
                    return
                yield Change(kind, offset, file.read(size))

    with path.open("rb") as file:
        if file.read(len(MARK)) != MARK:
            raise DamagedStoreError(f"{path} is not the journal of a fleet, or of a newer version")
        _, _, size = ENTRY.unpack(file.read(ENTRY.size))
        return file.read(size), changes()
