"""The example of a newsletter, with few readers: it learns, and goes on where it was."""

from __future__ import annotations

import re
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from handful import Fleet
from tests.pages import ROOT


def example() -> Any:
    return run_path(str(ROOT / "examples" / "newsletter.py"))["main"]


def test_readers_open_more_and_more(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        example()(tmp_path / "readers.fleet", readers=1000, days=250)
    printed = capsys.readouterr().out
    opened = [float(share) for share in re.findall(r"(\d+\.\d)% opened", printed)]
    assert len(opened) == 499  # the opens of the last day are not known yet
    assert "day 499: " in printed
    # 25,000 mails each: the standard error of a mean is below 0.3 points.
    assert sum(opened[-250:]) / 250 > sum(opened[:249]) / 249 + 5
    assert "1,000 of 1,000 members have begun" in printed
    assert "50,000 decisions, 49,900 rewards, 100 in flight" in printed


@pytest.mark.parametrize("readers", [1, 9, 25])
def test_few_readers(readers: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example()(tmp_path / "readers.fleet", readers=readers, days=3)
    assert f"{3 * max(1, readers // 10)} decisions" in capsys.readouterr().out


def test_a_day_that_was_not_saved_is_made_again(tmp_path: Path) -> None:
    """Stopped at the worst moments: the result is that of one run without a stop."""
    main, save = example(), Fleet.save
    main(tmp_path / "one.fleet", readers=100, days=6)
    for after in range(6):
        saves = iter(range(100))

        def stopping(self: Fleet, path: Any = None, after: int = after, saves: Any = saves) -> None:
            if path is None and next(saves) == after:
                raise KeyboardInterrupt
            save(self, path)

        folder = tmp_path / f"{after}.fleet"
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(Fleet, "save", stopping)
            with pytest.raises(KeyboardInterrupt):
                main(folder, readers=100, days=6)
        main(folder, readers=100, days=6 - after)
        with (
            Fleet.open(folder, [f"subject line {i}" for i in range(1, 13)]) as found,
            Fleet.open(tmp_path / "one.fleet", found.arms) as wanted,
        ):
            assert all(found[i].to_bytes() == wanted[i].to_bytes() for i in range(100))
