"""The example of a newsletter, with few readers: it learns, and goes on where it was."""

from __future__ import annotations

import re
from pathlib import Path
from runpy import run_path

import pytest

from tests.pages import ROOT


def test_readers_open_more_and_more(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main = run_path(str(ROOT / "examples" / "newsletter.py"))["main"]
    for _ in range(2):
        main(tmp_path / "readers.fleet", readers=1000, days=250)
    printed = capsys.readouterr().out
    opened = [float(share) for share in re.findall(r"(\d+\.\d)% opened", printed)]
    assert len(opened) == 500
    assert "day 500: " in printed
    # 25,000 mails each: the standard error of a mean is below 0.3 points.
    assert sum(opened[-250:]) / 250 > sum(opened[:250]) / 250 + 5
    assert "1,000 of 1,000 members have begun" in printed
