"""Write the golden state of `Step`: `python -m tests.adapters.golden.write`.

`step-1.bin` is a state whose arms have changed, with open decisions; `step-1.json` has what came
next. They are written once for each version of the format and never again.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import handful
from handful.adapters.streaming import FORMAT, Add, Decide, Remove, Reward, Step
from tests.golden import digests

STATE = Path(__file__).parent / f"step-{FORMAT}.bin"
NEXT = STATE.with_suffix(".json")
STEP = Step(["red", "green", "blue", 4, 5.5], memory=3, seed=17)


def saved() -> tuple[bytes, list[int]]:
    """Return a state after 60 decisions, and the tickets of those that are open."""
    rng = random.Random(1)
    state, _ = STEP(None, Decide(key="golden"))
    state, _ = STEP(state, Add(["white", 7, "é"]))
    state, _ = STEP(state, Remove(["green", 4]))
    waiting: list[int] = []
    for _ in range(60):
        state, made = STEP(state, Decide())
        assert isinstance(made, handful.Decision)
        waiting.append(made.ticket)
        if len(waiting) > 3:
            state, _ = STEP(state, Reward(waiting.pop(0), rng.random()))
    return state, waiting


def what_follows(state: bytes, tickets: list[int]) -> dict[str, Any]:
    """Return the arms, what becomes of the open rewards, and the next choices."""
    arms, receipts, choices = STEP.policy(state).arms, [], []
    for ticket in reversed(tickets):
        state, receipt = STEP(state, Reward(ticket, 0.5))
        receipts.append(str(receipt))
    for number in range(20):
        state, made = STEP(state, Decide())
        assert isinstance(made, handful.Decision)
        state, _ = STEP(state, Reward(made.ticket, number % 3 / 2))
        choices.append(made.arm)
    return {"arms": arms, "receipts": receipts, "choices": choices}


def main() -> None:
    """Write the files, unless they are there."""
    if STATE.exists():
        print(f"{STATE.name} is there already")
        return
    state, tickets = saved()
    STATE.write_bytes(state)
    NEXT.write_text(json.dumps({"tickets": tickets, **what_follows(state, tickets)}) + "\n")
    digests.main()


if __name__ == "__main__":
    main()
