"""Tables on terminals of different width."""

from __future__ import annotations

import io
import re
import sys

import pytest

from handful.cli.show import table

HEADS = ["policy", "instance", "horizon", "regret(0.01)", "Mpulls/s", "engine"]
ROW = ["UCB-M (eta=0.2)", "power:10000:0.3:0.05", "1000000", "12345.6", "250.1", "compiled"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def drawn(width: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    table(HEADS, [ROW], left=2, spare=("Mpulls/s", "engine"))
    plain = re.sub(r"\x1b\[[0-9;]*m", "", screen.getvalue())
    assert all(len(line) <= width for line in plain.splitlines())
    return plain.splitlines()


@pytest.mark.parametrize("width", [52, 60, 70, 80, 120])
def test_no_number_is_cut_and_no_policy_left_out(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = " ".join(drawn(width, monkeypatch))
    for number in ("1000000", "12345.6"):
        assert number in text.split()
    assert "UCB-M" in text


def test_what_can_be_spared_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = "\n".join(drawn(120, monkeypatch))
    assert all(head in wide for head in HEADS)
    assert ROW[1] in wide
    narrow = "\n".join(drawn(66, monkeypatch))
    assert "Mpulls/s" not in narrow
    assert "compiled" in narrow
    assert "compiled" not in "\n".join(drawn(56, monkeypatch))
