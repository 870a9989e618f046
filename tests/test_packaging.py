"""What is built, declared and listed: the sdist, the wheel, versions, workflows, test markers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

import handful
from tests.pages import ROOT
from tests.release.date import epoch
from tests.release.extras import DEVELOPMENT, Requirement, extras, normal, numbers, users_extras
from tests.selection import LISTED, REPRESENTED

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
FOLDERS = [".ci", ".github", "benchmarks", "docs", "examples", "src", "stubs", "tests", "website"]
"""Every file in them is part of the sdist, and so is every file at the root."""


def run(*command: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, capture_output=True, text=True, cwd=folder, check=False,
        env={**os.environ, **environment},
    )  # fmt: skip


EPOCH = 1_700_000_000
"""When the builds of these tests are said to have been made."""


def build(root: Path, out: Path, **environment: str) -> None:
    """Build the sdist, and from it the wheel, of a tree, as `make dist` does."""
    command = (sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out))
    given = {"SOURCE_DATE_EPOCH": str(EPOCH), **environment}
    made = run(*command, folder=root, **given)
    assert made.returncode == 0, made.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, unpacked, and the wheel that is built from it, unpacked."""
    folder = tmp_path_factory.mktemp("dist")
    build(ROOT, folder)
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        archive.extractall(folder, filter="data")
    next(folder.glob("handful-*/")).rename(folder / "sdist")
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        wheel.extractall(folder / "wheel")
    return folder


in_one_worker = pytest.mark.xdist_group("built")  # it is built once


def files_in(folder: Path) -> set[str]:
    """The paths of all files in a folder, without those that running it leaves behind."""
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and not {"__pycache__", ".hypothesis"} & set(path.parts)
    }


@in_one_worker
def test_the_sdist_is_the_source_tree(built: Path) -> None:
    inside = files_in(built / "sdist")
    for name in FOLDERS:
        missing = {f"{name}/{file}" for file in files_in(ROOT / name)} - inside
        assert not missing, missing
    needed = {
        "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md",
        "RELEASING.md", "SECURITY.md", "constraints-lowest.txt", "constraints.txt",
        "pyproject.toml", ".gitignore", ".pre-commit-config.yaml",
    }  # fmt: skip
    assert needed <= inside
    expected = {*FOLDERS, *needed, "PKG-INFO"}
    assert {path.partition("/")[0] for path in inside} == expected


@in_one_worker
def test_the_tests_of_the_sdist_can_be_collected(built: Path) -> None:
    listed = run(
        sys.executable, "-m", "pytest", "--collect-only", "-qq", "-p", "no:cacheprovider",
        folder=built / "sdist", PYTHONPATH=str(built / "sdist" / "src"),
    )  # fmt: skip
    assert listed.returncode == 0, listed.stdout[-2000:]


@in_one_worker
def test_the_wheel_is_the_package_alone(built: Path) -> None:
    inside = files_in(built / "wheel")
    package = {path for path in inside if path.startswith("handful/")}
    assert package == {f"handful/{file}" for file in files_in(ROOT / "src" / "handful")}
    info = f"handful-{handful.__version__}.dist-info/"
    assert all(path.startswith(info) for path in inside - package)
    assert f"{info}licenses/LICENSE" in inside


@in_one_worker
def test_another_build_is_equal_byte_for_byte(built: Path, tmp_path: Path) -> None:
    """From the unpacked sdist: another folder, other modes and times of files, another locale."""
    tree, out = tmp_path / "elsewhere", tmp_path / "out"
    shutil.copytree(built / "sdist", tree)
    for place, path in enumerate(sorted(tree.rglob("*"))):
        may_run = path.is_dir() or path.stat().st_mode & 0o100
        path.chmod(0o700 if may_run else 0o600)
        os.utime(path, (1_600_000_000 + place, 1_600_000_000 + place))
    before = os.umask(0o077)
    try:
        build(tree, out, LC_ALL="C", TZ="Pacific/Kiritimati", PYTHONHASHSEED="7")
    finally:
        os.umask(before)
    for first in (*built.glob("*.tar.gz"), *built.glob("*.whl")):
        assert (out / first.name).read_bytes() == first.read_bytes(), first.name


@in_one_worker
def test_files_of_the_sdist_have_the_time_of_the_build(built: Path) -> None:
    """So an unpacked sdist says which time its wheel must have."""
    assert epoch(built / "sdist") == EPOCH


def test_a_checkout_has_the_time_of_its_last_commit(tmp_path: Path) -> None:
    if not (ROOT / "PKG-INFO").exists() and (ROOT / ".git").exists():
        last = run("git", "log", "-1", "--format=%ct", folder=ROOT)
        assert epoch(ROOT) == int(last.stdout)
    with pytest.raises(SystemExit, match="SOURCE_DATE_EPOCH"):
        epoch(tmp_path)


@in_one_worker
def test_the_bench_of_a_wheel_says_what_to_do(built: Path, tmp_path: Path) -> None:
    program = "from handful.cli import main; main()"
    wheel = str(built / "wheel")
    ran = run(sys.executable, "-c", program, "bench", folder=tmp_path, PYTHONPATH=wheel)
    assert ran.returncode == 2, ran.stderr
    assert "clone the repository and run `make bench`" in " ".join(ran.stderr.split())
    assert not list(tmp_path.iterdir())
    shown = run(sys.executable, "-c", program, "bench", "--help", folder=tmp_path, PYTHONPATH=wheel)
    assert shown.returncode == 0, shown.stderr


def pins(name: str) -> dict[str, str]:
    """The versions of a constraints file by the names of packages."""
    lines = [line.partition("#")[0].strip() for line in (ROOT / name).read_text().splitlines()]
    return {
        normal(package): version
        for package, _, version in (line.partition("==") for line in lines if line)
    }


def declared(among: dict[str, list[Requirement]]) -> dict[str, str]:
    """The lowest versions that extras of pyproject.toml declare."""
    return {need.package: need.lowest for needs in among.values() for need in needs}


def test_the_lowest_versions_tested_are_those_declared() -> None:
    lowest = pins("constraints-lowest.txt")
    for name, version in declared(users_extras()).items():
        assert numbers(lowest[name]) == numbers(version), name


def test_every_package_declared_has_a_tested_version() -> None:
    tested = pins("constraints.txt")
    among = {name: needs for name, needs in extras().items() if name != "fuzz"}
    for name, version in declared(among).items():
        assert numbers(tested[name]) >= numbers(version), name


def test_extras_are_told_apart() -> None:
    assert DEVELOPMENT - {"docs"} <= set(extras())
    assert {"sim", "serve", "all"} <= set(users_extras())
    assert Requirement("psycopg", "3.2.1") in users_extras()["postgres"]
    assert set(users_extras()["sim"]) < set(users_extras()["all"])


def test_every_python_is_declared_and_in_the_workflows() -> None:
    prefix = "Programming Language :: Python :: "
    classified = [line.removeprefix(prefix) for line in PROJECT["project"]["classifiers"]]
    assert [version for version in classified if version.startswith("3.")] == PYTHONS
    assert PROJECT["project"]["requires-python"] == f">={PYTHONS[0]}"
    for name, count in (("test.yml", 2), ("release.yml", 1)):
        workflow = (ROOT / ".github" / "workflows" / name).read_text()
        matrices = re.findall(r"python: \[(.*)\]", workflow)
        assert [re.findall(r'"(.*?)"', matrix) for matrix in matrices] == [PYTHONS] * count


def test_the_citation_and_the_changelog_have_the_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {handful.__version__}\n" in citation
    date = re.search(r"^date-released: (\d{4}-\d\d-\d\d)$", citation, re.M)
    first = re.search(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert date
    assert first
    assert first[1] in ("Unreleased", f"{handful.__version__} ({date[1]})")


def test_help_lists_every_target_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = re.findall(r"^([a-z][a-z-]*):", makefile, flags=re.MULTILINE)
    phony = re.search(r"^\.PHONY:((?:.*\\\n)*.*)$", makefile, flags=re.MULTILINE)
    assert phony
    assert sorted(phony[1].replace("\\", "").split()) == sorted(targets)
    shown = run("make", "--silent", "help", folder=ROOT).stdout
    assert sorted(re.findall(r"^make ([a-z-]+) ", shown, flags=re.MULTILINE)) == sorted(targets)


STARTS = [start for starts in (*LISTED.values(), *REPRESENTED.values()) for start in starts]


@pytest.mark.parametrize("start", STARTS, ids=str)
def test_a_listed_test_exists(start: str) -> None:
    file, _, name = start.partition("[")[0].partition("::")
    path = ROOT / file
    assert path.is_dir() if file.endswith("/") else path.is_file()
    if name:
        assert re.search(rf"^(def|class|Test\w+ =) ?{name}|^{name}\w* =", path.read_text(), re.M)


def test_cases_that_stand_for_others_exist(request: pytest.FixtureRequest) -> None:
    """Of those collected: with a single file, or a selection by name, there may be none."""
    chosen = [item.nodeid for item in request.session.items]
    if request.config.getoption("keyword"):
        return
    for represented in REPRESENTED.values():
        for start, kept in represented.items():
            cases = [id.partition("[")[2] for id in chosen if id.startswith(start)]
            for case in kept:
                assert not cases or any(one.startswith(case) for one in cases), (start, case)


def test_a_test_that_compiles_a_kernel_and_is_not_listed_fails(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    for name in ("__init__.py", "conftest.py", "selection.py"):
        (tmp_path / "tests" / name).write_text((ROOT / "tests" / name).read_text())
    code = "import numba\n\ndef test_it():\n    assert numba.njit(lambda x: x + 1)(1) == 2\n"
    (tmp_path / "tests" / "test_new.py").write_text(code)
    (tmp_path / "tests" / "simulation").mkdir()
    (tmp_path / "tests" / "simulation" / "test_new.py").write_text(code)
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    ran = run(
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests",
        folder=tmp_path,
    )  # fmt: skip
    assert "1 failed, 1 passed" in ran.stdout, ran.stdout
    assert "tests/test_new.py::test_it runs a compiled kernel: add it to 'compiles'" in ran.stdout
