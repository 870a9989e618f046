"""A lock is for one at a time, and free as soon as its holder lets go, is dropped or ends."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from handful.errors import StoreInUseError, StoreUnavailableError
from handful.files import lock
from handful.files.lock import Lock


def locked(path: Path) -> Lock:
    return Lock(path, "the thing", "the thing is in use")


def test_one_at_a_time(tmp_path: Path) -> None:
    held = locked(tmp_path / "lock")
    with pytest.raises(StoreInUseError, match="the thing is in use"):
        locked(tmp_path / "lock")
    assert held.is_held
    held.release()
    held.release()
    assert not held.is_held
    dropped = locked(tmp_path / "lock")
    del dropped
    locked(tmp_path / "lock").release()


def test_a_process_that_is_killed_has_it_no_more(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from handful.files.lock import Lock\n"
        "held = Lock(Path(sys.argv[1]), '', ''); print('locked', flush=True); time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "lock")], stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"locked\n"
        with pytest.raises(StoreInUseError):
            locked(tmp_path / "lock")
        other.kill()
        other.wait()
    locked(tmp_path / "lock").release()


def test_what_cannot_be_locked_is_not_said_to_be_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(StoreUnavailableError, match="the thing cannot be opened: No such file"):
        locked(tmp_path / "none" / "lock")

    def unsupported(*_: Any) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(lock, "_lock", unsupported)
    with pytest.raises(StoreUnavailableError, match="the thing cannot be locked: No locks"):
        locked(tmp_path / "lock")
