"""The load generator against the stub: it counts what it sent, and nothing else."""

from __future__ import annotations

import asyncio
import json

import pytest

from benchmarks.load import (
    Load,
    Tally,
    apply,
    create_bandits,
    figures,
    given,
    is_loopback,
    main,
    percentile,
)
from tests.client.stub import Fault, Stub


@pytest.mark.parametrize("keyed", [False, True])
def test_decisions_and_rewards_are_one_to_one(keyed: bool) -> None:
    stub = Stub()
    with stub.served() as url:
        load = Load(url, clients=4, bandits=3, requests=200, keyed=keyed)
        create_bandits(load)
        found = asyncio.run(apply(load))
    assert found.requests == 200
    assert found.errors == {}
    assert sorted(stub.bandits) == ["load-0", "load-1", "load-2"]
    assert {decision["bandit"] for decision in stub.decisions.values()} == set(stub.bandits)
    assert len(stub.decisions) + stub.credited == 200
    assert 0 <= len(stub.decisions) - stub.credited <= load.clients
    assert all(reward in (0, 1) for d in stub.decisions.values() if (reward := d["reward"]))
    keys = [seen.idempotency_key for seen in stub.calls("POST") if "decisions" in seen.target]
    assert len(set(keys)) == (len(keys) if keyed else 1)


def test_errors_are_counted_and_connections_opened_again() -> None:
    stub = Stub()
    with stub.served() as url:
        load = Load(url, clients=1, requests=40)
        create_bandits(load)
        stub.faults.extend([Fault.DOWN_BEFORE, Fault.NONE, Fault.DOWN_BEFORE, Fault.CUT_AFTER])
        found = asyncio.run(apply(load))
    assert found.errors == {
        "decision: status 503": 1, "reward: status 503": 1, "the connection broke": 1,
    }  # fmt: skip
    assert found.requests == 40 - 3


def test_a_run_ends_after_its_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    with Stub().served() as url:
        words = f"--url {url} --clients 2 --seconds 0.1 --warm-up 0 --json"
        assert main(words.split()) == 0
        assert main([*words.split(), "--existing"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found["sent"] >= found["requests"] > 0
    assert found["p50"] <= found["p90"] <= found["p99"] <= found["highest"]


def test_where_nobody_listens(capsys: pytest.CaptureFixture[str]) -> None:
    with Stub().served() as url:
        pass
    assert main(["--url", url]) == 1
    assert "no connection to" in capsys.readouterr().err


def test_figures() -> None:
    tally = Tally(began=10.0, ended=12.0, cpu=0.5)
    tally.decisions.extend([0.001, 0.003])
    tally.rewards.extend([0.002, 0.004])
    found = figures(tally)
    assert (found.requests, found.rate, found.p50, found.highest) == (4, 2.0, 2.0, 4.0)
    assert (found.decision_p99, found.reward_p99, found.generator_cpu) == (3.0, 4.0, 0.25)
    assert found.text.startswith("2 requests/s   p50 2.0 ms")
    assert figures(Tally()).p99 is None
    assert "p50 -" in figures(Tally()).text


@pytest.mark.parametrize(
    ("share", "expected"), [(0.5, 50), (0.9, 90), (0.99, 99), (0.991, 100), (1.0, 100), (0.0, 1)]
)
def test_percentiles(share: float, expected: int) -> None:
    assert percentile(range(1, 101), share) == expected


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("127.8.9.1", True), ("::1", True), ("localhost", True),
     ("192.0.2.1", False), ("example.org", False), ("127.0.0.1.example.org", False), (None, False)],
)  # fmt: skip
def test_which_hosts_are_this_computer(host: str | None, expected: bool) -> None:
    assert is_loopback(host) is expected


def test_other_computers_need_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        given(["--url", "http://192.0.2.1:8000"])
    assert "give --host-is-mine if you may load it" in capsys.readouterr().err
    load, _ = given(["--url", "http://192.0.2.1:8000", "--host-is-mine"])
    assert load.address.hostname == "192.0.2.1"


@pytest.mark.parametrize(
    "wrong", ["--clients 0", "--bandits 0", "--seconds 0", "--seconds 4000", "--warm-up 61"]
)
def test_a_load_without_bounds_is_refused(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        given(["--url", "http://127.0.0.1:8000", *wrong.split()])
    assert "give" in capsys.readouterr().err
