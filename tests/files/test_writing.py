"""Files are written completely or not at all, on full disks and in folders that refuse them."""

from __future__ import annotations

import errno
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from handful.errors import WriteError
from handful.files.writing import write_file
from handful.plots.style import figure, save
from handful.simulation import Result, simulate


def full(*_: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def small() -> Result:
    return simulate("ucb-m", "linear:5", memory=2, horizon=50, runs=2, engine="python")


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "x"
    write_file(path, b"first")
    write_file(path, b"second")
    assert path.read_bytes() == b"second"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["x.parquet", "x.csv", "x.png"])
def test_a_file_that_cannot_be_finished_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = tmp_path / name
    path.write_bytes(b"old")
    monkeypatch.setattr(Path, "replace", full)
    write: dict[str, Callable[[], None]] = {
        "x.parquet": lambda: small().to_parquet(path),
        "x.csv": lambda: small().to_csv(path),
        "x.png": lambda: save(figure(1, 1, 2, 2)[0], str(path)),
    }
    with pytest.raises(WriteError, match=r"x\..* cannot be written: No space .*free some space"):
        write[name]()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_half_a_file_is_removed_where_the_size_of_files_is_limited(tmp_path: Path) -> None:
    """The kernel itself refuses the write, as on a full disk, after a part was written."""
    code = (
        "import resource, sys\n"
        "from handful.errors import WriteError\n"
        "from handful.files.writing import write_file\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try: write_file(sys.argv[1], bytes(5000))\n"
        "except WriteError as error: print(error)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "x")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "File too large: free some space" in ran.stdout
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_writing_is_an_os_error_too(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        small().to_parquet(tmp_path / "none" / "x.parquet")
