"""The client: the fallback where nobody serves, and a decision of the service."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from handful.client import AsyncClient, Client, Limits
from tests.release.checks.serve import served

ARMS = ["a", "b", "c"]


async def decided(address: str) -> str:
    """Return the arm that the asynchronous client is given."""
    async with AsyncClient(address) as client:
        return (await client.decide("front")).arm


def main() -> None:
    """Check this environment."""
    with Client("http://127.0.0.1:9", limits=Limits(attempts=1)) as client:
        assert client.decide("front", fallback="b").is_fallback
    with tempfile.TemporaryDirectory() as folder, served(str(Path(folder, "store.db"))) as address:
        with Client(address) as client:
            client.create_bandit("front", memory=2, arms=ARMS)
            decision = client.decide("front")
            assert decision.arm in ARMS
            assert client.reward(decision, 1.0) == "credited"
        assert asyncio.run(decided(address)) in ARMS
    print("a fallback, two decisions and a reward")


if __name__ == "__main__":
    main()
