"""Headlines on a page: clicks come late, and those who do not click never say so.

Many visitors are on the page at once. Each is shown a headline; some click, after a while. Only
clicks are reported. `window=1.0, default=0.0` makes a decision without a click within a second
count as a reward of 0. If the service is down, visitors see the first headline, and no page waits.

    handful serve --store handful.db
    python examples/headlines.py --url http://127.0.0.1:8000

The world is simulated, and its seconds are short: real pages would have a window of an hour.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from collections import Counter

from handful.client import AsyncClient

HEADLINES = [f"headline {i}" for i in range(1, 41)]
RATES = {headline: 0.02 + 0.5 * random.Random(headline).random() ** 4 for headline in HEADLINES}


async def visit(client: AsyncClient, name: str, rng: random.Random, shown: Counter[str]) -> int:
    """Show a headline to a visitor; return 1 if the visitor clicks."""
    decision = await client.decide(name, fallback=HEADLINES[0], total=2.0)
    shown["by the service" if not decision.is_fallback else "as a fallback"] += 1
    reads, clicks = rng.uniform(0.0, 0.4), rng.random() < RATES[decision.arm]
    await asyncio.sleep(reads)
    if clicks:
        await client.reward(decision, 1.0)
    return int(clicks)


async def simulate(url: str, visitors: int) -> None:
    rng = random.Random(1)
    name = f"headlines-{time.time_ns() // 10**6}"
    shown: Counter[str] = Counter()
    async with AsyncClient(url) as client:
        await client.create_bandit(name, memory=8, arms=HEADLINES, seed=1, window=1.0, default=0.0)
        visits = []
        for _ in range(visitors):
            visits.append(asyncio.create_task(visit(client, name, rng, shown)))
            await asyncio.sleep(rng.expovariate(250.0))
        clicks = await asyncio.gather(*visits)
        bandit = await client.bandit(name)

    half = visitors // 2
    average = sum(RATES.values()) / len(RATES)
    print(f"{name}: {visitors} visitors; " + ", ".join(f"{n} {how}" for how, n in shown.items()))
    print(
        f"click rate: {sum(clicks[:half]) / half:.1%} in the first half, "
        f"{sum(clicks[half:]) / (visitors - half):.1%} in the second; "
        f"with headlines at random it would be {average:.1%}"
    )
    print(f"recommended (clicked by {RATES[str(bandit.recommended)]:.1%}): {bandit.recommended}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--url", default="http://127.0.0.1:8000")
    parser.add_argument("--visitors", type=int, default=800)
    options = parser.parse_args()
    asyncio.run(simulate(options.url, options.visitors))


if __name__ == "__main__":
    main()
