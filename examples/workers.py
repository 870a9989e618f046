"""Workers for tasks: only those on shift may be asked, some leave for good, others join.

Sixty workers, of whom about half are on shift in each hour. `allowed` names them, and the service
never returns another. After every eighth hour two leave (`remove_arms`) and two join (`add_arms`).
A worker who did not finish by the end of the hour is closed with `drop`, so that nobody waits.

    handful serve --store handful.db
    python examples/workers.py --url http://127.0.0.1:8000

The world is simulated: how reliable a worker is depends on the name, and only the tasks show it.
"""

from __future__ import annotations

import argparse
import random
import time

from handful.client import Client


def reliability(worker: str) -> float:
    """The share of tasks that a worker does well."""
    return 0.1 + 0.85 * random.Random(worker).random()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--url", default="http://127.0.0.1:8000")
    parser.add_argument("--hours", type=int, default=96)
    options = parser.parse_args()

    rng = random.Random(1)
    workers = [f"worker {i}" for i in range(1, 61)]
    name = f"workers-{time.time_ns() // 10**6}"
    done = unfinished = on_random = 0.0
    gone: list[str] = []
    with Client(options.url) as client:
        client.create_bandit(name, memory=16, arms=workers, seed=1)
        for hour in range(1, options.hours + 1):
            on_shift = [worker for worker in workers if rng.random() < 0.5]
            finished = []
            for decision in client.decide(name, 20, allowed=on_shift):
                assert decision.arm in on_shift
                if rng.random() < 0.05:
                    client.drop(decision)
                    unfinished += 1
                else:
                    finished.append((decision, float(rng.random() < reliability(decision.arm))))
            client.rewards(finished)
            done += sum(reward for _, reward in finished)
            on_random += sum(map(reliability, on_shift)) / len(on_shift) / options.hours
            if hour % 8 == 0:
                left, joined = rng.sample(workers, 2), [f"worker {hour}-{i}" for i in (1, 2)]
                client.remove_arms(name, left)
                client.add_arms(name, joined)
                workers = [worker for worker in workers if worker not in left] + joined
                gone += left
        bandit = client.bandit(name)

    tasks = 20 * options.hours
    print(f"{name}: {tasks} tasks, {unfinished:.0f} not finished, {len(gone)} workers left")
    print(
        f"of the finished tasks {done / (tasks - unfinished):.0%} were done well; with workers "
        f"on shift at random it would be {on_random:.0%}"
    )
    print(f"recommended ({reliability(str(bandit.recommended)):.0%}): {bandit.recommended}")


if __name__ == "__main__":
    main()
