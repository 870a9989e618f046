"""The pages under docs/ stay true: code runs, output is as shown, links and names exist."""

from __future__ import annotations

from pathlib import Path

import pytest
from click import Context

from handful import POLICIES
from tests.pages import (
    ROOT,
    blocks,
    headings,
    install_lines,
    links,
    run_page,
)

DOCS = ROOT / "docs"
RUN = (
    "tutorial.md",
    "recipes.md",
    "proposers.md",
    "data.md",
    "replay.md",
    "sweeps.md",
    "fleets.md",
    "sharded-fleets.md",
    "own-rule.md",
)
AT_ROOT = ("README.md", "CONTRIBUTING.md", "RELEASING.md", "SECURITY.md")
LINKED = (*sorted(DOCS.glob("*.md")), *(ROOT / name for name in AT_ROOT))


@pytest.mark.parametrize("page", RUN)
def test_a_page_does_what_it_shows(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    run_page(DOCS / page, tmp_path)


@pytest.mark.parametrize("page", RUN)
def test_a_page_gives_only_commands_that_are_checked(page: str) -> None:
    text = (DOCS / page).read_text()
    given = [line for block in blocks(text, "console") for line in block.commands]
    assert all(line.startswith("handful ") or line in install_lines() for line in given)
    assert {block.language for block in blocks(text, "", "sh", "bash", "shell", "py")} <= {""}


@pytest.mark.parametrize("page", LINKED, ids=lambda page: str(page.name))
def test_its_links_lead_somewhere(page: Path) -> None:
    for file, heading in links(page.read_text()):
        target = page.parent / file if file else page
        assert target.exists(), f"{page.name}: {file}"
        if heading:
            assert heading in headings(target.read_text()), f"{page.name}: {file}{heading}"


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_is_defined_on_the_page_of_mathematics(name: str) -> None:
    assert f"`{name}`" in (DOCS / "mathematics.md").read_text()


def test_the_commands_that_help_to_choose_are_understood() -> None:
    # tests/studies/test_advice.py and tests/studies/leaderboard run them small.
    from handful.cli.app import app

    given = [b.commands for b in blocks((DOCS / "choosing.md").read_text(), "console")]
    lines = [line.split("#")[0].split() for group in given for line in group]
    assert len(lines) == 3
    for _, name, *words in lines:
        found = app.get_command(Context(app), name)
        assert found is not None
        found.make_context(name, words)


def test_the_commands_that_reproduce_the_paper_are_understood() -> None:
    # Run whole they take an hour; tests/paper/test_report.py runs them small.
    from handful.cli.paper import command

    given = [b.commands for b in blocks((DOCS / "reproduce.md").read_text(), "console")]
    lines = [line.split() for group in given for line in group]
    assert len(lines) >= 6
    for words in lines:
        assert words[:2] in (["make", "paper"], ["handful", "paper"])
        if words[0] == "handful":
            command.make_context("paper", words[2:])


def test_every_picture_is_shown_on_a_page() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("benchmarks/*.md")]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    unshown = [
        path.name for path in ROOT.glob("docs/images/*.png") if f"images/{path.name})" not in text
    ]
    assert not unshown
