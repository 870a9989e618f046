"""Limits: bodies, senders, requests at once and a second."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from handful.service.limits import MOST_CALLERS, Buckets, Limits
from handful.service.problems import Problem
from tests.service.requests import FRONT, in_loop, served


class Watch:
    """A clock in seconds, by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def _granted(buckets: Buckets, caller: str, tries: int) -> int:
    granted = 0
    for _ in range(tries):
        try:
            buckets.take(caller)
        except Problem as problem:
            assert problem.status == 429  # noqa: PT017
        else:
            granted += 1
    return granted


def test_so_many_requests_a_second() -> None:
    watch = Watch()
    buckets = Buckets(5.0, watch)
    assert _granted(buckets, "a", 20) == 5
    assert _granted(buckets, "b", 20) == 5
    watch.now = 0.4
    assert _granted(buckets, "a", 20) == 2
    watch.now = 100.0
    assert _granted(buckets, "a", 20) == 5


def test_less_than_one_request_a_second() -> None:
    """Every request was refused."""
    watch = Watch()
    buckets = Buckets(0.1, watch)
    assert _granted(buckets, "a", 5) == 1
    with pytest.raises(Problem) as refused:
        buckets.take("a")
    assert refused.value.retry_after == 10
    watch.now = 10.0
    assert _granted(buckets, "a", 5) == 1


def test_the_buckets_of_many_callers_take_bounded_room() -> None:
    buckets = Buckets(1.0, Watch())
    for caller in range(MOST_CALLERS + 100):
        buckets.take(str(caller))
    assert len(buckets._left) == MOST_CALLERS


def test_no_limit() -> None:
    assert _granted(Buckets(0.0), "a", 1000) == 1000


@in_loop
async def test_429_says_when_to_try_again() -> None:
    async with served(limits=Limits(per_second=2.0)) as call:
        call.service._buckets = Buckets(2.0, watch := Watch())
        answers = [await call("GET", "/v1/bandits") for _ in range(4)]
        assert [each.status_code for each in answers] == [200, 200, 429, 429]
        assert answers[-1].headers["retry-after"] == "1"
        watch.now = 1.0
        assert (await call("GET", "/v1/bandits")).status_code == 200
        assert (await call("GET", "/healthz")).status_code == 200


@in_loop
async def test_413_of_a_large_body() -> None:
    async with served(limits=Limits(body_bytes=200)) as call:
        assert (await call("POST", "/v1/bandits", FRONT)).status_code == 201
        large = await call("POST", "/v1/bandits", {**FRONT, "arms": ["a" * 300]})
        assert large.status_code == 413
        assert large.headers["connection"] == "close"

        async def parts() -> Any:
            for _ in range(10):
                yield b" " * 50

        headers = {"content-type": "application/json"}
        chunked = await call.client.post("/v1/bandits", content=parts(), headers=headers)
        assert chunked.status_code == 413
        assert (await call("GET", "/v1/bandits")).status_code == 200


@in_loop
async def test_408_of_a_slow_sender() -> None:
    async with served(limits=Limits(body_seconds=0.02)) as call:
        never = asyncio.Event()

        async def parts() -> Any:
            yield b"{"
            await never.wait()

        headers = {"content-type": "application/json"}
        slow = await call.client.post("/v1/bandits", content=parts(), headers=headers)
        assert slow.status_code == 408
        assert slow.headers["connection"] == "close"
        await call.front()


@in_loop
async def test_503_of_too_many_requests_at_once() -> None:
    async with served(limits=Limits(at_once=3)) as call:
        await call.front()
        path = "/v1/bandits/front/decisions"
        answers = await asyncio.gather(*(call("POST", path, {}) for _ in range(10)))
        statuses = sorted(each.status_code for each in answers)
        assert statuses == [201] * 3 + [503] * 7
        assert {each.headers.get("retry-after") for each in answers} == {None, "1"}
        assert (await call("POST", path, {})).status_code == 201
        assert call.service._at_once == 0


@in_loop
async def test_503_of_a_full_queue() -> None:
    async with served() as call:
        await call.front()
        call.service.writer._most_waiting = 2
        path = "/v1/bandits/front/decisions"
        answers = await asyncio.gather(*(call("POST", path, {}) for _ in range(10)))
        assert {each.status_code for each in answers} == {201, 503}
        shown = (await call("GET", "/v1/bandits/front")).json()
        assert shown["decisions"] == sum(each.status_code == 201 for each in answers)
