"""Cached kernels on disks that fail: damaged files are compiled again, full disks stop nothing."""

from __future__ import annotations

import errno
import os
import random
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from numba.core.caching import FunctionCache

from handful.compiling import cache, jit
from handful.compiling.jit import kernel

KIN = "test_damage"


def thrice(x: float) -> float:
    return 3.0 * x


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(jit, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(cache, "_warned", False)
    return tmp_path


def called() -> str:
    """Call a kernel as a new process would, and say where it came from."""
    compiled: Any = kernel(thrice, KIN)
    assert compiled(2.0) == 6.0
    hits, misses = (
        sum(n.values()) for n in (compiled.stats.cache_hits, compiled.stats.cache_misses)
    )
    assert hits + misses == 1
    return "cached" if hits else "compiled"


def files(folder: Path, suffix: str) -> list[Path]:
    return sorted(folder.rglob(f"*{suffix}"))


def test_a_cached_kernel_is_found_again(folder: Path) -> None:
    assert [called() for _ in range(3)] == ["compiled", "cached", "cached"]
    assert len(files(folder, ".nbi")) == len(files(folder, ".nbc")) == 1


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_a_flipped_bit_is_noticed_wherever_it_is(suffix: str, folder: Path) -> None:
    called()
    dice = random.Random(suffix)
    for _ in range(25):
        (file,) = files(folder, suffix)
        contents = bytearray(file.read_bytes())
        contents[dice.randrange(len(contents))] ^= 1 << dice.randrange(8)
        file.write_bytes(contents)
        assert called() == "compiled"
        assert called() == "cached"


def empty(file: Path) -> None:
    file.write_bytes(b"")


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def lengthen(file: Path) -> None:
    file.write_bytes(file.read_bytes() + b"\0")


def replace_by_a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", [empty, cut, lengthen, Path.unlink])
def test_a_file_that_is_not_what_was_saved_is_saved_again(
    suffix: str, damage: Callable[[Path], None], folder: Path
) -> None:
    called()
    damage(files(folder, suffix)[0])
    assert [called() for _ in range(2)] == ["compiled", "cached"]


def test_a_file_whose_saving_was_cut_short_is_saved_again(folder: Path) -> None:
    called()
    for marker in folder.rglob("*.nbc.*"):
        marker.unlink()
    assert [called() for _ in range(2)] == ["compiled", "cached"]


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_a_file_that_cannot_be_read_or_deleted_is_not_used(suffix: str, folder: Path) -> None:
    called()
    replace_by_a_folder(files(folder, suffix)[0])
    with pytest.warns(RuntimeWarning, match="cannot be cached"):
        assert called() == "compiled"
    assert called() == "compiled"


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS])
def test_a_kernel_that_cannot_be_saved_runs_and_it_is_said_once(
    code: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Any, sig: Any, data: Any) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(FunctionCache, "save_overload", fail)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert [called() for _ in range(3)] == ["compiled"] * 3
    assert len(said) == 1
    assert os.strerror(code) in str(said[0].message)
    assert "set HANDFUL_CACHE_DIR" in str(said[0].message)
    assert not files(folder, ".nbc")


def test_markers_without_room_leave_nothing_that_is_half_saved(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Path, *given: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as full:
        full.setattr(Path, "touch", fail)
        with pytest.warns(RuntimeWarning, match="No space left"):
            assert called() == "compiled"
    assert not files(folder, ".nbc")
    assert [called() for _ in range(2)] == ["compiled", "cached"]


ON_A_FULL_DISK = """
import resource, sys
limit = int(sys.argv[1])
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
import handful
for policy in ("robbins", "random"):
    result = handful.simulate(policy, "linear:10", horizon=500, runs=2, engine="compiled")
    print(result.settings["engine"], result.regret.per_run.tolist())
"""


def simulated(folder: Path, limit: int = 0) -> tuple[str, str]:
    ran = subprocess.run(
        [sys.executable, "-B", "-c", ON_A_FULL_DISK, str(limit)],
        env={**os.environ, "HANDFUL_CACHE_DIR": str(folder)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return ran.stdout, ran.stderr


def test_a_simulation_goes_on_where_files_cannot_grow(tmp_path: Path) -> None:
    out, said = simulated(tmp_path, limit=2000)
    assert said.count("cannot be cached in") == 1
    assert not files(tmp_path, ".nbc")
    assert out.count("compiled") == 2
    usual, nothing = simulated(tmp_path)
    assert (usual, nothing) == (out, "")
    assert len(files(tmp_path, ".nbc")) == 2


@pytest.mark.long
def test_a_simulation_survives_damaged_kernels(tmp_path: Path) -> None:
    usual, _ = simulated(tmp_path)
    dice = random.Random(6)
    for _ in range(12):
        file = dice.choice([*files(tmp_path, ".nbc"), *files(tmp_path, ".nbi")])
        contents = bytearray(file.read_bytes())
        for _ in range(dice.choice([1, 1, 1000])):
            contents[dice.randrange(len(contents))] ^= 1 << dice.randrange(8)
        file.write_bytes(contents)
        assert simulated(tmp_path) == (usual, "")
