"""Write the golden folders of fleets: `python -m tests.fleet.golden.write`.

    numbers-1   numbered members, one of them with a wide row; the last save was cut off after its
                journal counted, so opening finishes it
    names-1     members with names, some of which came later
    shard-1     a shard that logs its calls, as a worker leaves it that was killed
    shards-1    the manifest of a sharded fleet

`next.json` has what each does next. A folder is written once for each version of its format and
never again: a fleet that was saved by a release must be opened by all later ones.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from handful import Fleet
from handful.fleet.saving import Folder
from handful.fleet.shards.manifest import Manifest, write_manifest
from handful.fleet.shards.messages import Fresh, Reply, Spec
from handful.fleet.shards.shard import Shard

FOLDER = Path(__file__).parent
NEXT = FOLDER / "next.json"
ARMS = [f"offer {i}" for i in range(6)]
SAME: dict[str, Any] = {"memory": 2, "seed": 7}
MEMBERS = 200
BUSY = 3
"""The member with a wide row: its counters have more than 16 bits."""
NAMES = ["ada", "grace", "alan"]
LATER = "kurt"
SHARD = range(100, 200)
MANIFEST = Manifest(2, 100, True)


class CutError(Exception):
    """Stands for the end of a process in the middle of a save."""


@contextmanager
def cut_off() -> Iterator[None]:
    """Let the process "end" after the journal of a save counts and before it is applied."""

    def cut(self: Folder) -> None:
        raise CutError

    applied = Folder._apply
    Folder._apply = cut  # type: ignore[method-assign]
    try:
        with suppress(CutError):
            yield
    finally:
        Folder._apply = applied  # type: ignore[method-assign]


def use(fleet: Fleet, ids: Any, seed: int) -> None:
    """Make decisions, and reward most of them."""
    rng = np.random.default_rng(seed)
    _, tickets = fleet.decide(ids)
    came = rng.random(len(ids)) < 0.8
    fleet.reward(np.asarray(ids)[came], tickets[came], rng.random(int(came.sum())))


def what_follows(fleet: Fleet, ids: Any) -> dict[str, Any]:
    """Return what a fleet knows of members, and their next decisions."""
    stats = fleet.stats(ids)
    arms, tickets = fleet.decide(ids)
    return {
        "decisions": stats.decisions.tolist(),
        "rewards": stats.rewards.tolist(),
        "arms": arms.tolist(),
        "tickets": [int(ticket) for ticket in tickets],
        "recommended": fleet.recommend(ids).tolist(),
    }


def opened(path: Path) -> Fleet:
    """Open a golden fleet."""
    return Fleet.open(path, ARMS, threads=1)


def numbers(path: Path) -> None:
    """Write the fleet of numbered members."""
    fleet = Fleet("ucb-m", MEMBERS, ARMS, threads=1, **SAME)
    use(fleet, list(range(0, MEMBERS, 2)) * 5, 1)
    use(fleet, [BUSY] * 70_000, 2)
    fleet.save(path)
    use(fleet, [0, BUSY, 5] * 9, 3)
    with cut_off():
        fleet.save()
    fleet.close()


def names(path: Path) -> None:
    """Write the fleet of members with names."""
    fleet = Fleet("ucb-m", NAMES, ARMS, threads=1, **SAME)
    use(fleet, NAMES * 9, 1)
    fleet.save(path)
    use(fleet, [LATER, NAMES[0]] * 4, 2)
    fleet.save()
    fleet.close()


def claimed(path: Path, term: int) -> tuple[Shard, Reply]:
    """Return a shard in a folder and what it says to being claimed; it is made if there is none."""
    model = Fleet("ucb-m", 1, ARMS, **SAME)._shared.model.to_bytes()
    shard = Shard()
    said = shard.claim(
        Spec(str(path), term, (ARMS,), None, 1, True, 0.2, Fresh(model, 16, 7, SHARD))
    )
    return shard, said


def call(shard: Shard, number: int) -> Reply:
    """Ask a shard for decisions of some members."""
    return shard.serve(number, number, "decide", (np.array([0, 99, 0, 40]),))


def shard(path: Path) -> None:
    """Write the folder of a shard: two calls before a save, two after it."""
    made, _ = claimed(path, 1)
    for number in (1, 2):
        call(made, number)
    made.read("save", ())
    for number in (3, 4):
        call(made, number)
    made.close()


def shard_follows(path: Path) -> dict[str, Any]:
    """Return what a shard says of the calls before, and the decisions of its next call."""
    opened, said = claimed(path, 2)
    slots, tickets = call(opened, said.number + 1).value
    opened.close()
    return {
        "served": said.number,
        "arms": slots.tolist(),
        "tickets": [int(ticket) for ticket in tickets],
    }


def shards(path: Path) -> None:
    """Write the folder of a sharded fleet, its manifest alone."""
    path.mkdir()
    write_manifest(path, MANIFEST)


MEMBERS_OF: dict[str, list[Any]] = {"numbers-1": [0, 1, BUSY, 5, 198], "names-1": [*NAMES, LATER]}
WRITERS = {"numbers-1": numbers, "names-1": names, "shard-1": shard, "shards-1": shards}


def main() -> None:
    """Write the folders that are not there, and what follows."""
    follows: dict[str, Any] = json.loads(NEXT.read_text()) if NEXT.exists() else {}
    for name, write in WRITERS.items():
        path = FOLDER / name
        if path.exists():
            print(f"{name} is there already")
            continue
        write(path)
        for lock in path.rglob("lock"):
            lock.unlink()
        copy = FOLDER / "copy"
        shutil.copytree(path, copy)
        if name in MEMBERS_OF:
            fleet = opened(copy)
            follows[name] = what_follows(fleet, MEMBERS_OF[name])
            fleet.close()
        elif name == "shard-1":
            follows[name] = shard_follows(copy)
        shutil.rmtree(copy)
    NEXT.write_text(json.dumps(follows, indent=1) + "\n")


if __name__ == "__main__":
    main()
