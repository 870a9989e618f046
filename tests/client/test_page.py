"""docs/client.md stays true: its Python runs against the service, and prints what it shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from handful.client import FALLBACK_ID, Limits
from handful.client.calls import BATCH
from tests.client.serving import served
from tests.client.test_javascript import MODULE
from tests.pages import ROOT, blocks, install_lines, printed_by

PAGE = (ROOT / "docs" / "client.md").read_text()
SHOWN = "http://127.0.0.1:8000"


def test_the_page_does_what_it_shows(tmp_path: Path) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    found = blocks(PAGE, "python")
    assert len(found) >= 7
    with served(tmp_path) as url:
        try:
            for block in blocks(PAGE.replace(SHOWN, url), "python"):
                printed = printed_by(block, names, f"docs/client.md:{block.line}")
                assert block.shows(printed), f"docs/client.md:{block.line} prints:\n{printed}"
        finally:
            names["client"].close()


def test_the_page_gives_the_limits_that_there_are() -> None:
    limits = Limits()
    assert f"{limits.attempts} attempts at most" in PAGE
    assert f"{limits.first_wait:g} s, doubled up to {limits.longest_wait:g} s" in PAGE
    assert f"{limits.timeout:g} s for an attempt (`timeout`), {limits.total:g} s for a call" in PAGE
    assert f"{limits.failures} failed attempts in a row, {limits.pause:g} s" in PAGE
    assert f"at most {BATCH:,} in one request" in PAGE
    assert f"the word `{FALLBACK_ID}`" in PAGE


def test_the_page_installs_what_there_is() -> None:
    (block,) = blocks(PAGE, "console")
    assert set(block.commands) <= install_lines()


def test_javascript_has_the_same_limits_in_milliseconds() -> None:
    source = MODULE.read_text()
    limits = Limits()
    for name, value in {
        "timeout": 1000 * limits.timeout, "total": 1000 * limits.total,
        "attempts": limits.attempts, "firstWait": 1000 * limits.first_wait,
        "longestWait": 1000 * limits.longest_wait, "failures": limits.failures,
        "pause": 1000 * limits.pause,
    }.items():  # fmt: skip
        assert f"\n  {name}: {value:g}," in source
    assert f"const BATCH = {BATCH};" in source
    assert f'FALLBACK_ID = "{FALLBACK_ID}"' in source
