"""Advice: who is a candidate, and that what is said was measured."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import handful
from handful.cli.app import app
from handful.errors import SettingError
from handful.instances import instance as parse_instance
from handful.simulation.plan import parse_policy
from handful.simulation.result import Estimate
from handful.studies.advice import Advice, Candidate, _gap_at_random, _why, advise, candidates


@pytest.mark.parametrize("K", [None, 2, 7, 10**12])
@pytest.mark.parametrize("M", [1, 2, 7, 50])
def test_candidates_can_serve(K: int | None, M: int) -> None:
    for name in candidates(K, M):
        cls = parse_policy(name)[0]
        assert cls.any_arms or cls.endless is (K is None)
        if cls.unbounded:
            assert K is not None
            assert M >= K
        else:
            assert (cls.own_memory or M) <= M or cls.takes_memory()


@pytest.fixture(scope="module")
def advice() -> Advice:
    return advise(10, 2, 2000, runs=20)


def test_what_is_said_was_measured(advice: Advice) -> None:
    assert {c.policy for c in advice.candidates} == set(candidates(10, 2))
    scores = [candidate.score for candidate in advice.candidates]
    assert scores == sorted(scores)
    best = advice.best
    again = handful.simulate(
        policy=best.policy, instance="linear:10", memory=2, horizon=2000, runs=20
    )
    assert again.regret.mean == best.regret["linear:10"].mean
    assert f"{scores[0] / scores[1]:.2f} times" in advice.why
    assert best.score == pytest.approx(
        math.prod(e.mean for e in best.regret.values()) ** (1 / len(best.regret))
    )


def test_words_are_those_of_the_saved_state(advice: Advice) -> None:
    for candidate in advice.candidates:
        cls, settings = parse_policy(candidate.policy)
        given: dict[str, Any] = dict(settings)
        policy = cls(10, 2, seed=3, **given)
        for _ in range(50):
            policy.update(policy.select(), 1.0)
        assert 8 * candidate.words >= len(policy.to_bytes()) - 8
        assert candidate.words <= 28 + 9 * 2  # Race: 224 + 65 M bytes


def test_instances_of_ones_own_are_what_counts() -> None:
    found = advise(3, 2, 200, instances=["bernoulli:0.9,0.5,0.1"], runs=5)
    assert list(found.best.regret) == ["bernoulli:0.9,0.5,0.1"]
    with pytest.raises(SettingError, match="has 3 arms, and not 4"):
        advise(4, 2, 200, instances=["bernoulli:0.9,0.5,0.1"])


@pytest.mark.parametrize("world", ["linear:10", "power:30000:0.3", "bernoulli:0.9,0.5,0.1", "I1"])
def test_an_arm_at_random_costs_what_simulation_says(world: str) -> None:
    arms = parse_instance(world)
    one_pull = handful.simulate("race", world, memory=2, horizon=1, runs=20_000, seed=0).regret
    # A false alarm in 10^5 for each.
    assert abs(_gap_at_random(arms) - one_pull.mean) < 4.4 * one_pull.sem + 1e-4


def test_a_policy_no_better_than_an_arm_at_random_is_said_to_be() -> None:
    found = advise(50, 1, 2000, best=0.05, runs=5)
    assert "hardly better than an arm at random: take two arms in memory" in found.why
    assert found.to_dict()["random_regret"] == found.random_regret
    best = found.best.regret["linear:50:0.05"].mean
    assert best > 0.9 * found.random_regret["linear:50:0.05"]


def test_where_another_is_better_it_is_said() -> None:
    def candidate(policy: str, *means: float) -> Candidate:
        regret = {f"i{j}": Estimate(np.array([x, x])) for j, x in enumerate(means)}
        return Candidate(policy, policy.upper(), 2, 20, regret)

    at_random = {"i0": 200.0, "i1": 200.0}
    why = _why([candidate("race", 10.0, 50.0), candidate("ts-m", 100.0, 40.0)], at_random, 100, 2)
    assert "times that of TS-M" in why
    assert "but on i1 TS-M is better" in why
    assert "on i0" not in why
    assert "at random" not in why
    why = _why([candidate("race", 10.0, 50.0), candidate("ts-m", 10.1, 51.0)], at_random, 100, 2)
    assert "TS-M is about as good" in why
    assert "but on" not in why


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(SettingError, match="I1 is endless, and 10 arms were asked for"):
        advise(10, 2, instances=["I1"])
    with pytest.raises(SettingError, match="linear:20 has 20 arms, and endless arms were"):
        advise(None, 2, instances=["linear:20"])
    with pytest.raises(SettingError, match="nothing to choose"):
        advise(1, 2)
    with pytest.raises(SettingError, match="memory"):
        advise(10, 0)
    for words in (["advise"], ["advise", "--arms", "5", "--endless"]):
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 2
        assert "--arms, or that they are --endless" in result.output


def test_the_command_says_what_to_take_and_why() -> None:
    words = ["advise", "--endless", "-m", "2", "-T", "500", "-r", "3"]
    shown = CliRunner().invoke(app, words)
    assert shown.exit_code == 0
    plain = CliRunner().invoke(app, [*words, "--json"])
    data = json.loads(plain.stdout)
    assert shown.stdout.startswith(f"take {data['policy']} (M = 2): ")
    assert data["why"] in shown.stdout
    for candidate in data["candidates"]:
        assert set(candidate["regret"]) == {"I1", "I2", "I4"}
        assert f"{candidate['policy']}\t2\t{candidate['words']}\t" in shown.stdout


@pytest.mark.parametrize(
    ("K", "worlds"),
    [
        (50, {"linear:50:0.05", "power:50:0.3:0.05", "power:50:0.6:0.05"}),
        (2, {"bernoulli:0.05,0.025", "bernoulli:0.05,0.04", "bernoulli:0.05,0.045"}),
        (None, {"beta:0.5:2:0.05", "beta:1:1:0.05", "beta:1:3:0.05"}),
    ],
)
def test_the_best_mean_may_be_given(K: int | None, worlds: set[str]) -> None:
    advice = advise(K, 2, 200, best=0.05, runs=2)
    assert set(advice.best.regret) == worlds
    assert all(handful.instances.instance(world).best_mean == 0.05 for world in worlds)


def test_small_regrets_are_distinguished() -> None:
    advice = advise(50, 2, 1000, best=0.001, runs=5)
    assert len({candidate.score for candidate in advice.candidates}) == len(advice.candidates)


@pytest.mark.parametrize("best", [0.0, -1.0, 1.0, math.nan, "much"])
def test_a_best_mean_that_cannot_be_is_refused(best: Any) -> None:
    with pytest.raises(SettingError, match="best="):
        advise(50, 2, 200, best=best, runs=2)


def test_a_best_mean_and_instances_are_one_too_many() -> None:
    with pytest.raises(SettingError, match="not both"):
        advise(50, 2, 200, best=0.1, instances=["linear:50"], runs=2)


def test_instances_are_names() -> None:
    means: Any = [0.9, 0.8]
    with pytest.raises(SettingError, match="instances are names"):
        advise(2, 2, 200, instances=[means], runs=2)


def test_a_horizon_that_is_not_simulated_is_said_at_once() -> None:
    words = ["advise", "--arms", "3", "-m", "2", "-T", "1e8", "-r", "2"]
    lines = CliRunner().invoke(app, words).stdout.splitlines()
    assert lines[1].startswith("NOTE: only 1,000,000 of the 100,000,000 pulls were simulated")
    data = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert (data["horizon"], data["asked_horizon"]) == (10**6, 10**8)
    assert "only 1,000,000" in data["note"]


def test_a_horizon_that_is_simulated_needs_no_note(advice: Advice) -> None:
    assert advice.note is None
    assert advice.to_dict()["note"] is None
    assert "Note" not in advice._repr_html_()


def test_a_notebook_shows_advice_as_a_table_with_names_escaped(advice: Advice) -> None:
    odd = replace(advice, why="a < b & c", horizon=7)
    html = odd._repr_html_()
    assert "a &lt; b &amp; c" in html
    assert "<strong>Note: only 7 of the 2,000 pulls" in html
    assert html.count("<tr>") == html.count("</tr>") == len(advice.candidates) + 2
    assert repr(advice).startswith(f"Advice: take {advice.best.policy} (M = 2)")


@pytest.mark.usefixtures("auto_is_python_here")
def test_it_answers_for_late_rewards_and_drifting_means() -> None:
    found = advise(
        6, 2, 400, instances=["linear:6"], runs=3, delay=20, lost=0.1, drift="falls", churn=90
    )
    assert [c.policy for c in found.candidates if c.policy.startswith("race:every")] == [
        "race:every=80"
    ]
    assert found.to_dict()["traffic"] == "delay=20 lost=0.1 drift=falls churn=90"
    assert "delay=20 lost=0.1 drift=falls churn=90" in found.caption
    with pytest.raises(SettingError, match="delay"):
        advise(6, 2, 400, delay="soon")
