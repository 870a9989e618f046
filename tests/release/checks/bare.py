"""No extra: the first example of the README, every policy, and what is said of what is missing."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

warnings.simplefilter("error")

import handful  # noqa: E402
from handful.errors import MissingExtraError  # noqa: E402
from tests.pages import ROOT, blocks, printed_by  # noqa: E402


def live(name: str) -> None:
    """Drive a policy through decisions, late rewards, and its bytes."""
    cls = handful.POLICIES[name]
    arms = str if cls.endless else ["a", "b", "c"][: cls.own_arms]
    memory = None if cls.own_memory or cls.unbounded else 2
    plan = {"horizon": 99} if "horizon" in cls.settings else {}
    policy = handful.policy(name, arms=arms, memory=memory, seed=1, **plan)
    policy.reveal(lambda arm: 0.5)
    waiting = [policy.decide().ticket for _ in range(9)]
    policy = handful.from_bytes(policy.to_bytes(), arms=arms)
    for ticket in reversed(waiting):
        policy.reward(ticket, 0.5)
    policy.recommend()


def refusal() -> str:
    """Return what the simulator says without its packages."""
    try:
        return f"there is {handful.simulate}"
    except MissingExtraError as error:
        return str(error)


def main() -> None:
    """Check this environment."""
    examples = [b for b in blocks((ROOT / "README.md").read_text("utf-8"), "python") if b.shown]
    shown = 0
    for block in examples[:2]:
        printed = printed_by(block, {"__name__": "__main__"}, f"README.md:{block.line}")
        assert block.shows(printed), printed
        shown += 1
    for name in handful.POLICIES:
        live(name)
    loaded = {name.partition(".")[0] for name in sys.modules} - set(sys.stdlib_module_names)
    loaded -= {"handful", "tests", "_distutils_hack", "__main__"}
    assert not loaded, f"loaded from elsewhere: {sorted(loaded)}"
    assert "pip install 'handful[sim]'" in refusal(), refusal()
    program = Path(sys.executable).with_name("handful")
    ran = subprocess.run([program, "run"], capture_output=True, text=True, check=False)
    assert ran.returncode == 1, ran
    assert "pip install 'handful[sim]'" in ran.stderr, ran
    print(f"{shown} examples of README.md, {len(handful.POLICIES)} policies")


if __name__ == "__main__":
    main()
