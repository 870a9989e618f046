"""The README stays true: its Python runs, its commands run, its targets and files exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import handful
from tests.pages import ROOT, Block, blocks, install_lines, run_command, run_python

README = (ROOT / "README.md").read_text()
COMMANDS = [line for block in blocks(README, "console") for line in block.commands]


@pytest.mark.parametrize("block", blocks(README, "python"), ids=lambda block: f"line-{block.line}")
def test_its_python_runs_and_prints_what_it_shows(block: Block, tmp_path: Path) -> None:
    printed = run_python(block.text, tmp_path)
    assert block.shows(printed), printed


def test_it_shows_what_its_first_example_prints() -> None:
    assert blocks(README, "python")[0].shown is not None


@pytest.mark.parametrize(
    "block",
    [b for b in blocks(README, "console") if re.match("handful (?!serve)", b.text)],
    ids=lambda block: f"line-{block.line}",
)
def test_its_handful_commands_run_one_after_the_other(block: Block, tmp_path: Path) -> None:
    for line in block.commands:
        assert run_command(line, tmp_path)


@pytest.mark.parametrize("line", [line for line in COMMANDS if line.startswith("make")])
def test_its_make_commands_exist(line: str) -> None:
    run_command(line.replace("make", "make -n", 1), ROOT)


def test_it_counts_the_policies_that_it_does_not_name() -> None:
    (sentence,) = re.findall(
        r"\*\*Policies for too many arms\.\*\*(.*?) other policies", README, re.S
    )
    named = {getattr(handful, word).name for word in re.findall(r"`(\w+)`", sentence)}
    assert named <= set(handful.POLICIES)
    more, than, tens = sentence.split()[-3:]
    assert (more, than) == ("more", "than")
    assert int(tens) < len(handful.POLICIES) - len(named) <= int(tens) + 10


def test_it_installs_what_there_is() -> None:
    lines = [line for line in COMMANDS if line.startswith("pip")]
    assert lines
    assert set(lines) <= install_lines()


def test_every_command_is_of_a_kind_that_is_checked() -> None:
    assert len(COMMANDS) >= 6
    kinds = [{line.split()[0] for line in b.commands} for b in blocks(README, "console")]
    # Those of the service are run in tests/service/test_guides.py.
    assert sorted(map(sorted, kinds)) == [["curl"], ["handful"], ["handful"], ["make"], ["pip"]]
