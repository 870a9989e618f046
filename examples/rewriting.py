"""Prompts that a language model rewrites: Race keeps eight, and asks for another when it wants one.

The proposer shows the model the prompts in memory with the share of tasks that each has solved, and
asks for a better one. Here a stand-in answers, which changes one part of a good prompt. A real call
goes where `ask_model` is.

    python examples/rewriting.py

A model that takes seconds would hold up decisions, since the proposer is called within one. With
`--ahead` prompts are therefore written in a thread of this program, two ahead of their use, and no
decision ever waits. A run in two halves, saved and restored between them, shows what to save.

The world is simulated: a prompt solves a share of the tasks that depends on its parts.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import handful
from handful import ArmStats

Memory = tuple[ArmStats, ...]

PARTS = (
    ("Answer", "Guess", "Think step by step, then answer", "Check twice, then answer"),
    ("briefly", "in full sentences", "with an example", "as a list", "with sources", "in rhyme"),
    ("for a beginner", "for an expert", "for a child", "for nobody in particular"),
    ("and stop.", "and say how sure you are.", "and name what is missing.", "and apologise."),
)
HELP = {
    "Think": 0.2, "Check": 0.15, "Guess": -0.2, "example": 0.15, "sources": 0.1, "rhyme": -0.15,
    "beginner": 0.05, "expert": 0.1, "sure": 0.1, "missing": 0.05, "apologise": -0.1,
}  # fmt: skip
FIRST = "Answer briefly for nobody in particular and stop."
AHEAD = 2
"""How many prompts are written ahead of their use."""
TASK = 0.0005
"""Seconds that a task takes, if prompts are written ahead."""


def quality(prompt: str) -> float:
    """Return the share of tasks that a prompt solves."""
    return min(0.95, max(0.05, 0.3 + sum(HELP[word] for word in HELP if word in prompt)))


def message(memory: Memory) -> str:
    """Return what the model is asked."""
    by_mean = sorted((arm for arm in memory if arm.pulls), key=lambda arm: arm.low, reverse=True)
    lines = [f"{arm.mean:.0%} of {arm.pulls} tasks: {arm.arm}" for arm in by_mean or memory]
    return "\n".join(
        ["These prompts solved these shares of their tasks. Write one that solves more.", *lines]
    )


class Model:
    """A stand-in for a language model: it changes a part or two of one of the best prompts."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)

    def ask_model(self, text: str) -> str:
        """Return the answer to a message: put the call of your model here."""
        prompts: list[str] = re.findall(r": (.*)$", text, flags=re.MULTILINE)
        prompt = prompts[min(len(prompts) - 1, self._rng.choice((0, 0, 0, 1)))]
        for _ in range(self._rng.choice((1, 2))):
            options = self._rng.choice(PARTS)
            present = max((part for part in options if part in prompt), key=len)
            prompt = prompt.replace(present, self._rng.choice(options))
        return prompt

    def __call__(self, memory: Memory) -> str:
        """Propose a prompt."""
        return self.ask_model(message(memory))


def blind(seed: int) -> Callable[[Memory], str]:
    """Return a proposer that does not look: prompts of random parts."""
    rng = random.Random(seed)
    return lambda memory: " ".join(rng.choice(options) for options in PARTS)


class Ahead:
    """Writes prompts in a thread of its own; decisions go on meanwhile."""

    def __init__(
        self, policy: handful.Policy, arms: handful.Proposed, propose: Callable[[Memory], str]
    ) -> None:
        self._policy, self._arms, self._propose = policy, arms, propose
        self._thread = ThreadPoolExecutor(1)
        self._asked: Future[str] | None = None

    def __call__(self) -> None:
        """Take in the prompt that has been written, if any, and ask for another one if needed."""
        if self._asked is not None and self._asked.done():
            prompt = self._asked.result()
            with self._policy.lock:  # no arm comes up between the look and the addition
                if prompt not in self._arms.labels:
                    self._policy.add_arms([prompt])
            self._asked = None
        if self._asked is None and self._arms.waiting < AHEAD:
            self._asked = self._thread.submit(self._propose, self._policy.stats().arms)

    def close(self) -> None:
        """Wait for the prompt that is being written, and let it go."""
        self._thread.shutdown()


def solve(
    policy: handful.Policy, tasks: int, rng: random.Random, refill: Ahead | None = None
) -> int:
    """Give tasks to the prompts that the policy chooses; return how many were solved."""
    solved = 0
    for _ in range(tasks):
        if refill is not None:
            refill()
        decision = policy.decide()
        if refill is not None:
            time.sleep(TASK)  # the task is solved meanwhile, and the thread can write
        grade = float(rng.random() < quality(decision.arm))
        policy.reward(decision.ticket, grade)
        solved += int(grade)
    return solved


def run(name: str, propose: Callable[[Memory], str], tasks: int, ahead: bool) -> None:
    """Solve tasks in two halves, with a save between them, and print what was reached."""
    inline = None if ahead else propose  # with None, prompts come by add_arms alone
    arms = handful.Proposed(inline, [FIRST])
    policy: handful.Policy = handful.Race(arms, memory=8, seed=1)
    rng = random.Random(1)
    solved = 0
    for half in (1, 2):
        refill = Ahead(policy, arms, propose) if ahead else None
        solved += solve(policy, tasks // 2, rng, refill)
        if refill is not None:
            refill.close()
        if half == 1:
            with policy.lock:
                labels, state = json.dumps(arms.labels), policy.to_bytes()
            arms = handful.Proposed(inline, json.loads(labels))
            policy = handful.from_bytes(state, arms=arms)
    best = policy.recommend()
    print(f"{name}: {solved / (tasks // 2 * 2):.0%} of the tasks solved")
    print(f"  recommended (solves {quality(best):.0%}): {best}")


def main() -> None:
    """Compare the model with prompts at random."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tasks", type=int, default=4000)
    parser.add_argument("--ahead", action="store_true", help="write prompts in a thread, ahead")
    options = parser.parse_args()
    run("prompts at random", blind(1), options.tasks, options.ahead)
    run("prompts that the model rewrites", Model(1), options.tasks, options.ahead)


if __name__ == "__main__":
    main()
