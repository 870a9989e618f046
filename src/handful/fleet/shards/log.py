"""The calls that a shard has served since its last save, in a file: a durable shard replays them.

    record = head | operation, arrays and threads in JSON | the arrays
    head   = mark, length of the JSON, length of the arrays, number, token, checksums of both

A fleet is deterministic, so the calls determine the state after them, and they are far smaller than
the blocks that a call of random members changes. A record is on disk before its call is served.
Only the last record can be incomplete, and then its call was not answered.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from struct import Struct
from typing import Any, BinaryIO, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from handful.errors import DamagedStoreError, StoreUnavailableError
from handful.files.writing import sync_folder, write_whole

MARK = b"call"
HEAD = Struct("<4sIQQQII")
"""Mark, length of the JSON, length of the arrays, number, token, checksum of what follows."""
SEALED = Struct("<I")
"""The checksum of a head."""
Arrays = tuple[NDArray[Any], ...]


class Call(NamedTuple):
    """A call of a shard: the same number and token mean the same call."""

    number: int
    token: int
    operation: str
    arrays: Arrays
    threads: int
    """How many served it. If a policy fails, they decide which other members have been served."""


class CallLog:
    """The file of calls, open for more."""

    def __init__(self, path: Path, calls: tuple[Call, ...] = ()) -> None:
        """Make a file that has some calls already."""

        def write(file: BinaryIO) -> None:
            for call in calls:
                file.write(record_of(call))

        write_whole(path, write)
        self.path = path
        # Without a buffer, nothing of a record that failed can be written later.
        self._file = path.open("r+b", buffering=0)
        self.size = self._file.seek(0, os.SEEK_END)

    def append(self, call: Call) -> None:
        """Write a call to the disk; if that fails, the file is as before."""
        record = record_of(call)
        left = memoryview(record)
        try:
            while left:
                left = left[self._file.write(left) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            self._file.truncate(self.size)
            self._file.seek(self.size)
            raise StoreUnavailableError(
                f"{self.path} cannot be written ({error}): this call was not served"
            ) from None
        self.size += len(record)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def record_of(call: Call) -> bytes:
    """Return a call as bytes."""
    arrays = [np.ascontiguousarray(array) for array in call.arrays]
    text = json.dumps(
        [
            call.operation,
            [[array.dtype.str, list(array.shape)] for array in arrays],
            call.threads,
        ]
    ).encode()
    data = b"".join(array.tobytes() for array in arrays)
    head = HEAD.pack(
        MARK, len(text), len(data), call.number, call.token, crc32(text), crc32(data)
    )  # fmt: skip
    return head + SEALED.pack(crc32(head)) + text + data


def read_log(path: Path) -> Iterator[Call]:
    """Return the complete calls of a file; refuse a file that is damaged before its end."""
    data = path.read_bytes()
    at, size = 0, HEAD.size + SEALED.size
    while at < len(data):
        head = data[at : at + HEAD.size]
        sealed = data[at + HEAD.size : at + size] == SEALED.pack(crc32(head))
        if not sealed:
            if len(data[at:].rstrip(b"\0")) < size:
                return  # the record was being written: zeros are what never came to the disk
            raise _damaged(path, at)
        _, text_size, data_size, number, token, text_sum, data_sum = HEAD.unpack(head)
        start, end = at + size + text_size, at + size + text_size + data_size
        text, body = data[at + size : start], data[start:end]
        if len(data) < end or crc32(text) != text_sum or crc32(body) != data_sum:
            if len(data) <= end:
                return
            raise _damaged(path, at)
        operation, forms, threads = json.loads(text)
        yield Call(number, token, operation, _arrays(forms, body), threads)
        at = end


def _arrays(forms: list[Any], body: bytes) -> Arrays:
    found, at = [], 0
    for form, shape in forms:
        kind = np.dtype(form)
        count = int(np.prod(shape, dtype=np.int64))
        found.append(np.frombuffer(body, kind, count, at).reshape(shape))
        at += count * kind.itemsize
    return tuple(found)


def _damaged(path: Path, at: int) -> DamagedStoreError:
    return DamagedStoreError(
        f"{path} is damaged at byte {at}: it is not what was written; restore the folder from a "
        "copy, or delete this file to go back to the last save"
    )


def remove(paths: list[Path]) -> None:
    """Delete files of one folder."""
    for path in paths:
        path.unlink()
    if paths:
        sync_folder(paths[0].parent)
