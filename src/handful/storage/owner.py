"""One process at a time owns a store in a file: a lock on `FILE.lock`, free when it ends."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from handful.errors import StoreInUseError, StoreUnavailableError

MADE = b"the store beside this file was made\n"


class Owner:
    """The ownership of a file. The system releases it, however the process ends."""

    def __init__(self, path: Path) -> None:
        lock = path.with_name(f"{path.name}.lock")
        try:
            self._file = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise StoreUnavailableError(
                f"the store {str(path)!r} cannot be opened: {error.strerror}"
            ) from None
        try:
            _lock(self._file)
        except OSError:
            os.close(self._file)
            raise StoreInUseError(
                f"the store {str(path)!r} is in use by another process: stop it first, or copy the "
                "store with: handful backup"
            ) from None

    @property
    def has_made(self) -> bool:
        """Whether the file was made a store before, by any process."""
        os.lseek(self._file, 0, os.SEEK_SET)
        return os.read(self._file, len(MADE)) == MADE

    def note_made(self) -> None:
        """Note that the file is a store, so that an empty file is noticed if it is found later."""
        if not self.has_made:
            with suppress(OSError):  # on a full disk there is another time
                os.lseek(self._file, 0, os.SEEK_SET)
                os.write(self._file, MADE)

    def release(self) -> None:
        """Let another process own the file."""
        with suppress(OSError):
            os.close(self._file)


if sys.platform == "win32":
    import msvcrt

    def _lock(file: int) -> None:
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
