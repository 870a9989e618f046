"""What a terminal shows: names as they are, though rich would read `:100:` as an emoji."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

import handful
from handful.cli import show
from tests.cli.test_cli import _read_until
from tests.cli.test_show import Terminal

PROGRAM = str(Path(sys.executable).parent / "handful")
WORLD = "power:100:0.3"
SOURCE = Path(handful.__file__).parent


def on_terminal(*words: str) -> str:
    """What a command writes to a terminal, without colours."""
    terminal, side = pty.openpty()
    process = subprocess.Popen(
        [PROGRAM, *words], stdin=side, stdout=side, stderr=side,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "200"},
    )  # fmt: skip
    os.close(side)
    seen = _read_until(terminal, None).decode()
    assert process.wait() == 0, seen
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", seen)


@pytest.mark.parametrize(
    "words",
    [
        ["run", "-p", "ucb-m", "-m", "2", "-i", WORLD, "-T", "2000", "-r", "3", "--engine",
         "python"],
        pytest.param(
            ["advise", "-k", "100", "-m", "2", "-i", WORLD, "-T", "500", "-r", "2"],
            marks=pytest.mark.long,  # compiles the kernels of all candidates
        ),
    ],
    ids=["run", "advise"],
)  # fmt: skip
def test_an_instance_is_not_an_emoji(words: list[str]) -> None:
    seen = on_terminal(*words)
    assert f"on {WORLD}" in seen or "Mpulls/s" in seen
    assert WORLD in seen
    assert "💯" not in seen


def test_headings_cells_and_progress_are_printed_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As `run`, `plot`, `policies`, `advise`, `paper` and `bench` print them."""
    odd = f"{WORLD} [bold]x[/bold] :smile:"
    for stream in ("stdout", "stderr"):
        screen = Terminal()
        with monkeypatch.context() as patched:
            patched.setattr(sys, stream, screen)
            patched.setenv("COLUMNS", "200")
            patched.setenv("TERM", "xterm")
            if stream == "stdout":
                show.table([odd, "regret", odd], [[odd, "1.0", odd]], left=1)
            else:
                with show.progress(10, odd) as report:
                    report(5, odd)
        text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue())
        assert text.count(odd) >= (4 if stream == "stdout" else 1)


def test_no_other_console_is_made() -> None:
    """Every way to a terminal is one of the two that were tried above and for `simulate`."""
    made = {
        str(file.relative_to(SOURCE))
        for file in SOURCE.rglob("*.py")
        if re.search(r"\bConsole\(|rich\.print|Text\.from_markup", file.read_text())
    }
    assert made == {"cli/show.py", "simulation/progress.py"}
    for name in made:
        text = (SOURCE / name).read_text()
        assert text.count("Console(") == text.count("emoji=False, markup=False")
        columns = re.findall(r"TextColumn\((.*)\)", text)
        assert columns
        assert all("markup=False" in column or "percentage" in column for column in columns)


def test_the_time_left_is_said_in_words_and_only_once_it_is_known() -> None:
    assert show.in_words(None) == ""
    assert show.in_words(0.2) == "about 1 s left"
    assert show.in_words(75.0) == "about 75 s left"
    assert show.in_words(600.0) == "about 10.0 min left"
    assert show.in_words(9000.0) == "about 2.5 h left"


def test_the_average_pace_starts_with_the_first_work() -> None:
    now = 0.0
    pace = show.Average(100.0, lambda: now)
    pace.update(0.0)
    now = 50.0  # kernels were compiled
    pace.update(10.0)
    assert pace.seconds() is None
    now = 60.0
    pace.update(20.0)
    assert pace.seconds() == pytest.approx(80.0)
    now = 70.0  # no report for a while: the estimate counts down
    assert pace.seconds() == pytest.approx(70.0)


def test_a_log_gets_lines_with_the_time_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 0.0
    monkeypatch.setattr("handful.cli.show.time.monotonic", lambda: now)
    with show.progress(100.0, "start", lines_every=30, left=lambda: 120.0) as report:
        for second in range(0, 100, 10):
            now = float(second)
            report(float(second), "cell")
    assert capsys.readouterr().err.splitlines() == [
        f" {share}%, about 2.0 min left: cell" for share in (30, 60, 90)
    ]
