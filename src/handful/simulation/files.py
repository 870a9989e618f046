"""Write a file completely or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from handful.errors import WriteError


def write_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Write the content beside its place first, then move it there.

    A reader never sees half a file, and where writing fails nothing is left of it and a file that
    was there before stays. That holds when the machine stops, too: the content is on disk before
    it gets its name.
    """
    target = Path(path)
    part = part_of(target)
    try:
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
        _sync_folder(target.parent)
    except OSError as error:
        raise WriteError(f"{target} cannot be written: {reason(error)}") from error
    finally:
        with suppress(OSError):
            part.unlink()


def _sync_folder(folder: Path) -> None:
    """Let the new name reach the disk, where folders can be synchronised: not on Windows."""
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def part_of(target: Path) -> Path:
    """The file that is written before it is moved to its place."""
    return target.with_name(f"{target.name}.{os.getpid()}.part")


def reason(error: OSError) -> str:
    """Say why a file could not be written, and what to do, if that is known."""
    said = error.strerror or str(error) or type(error).__name__
    return f"{said}: free some space or give another place" if _full(error) else said


def _full(error: OSError) -> bool:
    import errno

    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
