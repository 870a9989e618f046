"""The simulation of servers that share a store, against what can be worked out by hand."""

from __future__ import annotations

import pytest

from benchmarks.saturation import Times, simulated

TIMES = Times(request=2e-4, batch=4e-4, round_trip=1e-4, statement=5e-5, row=1e-5, flush=1e-3)


def test_one_server_is_never_idle() -> None:
    # 32 requests: three round trips, a statement, 32 rows, the work of the batch and of its
    # requests, one write to disk.
    batch = 32 * (2e-4 + 1e-5) + 4e-4 + 3e-4 + 5e-5 + 1e-3
    found = simulated(TIMES, servers=1, bandits=1, cores=4)
    assert found.rate == pytest.approx(32 / batch, rel=0.01)
    assert found.p50 == pytest.approx(batch)


def test_servers_of_one_bandit_take_turns() -> None:
    one = simulated(TIMES, servers=1, bandits=1, cores=4)
    four = simulated(TIMES, servers=4, bandits=1, cores=4)
    assert four.rate == pytest.approx(one.rate, rel=0.02)
    assert four.p50 == pytest.approx(4 * one.p50, rel=0.05)


def test_servers_of_different_bandits_do_not_wait_for_each_other() -> None:
    one = simulated(TIMES, servers=1, bandits=10**9, cores=4)
    four = simulated(TIMES, servers=4, bandits=10**9, cores=4)
    assert 3.6 * one.rate < four.rate <= 4.0 * one.rate


def test_the_cores_of_the_store_are_a_limit() -> None:
    slow = TIMES._replace(row=1e-3)
    found = simulated(slow, servers=16, bandits=10**9, cores=2)
    assert found.rate == pytest.approx(2 / 1e-3, rel=0.05)
    assert found.store > 0.95


def test_transactions_share_a_write_to_disk() -> None:
    slow = TIMES._replace(flush=0.02)
    one = simulated(slow, servers=1, bandits=10**9, cores=4)
    eight = simulated(slow, servers=8, bandits=10**9, cores=8)
    assert eight.rate > 4.0 * one.rate
    assert eight.disk > 0.9
