"""`make test-wheel` finds Pythons that start, tries every extra, and says what failed.

What it finds out about the wheel takes minutes; here are the parts that decide what is tried.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import ClassVar

import pytest

from tests.pages import ROOT
from tests.release import __main__ as program
from tests.release.checks.alone import lacks_by, package_of
from tests.release.environments import LOWEST, Environment, FailedError
from tests.release.extras import Requirement, numbers, users_extras
from tests.release.kit import CHECKS, write_kit
from tests.release.pythons import Python, asked, found

HERE = Python(sys.executable, "3.11.0", "3.11")


def test_a_command_that_does_not_start_is_no_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "python3.98"
    broken.write_text("#!/bin/sh\nexit 127\n")
    broken.chmod(0o755)
    works = tmp_path / "python3.99"
    works.symlink_to(sys.executable)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert asked("python3.98") is None
    assert asked("python3.97") is None
    assert found([]) == []
    (python,) = found(["3.99"])
    assert python.minor == ".".join(map(str, sys.version_info[:2]))
    with pytest.raises(SystemExit, match=r"3\.98 does not start: give commands"):
        found(["3.98"])


def test_every_check_is_of_an_extra() -> None:
    names = {path.stem for path in CHECKS.glob("*.py")} - {"__init__", "alone", "bare"}
    assert names <= set(users_extras())
    assert {*program.USED_WITH, *program.WITH_STORE} <= names
    for name in (*names, "alone", "bare"):
        assert callable(import_module(f"tests.release.checks.{name}").main)


def test_the_kit_has_the_pages_and_nothing_of_the_package(tmp_path: Path) -> None:
    write_kit(tmp_path)
    assert (tmp_path / "docs" / "tutorial.md").read_text() == (
        ROOT / "docs" / "tutorial.md"
    ).read_text()
    assert not list(tmp_path.rglob("handful"))
    assert {path.name for path in tmp_path.iterdir()} == {
        "README.md", "docs", "pyproject.toml", "tests",
    }  # fmt: skip


def test_a_module_that_fails_for_another_reason_than_a_missing_package_is_noticed() -> None:
    assert lacks_by("handful.errors") is None
    missing = ImportError("x needs wibble, which is not installed: pip install 'handful[sim]'")
    assert package_of("x", missing) == "wibble"
    assert package_of("x", ImportError(name="wobble.inner")) == "wobble"
    for wrong in (ImportError(name="json"), ImportError(name="handful.gone"), ImportError("odd")):
        with pytest.raises(AssertionError):
            package_of("x", wrong)


def test_other_versions_than_the_lowest_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = object.__new__(Environment)
    environment.lowest = True
    monkeypatch.setattr(Environment, "versions", lambda _: {"numpy": "2.0.0", "click": "8.3"})
    environment.check_versions([Requirement("numpy", "2.0")])
    with pytest.raises(FailedError, match=r"click 8\.3 was installed, and 8\.2 is declared"):
        environment.check_versions([Requirement("click", "8.2")])
    with pytest.raises(FailedError, match="scipy is declared and was not installed"):
        environment.check_versions([Requirement("scipy", "1.13")])
    assert numbers("2.0") == numbers("2.0.0") != numbers("2.1")


def test_an_extra_has_the_lowest_versions_that_it_works_with(tmp_path: Path) -> None:
    environment = object.__new__(Environment)
    environment.folder = tmp_path
    lines = LOWEST.read_text().splitlines()
    assert environment.constraints(["sim", "pandas"]).read_text().splitlines() == lines
    for_river = environment.constraints(["river"]).read_text().splitlines()
    changed = {(old, new) for old, new in zip(lines, for_river, strict=True) if old != new}
    assert changed == {("pandas==2.2.2", "pandas==2.2.3"), ("scipy==1.13.0", "scipy==1.14.1")}


class Pretended:
    """An environment in which nothing is installed, and the check of one extra fails."""

    installed: ClassVar[list[list[str]]] = []

    def __init__(self, python: Python, folder: Path, kernels: Path, lowest: bool) -> None:
        folder.mkdir()

    def install(self, what: Path, extras: Iterable[str]) -> None:
        self.installed.append([what.suffix, *extras])

    def check_versions(self, needs: Iterable[Requirement]) -> None:
        pass

    def check(self, kit: Path, name: str, *words: str) -> str:
        if name == "pandas":
            raise FailedError("frames differ")
        return "fine"


def test_every_extra_is_tried_and_a_failure_is_the_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("handful-1.whl", "handful-1.tar.gz"):
        (tmp_path / name).touch()
    monkeypatch.setattr(program, "Environment", Pretended)
    monkeypatch.setattr(program, "found", lambda _: [HERE])
    monkeypatch.setattr(program, "WITH_STORE", set())
    monkeypatch.setattr(Pretended, "installed", [])
    command = ["tests.release", "--dist", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", command)
    assert program.main() == 1
    shown, errors = capsys.readouterr()
    tried = ["bare", "sdist", *users_extras()]
    assert [line.split()[2] for line in shown.splitlines()[1:] if line.startswith("3.11.0")] == [
        *tried, *tried,
    ]  # fmt: skip
    assert shown.count("FAILED") == 2
    assert errors == "frames differ\n" * 2
    assert "2 failed: pandas on 3.11.0, pandas on 3.11.0" in shown
    assert "not tried: Python 3.12, 3.13, 3.14" in shown
    assert [".whl", "cluster"] in Pretended.installed
    assert [".whl", "cluster", "sim"] in Pretended.installed
    monkeypatch.setattr(sys, "argv", [*command, "--newest", "--extra", "sim"])
    assert program.main() == 0
