"""A lock between processes: a process holds it until it releases the lock or ends."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from weakref import finalize

from handful.errors import StoreInUseError, StoreUnavailableError

TAKEN = (errno.EAGAIN, errno.EACCES, errno.EDEADLK)
"""What the system says if another one has the lock: EAGAIN, on Windows one of the others."""


class Lock:
    """A locked file. It is released when the object is deleted or the process ends."""

    def __init__(self, path: Path, name: str, in_use: str) -> None:
        """Lock a file, which is made if there is none.

        `name` is what the lock is for, and `in_use` the message if another one has it.
        """
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise StoreUnavailableError(f"{name} cannot be opened: {error.strerror}") from None
        self._close = finalize(self, os.close, self._file)
        try:
            _lock(self._file)
        except OSError as error:
            self.release()
            if error.errno in TAKEN:
                raise StoreInUseError(in_use) from None
            raise StoreUnavailableError(f"{name} cannot be locked: {error.strerror}") from None

    @property
    def is_held(self) -> bool:
        """Whether the lock has not been released."""
        return self._close.alive

    def release(self) -> None:
        """Release the lock."""
        self._close()


if sys.platform == "win32":
    import msvcrt

    def _lock(file: int) -> None:
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
