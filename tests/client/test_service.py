"""The clients against the real service, over a line that loses requests and answers."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator

import httpx
import pytest

from handful.client import AsyncClient, Client, Decision, Limits, OwnKey
from handful.errors import ConflictError, NotFoundError, RefusedError
from tests.browser import opened
from tests.client.serving import served
from tests.client.test_javascript import MODULE

PATIENT = Limits(attempts=30, total=120, first_wait=0, failures=1000)
ARMS = [f"arm {i}" for i in range(20)]


class Line:
    """Loses each request before it is sent, or its answer, with a probability of a quarter each."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self.lost_answers = 0

    def before(self) -> None:
        if self._rng.random() < 0.25:
            raise httpx.ConnectError("the line lost the request")

    def after(self) -> None:
        if self._rng.random() < 0.25:
            self.lost_answers += 1
            raise httpx.ReadError("the line lost the answer")


class LossyTransport(httpx.HTTPTransport):
    def __init__(self, line: Line) -> None:
        super().__init__()
        self.line = line

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.line.before()
        response = super().handle_request(request)
        response.read()
        self.line.after()
        return response


class AsyncLossyTransport(httpx.AsyncHTTPTransport):
    def __init__(self, line: Line) -> None:
        super().__init__()
        self.line = line

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.line.before()
        response = await super().handle_async_request(request)
        await response.aread()
        self.line.after()
        return response


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("store")) as url:
        yield url


def test_nothing_is_lost_and_nothing_counted_twice(url: str) -> None:
    line = Line(1)
    with httpx.Client(transport=LossyTransport(line)) as http:
        client = Client(url, limits=PATIENT, http=http)
        made = client.create_bandit("lossy", memory=20, arms=ARMS, seed=1)
        assert (made.arms, made.decisions) == (20, 0)
        for _ in range(100):
            assert client.reward(client.decide("lossy"), 1.0) in ("credited", "duplicate")
        many = client.decide("lossy", 50)
        assert client.rewards([(one, 0.0) for one in many]) == ["credited"] * 50
        assert client.add_arms("lossy", ["new", "newer"]) == 22
        assert client.remove_arms("lossy", ["new"]) == 21
        dropped = [client.drop(client.decide("lossy")) for _ in range(20)]
        assert set(dropped) <= {"dropped", "duplicate"}
    assert line.lost_answers > 30
    with Client(url) as client:
        seen = client.bandit("lossy")
        assert (seen.decisions, seen.rewards, seen.dropped, seen.waiting) == (170, 150, 20, 0)
        assert seen.reward_rate == pytest.approx(100 / 150)
    with httpx.Client(transport=LossyTransport(line)) as http:
        Client(url, limits=PATIENT, http=http).delete_bandit("lossy")
    with Client(url) as client, pytest.raises(NotFoundError):
        client.bandit("lossy")


def test_and_so_it_is_with_asyncio_and_many_at_once(url: str) -> None:
    async def converse() -> None:
        line = Line(2)
        async with httpx.AsyncClient(transport=AsyncLossyTransport(line)) as http:
            client = AsyncClient(url, limits=PATIENT, http=http)
            await client.create_bandit("crowd", memory=20, arms=ARMS, seed=1)

            async def visit() -> None:
                for _ in range(10):
                    await client.reward(await client.decide("crowd"), 1.0)

            await asyncio.gather(*(visit() for _ in range(10)))
        assert line.lost_answers > 30

    asyncio.run(converse())
    with Client(url) as client:
        seen = client.bandit("crowd")
        assert (seen.decisions, seen.rewards, seen.waiting) == (100, 100, 0)


def test_what_the_service_says_is_understood(url: str) -> None:
    with Client(url) as client:
        client.create_bandit(
            "whole", policy="ucb-m", memory=4, arms=ARMS, settings={"eta": 0.2}, seed=3,
            window=600.0, explore=0.1, rescale=(0.0, 5.0),
        )  # fmt: skip
        decision = client.decide("whole", key="mine", allowed=ARMS[:3])
        assert decision.arm in ARMS[:3]
        assert decision.key == "mine"
        assert decision.probability is None or 0.0 < decision.probability <= 1.0
        assert client.decide("whole", key="mine", allowed=ARMS[:3]) == decision
        assert client.reward(decision, 4.0) in ("credited", "forgotten")
        assert client.rewards(
            [(OwnKey("whole", "mine"), 4.0), (decision, 3.0), ("nonsense", 1.0),
             (Decision.fallback("arm 1"), 1.0), (client.decide("whole"), 9.0)]
        ) == ["duplicate", "conflict", "unknown", "ignored", "invalid"]  # fmt: skip
        with pytest.raises(ConflictError):
            client.reward(decision, 3.0)
        with pytest.raises(RefusedError) as caught:
            client.reward(client.decide("whole"), 9.0)
        assert caught.value.status == 422
        assert caught.value.request_id
        bandit = client.change_bandit("whole", window=60.0)
        assert None not in (
            bandit.name, bandit.policy, bandit.title, bandit.memory, bandit.settings, bandit.seed,
            bandit.window, bandit.explore, bandit.rescale, bandit.open, bandit.arms,
            bandit.decisions, bandit.rewards, bandit.forgotten, bandit.dropped, bandit.expired,
            bandit.late, bandit.waiting, bandit.created_at,
        )  # fmt: skip
        assert (bandit.window, bandit.rescale, bandit.memory) == (60.0, (0.0, 5.0), 4)
        (arm, *_) = bandit.arms_in_memory
        assert arm.arm in ARMS
        assert None not in (arm.pulls, arm.in_flight, arm.low, arm.high, arm.recommended, arm.duel)
        client.create_bandit("whole-2", arms=ARMS, memory=2)
        # Other tests may have made bandits in this service.
        listed = [one.name for one in client.bandits(page=1)]
        assert {"whole", "whole-2"} <= set(listed)
        assert listed == sorted(set(listed))


def test_the_module_for_browsers_speaks_with_the_service(url: str) -> None:
    with Client(url) as client:
        client.create_bandit("page", memory=4, arms=ARMS, seed=1)
        with opened(800) as (page, _):
            page.route("**/blank", lambda route: route.fulfill(
                content_type="text/html", body="<!doctype html>"))  # fmt: skip
            page.route("**/handful.js", lambda route: route.fulfill(
                content_type="text/javascript", body=MODULE.read_text()))  # fmt: skip
            page.goto(f"{url}/blank")
            outcomes = page.evaluate(
                """async () => {
                  const { Client } = await import('/handful.js');
                  const client = new Client('');
                  const one = await client.decide('page', {fallback: 'arm 1'});
                  const many = await client.decide('page', {n: 3, keys: ['x', 'y', 'z']});
                  return [await client.reward(one, 1), await client.reward(one.id, 1),
                    ...await client.rewards(many.slice(1).map(decision => [decision, 0.5])),
                    await client.drop(many[0]), (await client.bandit('page')).rewards];
                }"""
            )
        assert outcomes == ["credited", "duplicate", "credited", "credited", "dropped", 3]
        assert client.bandit("page").waiting == 0
