"""Write the golden files of the current format: `python -m tests.golden.write`.

Each policy has a state after 137 decisions with three open ones (`NAME.bin`), what it does next
(`next.json`), and the fields and settings that it saves (`layout.json`). They are written once for
each version of the format and never again: a state that was saved by a release must be restored by
all later ones. A policy that has a state already is not touched. Their digests are added to
`digests.json`.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import handful
from handful import Policy
from handful.core.envelope import VERSION
from handful.core.state import fields
from handful.errors import SettingError
from handful.testing import Make
from handful.testing.driving import reward_from
from tests.golden import digests

FOLDER = Path(__file__).parent
DECISIONS = 137
OPEN = (130, 133, 136)
"""Decisions whose reward has not come."""
NEXT = 20


def saved_policy(name: str) -> tuple[Policy, list[int]]:
    """Return a policy after 137 decisions and its open tickets."""
    policy = Make(handful.POLICIES[name])(seed=17)
    rng = random.Random(name)
    tickets = []
    for number in range(DECISIONS):
        if number in OPEN:
            tickets.append(policy.decide().ticket)
        else:
            policy.update(policy.select(), reward_from(rng))
    return policy, tickets


def what_follows(policy: Policy, tickets: list[int]) -> dict[str, Any]:
    """Return what becomes of the open rewards, the next choices, and the recommendation."""
    rng = random.Random(5)
    receipts = [str(policy.reward(ticket, 0.5)) for ticket in reversed(tickets)]
    choices = []
    for _ in range(NEXT):
        arm = policy.select()
        policy.update(arm, reward_from(rng))
        choices.append(arm)
    return {"receipts": receipts, "choices": choices, "recommended": policy.recommend()}


def layout_of(cls: type[Policy]) -> dict[str, str]:
    """Return the fields of a policy's record and its settings, in the order of saving.

    A field is name:type, with the code of `struct`; * means one for each slot, ! a slot's number,
    ~ a field of decisions in flight, + one for each entry of the history.
    """
    in_order = sorted(
        fields(cls.State).items(),
        key=lambda field: (field[1].of_history, field[1].of_flight, field[1].per_slot),
    )
    named = [
        f"{name}:{kind.length if kind.length > 1 else ''}{kind.code}"
        f"{'*' * kind.per_slot}{'!' * kind.is_slot}{'~' * kind.of_flight}"
        f"{'+' * kind.of_history}"
        for name, kind in in_order
    ]
    return {"fields": " ".join(named), "settings": " ".join(cls.settings)}


def main(parent: Path = FOLDER) -> None:
    """Write the files of policies that have no state of the current format yet."""
    folder = parent / f"format-{VERSION}"
    folder.mkdir(exist_ok=True)
    missing = [name for name in handful.POLICIES if not (folder / f"{name}.bin").exists()]
    if not missing:
        raise SettingError(
            f"{folder} has every policy: states of format {VERSION} are fixed; a change of the "
            "record needs a new VERSION in core/envelope.py, which reads the old one too"
        )
    expected, layouts = {}, {}
    for name in missing:
        policy, tickets = saved_policy(name)
        (folder / f"{name}.bin").write_bytes(policy.to_bytes())
        expected[name] = {"tickets": tickets, **what_follows(policy, tickets)}
        layouts[name] = layout_of(handful.POLICIES[name])
    _add(folder / "next.json", expected)
    _add(folder / "layout.json", layouts)


def _add(path: Path, entries: dict[str, Any]) -> None:
    """Add entries to a file of JSON, sorted by policy."""
    known = json.loads(path.read_text("utf-8")) if path.exists() else {}
    together = {**known, **entries}
    ordered = {name: together[name] for name in sorted(together)}
    path.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
    digests.main()
