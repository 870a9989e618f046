"""States saved by this release and by earlier ones are restored and go on as they did then."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

import handful
from handful.core.envelope import VERSION
from handful.core.state import fields
from handful.errors import SettingError
from handful.testing import Make
from handful.testing.make import mean_of
from tests.golden import write

FORMATS = sorted(write.FOLDER.glob("format-*"))
SAVED = [path for folder in FORMATS for path in sorted(folder.glob("*.bin"))]


def expected(path: Path) -> Any:
    return json.loads(path.with_name("next.json").read_text(encoding="utf-8"))[path.stem]


def test_every_policy_has_a_saved_state_of_the_current_format() -> None:
    current = write.FOLDER / f"format-{VERSION}"
    written = sorted(path.stem for path in current.glob("*.bin"))
    assert written == sorted(handful.POLICIES), "run `python -m tests.golden.write`"


@pytest.mark.parametrize("path", SAVED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_saved_state_goes_on_as_it_did(path: Path) -> None:
    make = Make(handful.POLICIES[path.stem])
    policy = handful.from_bytes(path.read_bytes(), arms=make.arms)
    policy.reveal(mean_of)
    wanted = expected(path)
    tickets = wanted.pop("tickets")
    assert policy.decisions == write.DECISIONS
    assert write.what_follows(policy, tickets) == wanted


@pytest.mark.parametrize("name", sorted(handful.POLICIES))
def test_a_policy_still_saves_the_same_fields(name: str) -> None:
    policy, _ = write.saved_policy(name)
    path = write.FOLDER / f"format-{VERSION}" / f"{name}.bin"
    golden = handful.from_bytes(path.read_bytes(), arms=Make(type(policy)).arms)
    assert len(policy.to_bytes()) == path.stat().st_size
    for field in fields(type(policy._state)):
        # Logarithms differ in their last bit between systems.
        found, wanted = getattr(policy._state, field), getattr(golden._state, field)
        assert found == pytest.approx(wanted, rel=1e-9), field


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_only_missing_golden_files_are_written(tmp_path: Path) -> None:
    folder = tmp_path / f"format-{VERSION}"
    copytree(write.FOLDER / folder.name, folder)
    with suppress(SettingError):
        write.main(tmp_path)  # a new policy gets its state in the copy, not in the source tree
    with pytest.raises(SettingError, match="new VERSION"):
        write.main(tmp_path)
    (folder / "random.bin").unlink()
    before = files_in(folder)
    write.main(tmp_path)
    after = files_in(folder)
    assert after.pop("random.bin") == (write.FOLDER / folder.name / "random.bin").read_bytes()
    assert after == before
