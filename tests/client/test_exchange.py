"""Retries, waits and time limits, by a clock that only the test moves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from handful.client.breaker import Breaker
from handful.client.exchange import Exchange, NoReply, Reply, Request, Send, Steps, T
from handful.client.limits import Limits
from handful.errors import (
    AccessError,
    ClientError,
    ConflictError,
    NotFoundError,
    RefusedError,
    UnavailableError,
)

POST = Request("POST", "/v1/bandits/front/decisions", b"{}", "key-1")
CUT = NoReply("the connection broke")
LIMITS = Limits(timeout=2, total=100, attempts=5, first_wait=1, longest_wait=3, failures=3, pause=9)


def reply(status: int, body: bytes = b'{"ok": 1}', **headers: str) -> Reply:
    return Reply(status, {name.replace("_", "-"): value for name, value in headers.items()}, body)


@dataclass
class World:
    """A clock, the answers to come (the last one for ever), and what was asked for."""

    answers: Sequence[Reply | NoReply]
    limits: Limits = LIMITS
    jitter: float = 1.0
    takes: float = 0.0
    now: float = 0.0
    sent: list[Send] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.breaker = Breaker(self.limits.failures, self.limits.pause)
        self.exchange = Exchange(self.limits, self.breaker, lambda: self.now, lambda: self.jitter)

    def run(self, steps: Steps[T]) -> T:
        result: Reply | NoReply | None = None
        try:
            while True:
                step = steps.send(result)
                if isinstance(step, Send):
                    result = self.answers[min(len(self.sent), len(self.answers) - 1)]
                    self.sent.append(step)
                    self.now += min(self.takes, step.timeout)
                else:
                    result = None
                    self.waits.append(step.seconds)
                    self.now += step.seconds
        except StopIteration as end:
            value: T = end.value
            return value

    def call(self, request: Request = POST, **options: Any) -> Any:
        return self.run(self.exchange.call(request, **options))


def test_an_answer_ends_the_call() -> None:
    world = World([reply(200)])
    assert world.call() == {"ok": 1}
    assert len(world.sent) == 1
    assert world.waits == []


@pytest.mark.parametrize(
    "failure", [CUT, *(reply(status) for status in (429, 502, 503, 504))], ids=str
)
def test_a_failure_that_may_pass_is_tried_again_with_the_same_request(
    failure: Reply | NoReply,
) -> None:
    world = World([failure, failure, reply(201)])
    assert world.call() == {"ok": 1}
    assert [send.request for send in world.sent] == [POST] * 3


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, RefusedError), (401, AccessError), (403, AccessError), (404, NotFoundError),
        (409, ConflictError), (410, RefusedError), (413, RefusedError), (422, RefusedError),
    ],
)  # fmt: skip
def test_a_refusal_is_an_error_at_once(status: int, error: type[ClientError]) -> None:
    body = b'{"title": "No", "detail": "because", "request_id": "abc"}'
    world = World([reply(status, body)])
    with pytest.raises(error) as caught:
        world.call()
    assert type(caught.value) is error
    assert str(caught.value) == f"No: because (status {status}, request abc)"
    assert (caught.value.status, caught.value.title) == (status, "No")
    assert (caught.value.detail, caught.value.request_id) == ("because", "abc")
    assert len(world.sent) == 1


@pytest.mark.parametrize("body", [b"", b"<html>", b"[1]", b"{}", b"\xff"])
def test_a_refusal_without_a_report_names_the_call(body: bytes) -> None:
    with pytest.raises(NotFoundError, match=r"POST /v1/bandits/front/decisions was refused"):
        World([reply(404, body)]).call()


def test_a_server_error_is_no_refusal_and_not_tried_again() -> None:
    world = World([reply(500, b'{"title": "Oops", "detail": "a bug"}')])
    with pytest.raises(UnavailableError, match=r"was tried once: Oops: a bug \(status 500\)"):
        world.call()
    assert len(world.sent) == 1


@pytest.mark.parametrize("answer", [reply(200, b"<html>"), reply(301, b""), reply(302, b"{}")])
def test_an_answer_that_is_not_the_service_s_is_an_error(answer: Reply) -> None:
    with pytest.raises(ClientError, match="is this the address of `handful serve`") as caught:
        World([answer]).call()
    assert type(caught.value) is ClientError


def test_an_empty_answer_is_none() -> None:
    assert World([reply(204, b"")]).call() is None


def test_waits_double_up_to_the_longest() -> None:
    world = World([CUT])
    with pytest.raises(UnavailableError, match=r"tried 5 times in 9.0 s: the connection broke"):
        world.call()
    assert world.waits == [1, 2, 3, 3]


def test_waits_are_drawn_from_the_upper_half() -> None:
    world = World([CUT], jitter=0.0)
    with pytest.raises(UnavailableError):
        world.call()
    assert world.waits == [0.5, 1, 1.5, 1.5]


def test_an_attempt_has_its_time_out_and_never_more_than_is_left() -> None:
    world = World([CUT], limits=Limits(timeout=2, total=5.5, first_wait=1, failures=9), takes=2)
    with pytest.raises(UnavailableError):
        world.call()
    assert [send.timeout for send in world.sent] == [2, 2]
    # After 2 + 1 + 2 seconds, a wait of 2 seconds would end after the 5.5 that the call may take.
    assert world.waits == [1]
    world = World([CUT], takes=2)
    with pytest.raises(UnavailableError):
        world.call(total=4.0)
    assert [send.timeout for send in world.sent] == [2, 1]


def test_a_call_never_takes_longer_than_its_total() -> None:
    for total in (0.5, 1.0, 3.0, 7.5, 20.0):
        limits = Limits(timeout=2, total=total, attempts=99, first_wait=0.1)
        world = World([CUT], limits=limits, takes=math.inf)
        with pytest.raises(UnavailableError):
            world.call()
        assert world.now <= total


def test_retry_after_is_waited_for() -> None:
    world = World([reply(429, retry_after="17"), reply(503, retry_after="0"), reply(200)])
    world.call()
    assert world.waits == [17, 2]


def test_retry_after_may_be_a_date() -> None:
    date, later = "Wed, 18 Nov 2026 10:00:00 GMT", "Wed, 18 Nov 2026 10:00:30 GMT"
    world = World([reply(503, retry_after=later, date=date), reply(200)])
    world.call()
    assert world.waits == [30]


@pytest.mark.parametrize("given", ["", "soon", "-5", "nan", "Wed, 18 Nov 2026 10:00:30 GMT"])
def test_a_retry_after_without_a_meaning_is_left_out(given: str) -> None:
    world = World([reply(503, retry_after=given), reply(200)])
    world.call()
    assert world.waits == [1]


@pytest.mark.parametrize("given", ["3600", "inf"])
def test_a_retry_after_beyond_the_total_ends_the_call_at_once(given: str) -> None:
    world = World([reply(429, retry_after=given)])
    with pytest.raises(UnavailableError) as caught:
        world.call()
    assert caught.value.status == 429
    assert world.waits == []
    assert len(world.sent) == 1


@pytest.mark.parametrize("lost", [CUT, reply(502), reply(504)], ids=str)
def test_what_was_never_there_is_an_error_after_a_retry_too(lost: Reply | NoReply) -> None:
    """A retried DELETE of something that never existed was a success.

    One that was carried out is answered as it was the first time, by its Idempotency-Key.
    """
    delete = Request("DELETE", "/v1/bandits/front", None, "key-2")
    for request in (delete, POST):
        with pytest.raises(NotFoundError):
            World([lost, reply(503), reply(404)]).call(request)


def test_a_call_with_a_fallback_ends_when_the_breaker_opens() -> None:
    world = World([CUT])
    with pytest.raises(UnavailableError):
        world.call(has_fallback=True)
    assert len(world.sent) == LIMITS.failures
    with pytest.raises(UnavailableError):
        world.call(has_fallback=True)
    assert len(world.sent) == LIMITS.failures + 1


def test_a_refusal_closes_the_breaker() -> None:
    world = World([CUT, CUT, reply(404), CUT, CUT, reply(200)])
    with pytest.raises(NotFoundError):
        world.call(has_fallback=True)
    assert world.call(has_fallback=True) == {"ok": 1}
