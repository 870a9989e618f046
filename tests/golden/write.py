"""Write the golden files of the current format: `python -m tests.golden.write`.

Each is a policy after 137 decisions with three open ones, saved, and what it does next. They are
written once for each version of the format and never again: a state that was saved by a release
must be restored by all later ones. Files that are there already are not touched.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import handful
from handful import Policy
from handful.core.envelope import VERSION
from handful.errors import SettingError
from handful.testing import Make
from handful.testing.policies import reward_from

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


def main() -> None:
    """Write the states of policies that have none of the current format yet."""
    folder = FOLDER / f"format-{VERSION}"
    folder.mkdir(exist_ok=True)
    index = folder / "next.json"
    expected: dict[str, Any] = json.loads(index.read_text("utf-8")) if index.exists() else {}
    missing = sorted(set(handful.POLICIES) - set(expected))
    if not missing:
        raise SettingError(
            f"{index} has every policy: states of format {VERSION} are fixed; a change of the "
            "record needs a new VERSION in core/envelope.py, which reads the old one too"
        )
    for name in missing:
        policy, tickets = saved_policy(name)
        (folder / f"{name}.bin").write_bytes(policy.to_bytes())
        expected[name] = {"tickets": tickets, **what_follows(policy, tickets)}
    ordered = {name: expected[name] for name in sorted(expected)}
    index.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
