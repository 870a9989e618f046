"""A newsletter with a bandit for each reader: a million readers, and rewards a day late.

Each morning, the opens of yesterday's newsletter are taken in as rewards. Then a tenth of the
readers get today's, each with the subject line that their own bandit chooses. Whether they open it
is known tomorrow. A reader's taste is one of four.

    python examples/newsletter.py --folder readers.fleet

What was sent is written to a file beside the fleet, with the tickets, until its opens are known.
The fleet is saved after that, so the program can be stopped at any time: it goes on with the day
after the last one that it saved, and makes the decisions of a day that it did not save again.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from handful import Fleet

LINES = [f"subject line {i}" for i in range(1, 13)]
TASTES = 4


class Sent(NamedTuple):
    """The newsletter of a day: who got it, with which subject line, and the tickets."""

    readers: NDArray[np.int64]
    lines: NDArray[np.int64]
    tickets: NDArray[np.int64]


def rates() -> NDArray[np.float64]:
    """How often readers of each taste open each subject line."""
    rng = np.random.default_rng(1)
    found = rng.uniform(0.02, 0.3, (TASTES, len(LINES)))
    found[np.arange(TASTES), rng.permutation(len(LINES))[:TASTES]] = 0.6
    return found


def outbox(folder: Path, day: int) -> Path:
    return folder.with_name(f"{folder.name}.day-{day}.npz")


def write(path: Path, sent: Sent) -> None:
    with path.open("wb") as file:
        np.savez(file, **sent._asdict())
        file.flush()
        os.fsync(file.fileno())  # before the fleet is saved


def read(path: Path) -> Sent:
    with np.load(path) as found:
        return Sent(*(found[name] for name in Sent._fields))


def opened(sent: Sent, day: int) -> NDArray[np.bool_]:
    """Who has opened the newsletter of a day: a mail system would report it during the day."""
    rng = np.random.default_rng([day, 1])
    return rng.random(len(sent.readers)) < rates()[sent.readers % TASTES, sent.lines]


def main(folder: Path, readers: int, days: int) -> None:
    if folder.exists():
        fleet = Fleet.open(folder, LINES)
    else:
        fleet = Fleet("race", readers, LINES, memory=2, seed=7)
        fleet.save(folder)
    mails = max(1, len(fleet) // 10)
    first = fleet.totals().decisions // mails
    for day in range(first, first + days):
        if day > 0:
            yesterday = read(outbox(folder, day - 1))
            opens = opened(yesterday, day - 1)
            order = np.random.default_rng([day, 2]).permutation(mails)  # reports come in any order
            fleet.reward(yesterday.readers[order], yesterday.tickets[order], opens[order])
            print(
                f"day {day}: {opens.mean():.1%} opened; at random it would be {rates().mean():.1%}"
            )
        morning = np.random.default_rng([day, 0]).choice(len(fleet), mails, replace=False)
        write(outbox(folder, day), Sent(morning, *fleet.decide(morning, labels=False)))
        fleet.save()
        outbox(folder, day - 1).unlink(missing_ok=True)
    print(fleet)
    fleet.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=Path("readers.fleet"))
    parser.add_argument("--readers", type=int, default=1_000_000)
    parser.add_argument("--days", type=int, default=20)
    given = parser.parse_args()
    main(given.folder, given.readers, given.days)
