"""Write a file completely or not at all."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from handful.errors import WriteError

PART = ".part"
"""How the names of files end that are not written completely yet."""


def write_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Write the content beside its place first, then move it there."""
    try:
        write_whole(Path(path), lambda file: file.write(content))
    except OSError as error:
        raise WriteError(f"{path} cannot be written: {reason(error)}") from error


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file by a function: beside its place first, then it is moved there.

    A reader never sees half a file, and where writing fails nothing is left of it and a file that
    was there before stays. That holds when the machine stops, too: the content is on disk before
    it gets its name.
    """
    part = part_of(path)
    try:
        with part.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Let new names in a folder reach the disk, where folders can be synchronised."""
    if sys.platform == "win32":
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno != errno.EINVAL:  # this file system cannot do it for folders
            raise
    finally:
        os.close(opened)


def part_of(target: Path) -> Path:
    """Return the file that is written before it is moved to its place."""
    return target.with_name(f"{target.name}.{os.getpid()}{PART}")


def reason(error: OSError) -> str:
    """Say why a file could not be written, and what to do, if that is known."""
    said = error.strerror or str(error) or type(error).__name__
    return f"{said}: free some space or give another place" if _full(error) else said


def _full(error: OSError) -> bool:
    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
