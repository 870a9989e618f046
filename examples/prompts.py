"""Prompts from an endless generator: the service keeps statistics of eight, and finds a good one.

A generator writes prompts without end. Each is posted to the bandit as it is born. The service
tries one whenever its policy asks for a new arm, and forgets those that do badly. Tasks come in
batches; a task is answered with the prompt that was decided, graded, and rewarded with its grade.

    handful serve --store handful.db
    python examples/prompts.py --url http://127.0.0.1:8000

The world is simulated: a prompt's true quality depends on its words, and only the grader sees it.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator

from handful.client import Client

OPENINGS = ("Answer", "Think step by step, then answer", "Check twice, then answer", "Guess")
TONES = ("briefly", "in full sentences", "with an example", "with sources", "as a list")
ENDINGS = ("and stop.", "and say how sure you are.", "and name what is missing.")
HELP = {"Think": 0.25, "Check": 0.2, "Guess": -0.2, "example": 0.1, "sources": 0.05, "sure": 0.1}


def prompts(rng: random.Random) -> Iterator[str]:
    """Write prompts without end; the number keeps them apart."""
    number = 0
    while True:
        words = (rng.choice(OPENINGS), rng.choice(TONES), rng.choice(ENDINGS))
        yield f"{number}: {' '.join(words)}"
        number += 1


def quality(prompt: str) -> float:
    """The share of tasks that this prompt solves. A part of it is luck, the same every time."""
    luck = random.Random(prompt).uniform(-0.15, 0.15)
    return min(0.98, max(0.02, 0.4 + luck + sum(HELP[word] for word in HELP if word in prompt)))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--url", default="http://127.0.0.1:8000")
    parser.add_argument("--batches", type=int, default=150, help="of 20 tasks each")
    options = parser.parse_args()

    rng = random.Random(1)
    born = prompts(rng)
    known = [next(born) for _ in range(8)]
    name = f"prompts-{time.time_ns() // 10**6}"
    solved = 0
    with Client(options.url) as client:
        client.create_bandit(name, memory=8, arms=known, seed=1, open=True)
        for _ in range(options.batches):
            fresh = [next(born), next(born)]
            client.add_arms(name, fresh)
            known += fresh
            decisions = client.decide(name, 20)
            grades = [float(rng.random() < quality(decision.arm)) for decision in decisions]
            client.rewards(zip(decisions, grades, strict=True))
            solved += int(sum(grades))
        bandit = client.bandit(name)

    rate = solved / (20 * options.batches)
    average = sum(map(quality, known)) / len(known)
    print(f"{name}: {len(known)} prompts were born, {len(bandit.arms_in_memory)} are remembered")
    print(f"tasks solved: {rate:.0%}; with prompts at random it would be {average:.0%}")
    print(f"recommended (solves {quality(bandit.recommended or ''):.0%}): {bandit.recommended}")


if __name__ == "__main__":
    main()
