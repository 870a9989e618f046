from __future__ import annotations

import io
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from handful.errors import SettingError
from handful.simulation import simulate


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def run(progress: Any) -> None:
    simulate("ucb-m", "power:100:0.3", memory=2, horizon=3000, runs=3, engine="python",
             progress=progress)  # fmt: skip


def test_true_shows_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    run(True)
    assert "UCB-M on power:100:0.3" in screen.getvalue()
    assert "100%" in screen.getvalue()


@pytest.mark.parametrize("progress", [None, False])
def test_nothing_is_shown_unless_asked(
    monkeypatch: pytest.MonkeyPatch, progress: bool | None
) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    run(progress)
    assert screen.getvalue() == ""


def test_true_shows_nothing_in_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    run(True)
    assert capsys.readouterr() == ("", "")


def test_true_updates_the_cell_of_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    def display(html: str, display_id: bool) -> Any:
        assert display_id
        shown.append(html)
        return SimpleNamespace(update=shown.append)

    ipython: Any = ModuleType("IPython")
    ipython.get_ipython = lambda: SimpleNamespace(kernel=object())
    displays: Any = ModuleType("IPython.display")
    displays.HTML, displays.display = str, display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", displays)
    run(True)
    assert shown[0].endswith("0% UCB-M on power:100:0.3")
    assert shown[-1].endswith("100% UCB-M on power:100:0.3")
    assert 'max="9000" value="9000"' in shown[-1]


def test_a_function_is_called_with_the_pulls() -> None:
    seen: list[int] = []
    run(seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 9000


def test_what_is_neither_is_refused() -> None:
    with pytest.raises(SettingError, match="progress='yes': give True for a bar"):
        run("yes")
