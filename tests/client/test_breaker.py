from __future__ import annotations

from handful.client.breaker import Breaker


def test_it_opens_after_failures_in_a_row_only() -> None:
    breaker = Breaker(failures=3, pause=10)
    for _ in range(5):
        breaker.failed(0)
        breaker.failed(0)
        breaker.answered()
    assert breaker.allows(0)
    for now in (0, 1, 2):
        assert not breaker.is_open
        breaker.failed(now)
    assert breaker.is_open
    assert not breaker.allows(2)


def test_after_each_pause_one_caller_is_let_through() -> None:
    breaker = Breaker(failures=1, pause=10)
    breaker.failed(5)
    assert [breaker.allows(now) for now in (5, 14.9)] == [False, False]
    assert [breaker.allows(now) for now in (15, 15, 24.9)] == [True, False, False]
    breaker.failed(17)
    assert [breaker.allows(now) for now in (26.9, 27, 27)] == [False, True, False]


def test_an_answer_closes_it() -> None:
    breaker = Breaker(failures=1, pause=10)
    breaker.failed(0)
    assert breaker.allows(10)
    breaker.answered()
    assert not breaker.is_open
    assert [breaker.allows(10) for _ in range(3)] == [True] * 3
