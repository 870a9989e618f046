"""Ownership of a store in a file: one process holds the lock `FILE.lock` until it ends."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from handful.files.lock import Lock

MADE = b"the store beside this file was made\n"


class Owner(Lock):
    """The ownership of a file. The system releases it, however the process ends."""

    def __init__(self, path: Path) -> None:
        name = f"the store {str(path)!r}"
        super().__init__(
            path.with_name(f"{path.name}.lock"),
            name,
            f"{name} is in use by another process: stop it first, or copy the store with: handful "
            "backup",
        )

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
