"""Peers without any of them: a tree with a driver of its own, and environments that fail."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from benchmarks import peers
from benchmarks.contest import OURS
from benchmarks.peers import Peer, PeerError
from benchmarks.suites import QUICK, Bench
from tests.pages import ROOT

DRIVER = """
from benchmarks.drivers.job import report
report("numpy", {"loop": lambda pulls: 0.9 * pulls}, {"core": lambda pulls: 0.8 * pulls})
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "benchmarks" / "drivers"
    folder.mkdir(parents=True)
    (tmp_path / "benchmarks" / "__init__.py").touch()
    for name in ("__init__.py", "job.py"):
        shutil.copy(ROOT / "benchmarks" / "drivers" / name, folder)
    (folder / "run_good.py").write_text(DRIVER)
    (folder / "run_idle.py").write_text(DRIVER.replace("0.8", "0.5"))
    (folder / "run_broken.py").write_text("import no_such_package")
    monkeypatch.setattr(peers, "ROOT", tmp_path)
    monkeypatch.setattr(peers, "installed", lambda peer, folder: Path(sys.executable))
    return tmp_path


def test_a_driver_tells_its_times_and_one_that_fails_is_reported(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("Good", "Idle", "Broken")
    monkeypatch.setattr(peers, "ALL", tuple(Peer(name, ("numpy",), 10**6) for name in names))
    bench = Bench(QUICK, lambda done, text: None)
    peers.run(bench)
    assert [(row.by.split()[0], row.how, row.documented) for row in bench.rows[1:]] == [
        ("Good", "loop", True),
        ("Good", "core", False),
    ]
    assert bench.rows[0].by == OURS
    assert bench.rows[1].pulls == 10**4
    idle, broken = bench.left_out
    assert idle == "Idle did not do the job: its core has a mean reward of 0.50"
    assert broken.startswith("Broken did not run: ModuleNotFoundError")


def test_a_package_that_cannot_be_installed_is_reported_with_the_line_that_says_why() -> None:
    code = "import sys; sys.exit('some lines\\nERROR: No matching distribution\\nhint: none')"
    with pytest.raises(PeerError, match="could not be installed: ERROR: No matching"):
        peers.output([sys.executable, "-c", code], "could not be installed")


def test_an_environment_is_made_once_and_again_when_it_should_hold_something_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []

    def output(command: list[str], failure: str) -> str:
        commands.append(command)
        tmp_path.joinpath("a").mkdir(exist_ok=True)
        return ""

    monkeypatch.setattr(peers, "output", output)
    for requirements in (("one",), ("one",), ("one", "two<3")):
        peers.installed(Peer("a", requirements, 1), tmp_path / "a")
    assert [command[-1] for command in commands if "pip" in command] == ["one", "two<3"]
    assert [command[2] for command in commands] == ["venv", "pip", "venv", "pip"]


def test_every_peer_has_a_driver() -> None:
    for peer in peers.ALL:
        assert (ROOT / "benchmarks" / "drivers" / f"run_{peer.name.lower()}.py").is_file()
