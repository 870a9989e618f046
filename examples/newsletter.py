"""A newsletter with a bandit for each reader: a million readers, and rewards a day late.

Each morning a tenth of the readers get the newsletter, each with the subject line that their own
bandit chooses. Whoever opens it does so during the day; in the evening, the opens of the day are
taken in, as rewards of the decisions of the morning. A reader's taste is one of four.

    python examples/newsletter.py --folder readers.fleet

The fleet is saved after every day, so the program can be stopped at any time and goes on with the
day after the last one that it saved.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from handful import Fleet

LINES = [f"subject line {i}" for i in range(1, 13)]
TASTES = 4


def rates() -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """How often readers of each taste open each subject line."""
    rng = np.random.default_rng(1)
    found = rng.uniform(0.02, 0.3, (TASTES, len(LINES)))
    found[np.arange(TASTES), rng.permutation(len(LINES))[:TASTES]] = 0.6
    return found


def main(folder: Path, readers: int, days: int) -> None:
    if folder.exists():
        fleet = Fleet.open(folder, LINES)
    else:
        fleet = Fleet("race", readers, LINES, memory=2, seed=7)
        fleet.save(folder)
    opens = rates()
    taste = np.arange(len(fleet)) % TASTES
    first = fleet.totals().decisions // (readers // 10)
    for day in range(first, first + days):
        rng = np.random.default_rng(day)
        morning = rng.choice(len(fleet), readers // 10, replace=False)
        lines, tickets = fleet.decide(morning, labels=False)
        opened = rng.random(len(morning)) < opens[taste[morning], lines]
        evening = rng.permutation(len(morning))
        fleet.reward(morning[evening], tickets[evening], opened[evening])
        fleet.save()
        print(
            f"day {day + 1}: {opened.mean():.1%} opened; at random it would be {opens.mean():.1%}"
        )
    print(fleet)
    fleet.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=Path("readers.fleet"))
    parser.add_argument("--readers", type=int, default=1_000_000)
    parser.add_argument("--days", type=int, default=20)
    given = parser.parse_args()
    main(given.folder, given.readers, given.days)
