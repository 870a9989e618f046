from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import handful
from handful import Log, Replay, read_log, replay
from handful.errors import SettingError
from handful.evaluation.replaying import BLOCK
from handful.own import HandPolicy, HandState
from tests.evaluation.logs import SKEWED, bounds, missed, uniform
from tests.helpers import refused


class Alternating(HandPolicy):
    """The arms one after the other, whatever the rewards: 0, 1, 2, 0, ..."""

    name = "alternating"
    any_arms = True
    own_memory = 1

    @staticmethod
    def propose(state: HandState, p: Any) -> int:
        from handful.own import admit

        admit(state, 0, state.clock % p.K)
        return 0

    @staticmethod
    def observe(state: HandState, slot: int, reward: float, p: Any) -> None:
        state.pulls[slot] += 1
        state.sums[slot] += reward


def test_a_tiny_log_by_hand() -> None:
    # The policy's choices are found in the rows   a    -    b    -    c    a     -    -    b
    log = {"arm": list("aabbcacab"), "reward": [0.5, 0.9, 1.0, 0.9, 0.0, 0.25, 0.9, 0.9, 0.5]}
    found = replay(log, Alternating)
    assert found.matches == 5
    assert found.pulls == {"a": 2, "b": 2, "c": 1}
    assert found.value.value == pytest.approx((0.5 + 1.0 + 0.0 + 0.25 + 0.5) / 5)
    assert (found.rows, found.accepted) == (9, 9)


def naive(log: Log, name: str, memory: int | None, seed: int) -> list[int]:
    """The rows that match, by asking the policy in every row, with labels instead of places."""
    policy = handful.policy(name, arms=log.labels, memory=memory, seed=seed)
    matched = []
    for row in range(len(log)):
        label = log.labels[log.arm[row]]
        if policy.select() == label:
            policy.update(label, float(log.reward[row]))
            matched.append(row)
    return matched


@pytest.mark.parametrize(("name", "memory"), [("race", 2), ("ucb-m", 3), ("ts", None)])
def test_it_makes_the_choices_of_a_policy_that_is_asked_in_every_row(
    name: str, memory: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("handful.evaluation.replaying.BLOCK", 300)
    log = uniform(0.2, 0.4, 0.6, 0.8).log(2000, seed=1)
    rows = naive(log, name, memory, seed=5)
    found = replay(log, name, memory=memory, seed=5)
    assert found.matches == len(rows)
    assert sum(found.pulls.values()) == len(rows)
    assert found.value.value == pytest.approx(float(log.reward[rows].mean()))


def test_seeds_decide() -> None:
    log = SKEWED.log(3000, seed=1)
    runs = [replay(log, "race", memory=2, seed=seed) for seed in (1, 1, 2, -1)]
    assert runs[0].pulls == runs[1].pulls
    assert runs[0].accepted == runs[1].accepted
    assert len({(run.accepted, run.value.value) for run in runs}) == 3


def test_every_row_is_walked_once_and_reported() -> None:
    log = uniform(0.5, 0.5).log(BLOCK + 10, seed=1)
    reported: list[int] = []
    found = replay(log, "random", progress=reported.append)
    assert reported == [BLOCK, BLOCK + 10]
    assert found.matches == pytest.approx((BLOCK + 10) / 2, rel=0.05)
    assert found.rows_per_second > 0


def test_a_policy_that_learns_recommends_the_best_arm_in_the_end() -> None:
    found = replay(uniform(0.1, 0.9, 0.2).log(3000, seed=1), "race", memory=2)
    assert found.recommended == "arm 01"
    assert found.pulls["arm 01"] > 0.8 * found.matches


def test_rewards_in_another_range() -> None:
    columns = uniform(0.2, 0.8).columns(1000, seed=1)
    other = {**columns, "reward": columns["reward"] * 4 - 1}
    plain = replay(columns, "race", memory=2)
    found = replay(read_log(other, rescale=(-1, 3)), "race", memory=2)
    assert found.value == pytest.approx([4 * number - 1 for number in plain.value])


def test_text_and_json() -> None:
    found = replay(uniform(0.2, 0.8).log(1000, seed=1), "ucb-m:eta=0.2", memory=2, seed=3)
    first, second, third = repr(found).splitlines()
    assert first == "UCB-M (eta=0.2), M = 2, replayed on 1,000 decisions, seed 3"
    assert second.startswith(f"  mean reward of its first {found.matches} decisions: 0.")
    assert third == "  recommended in the end: arm 01"
    data = json.loads(json.dumps(found.to_dict()))
    assert data["matches"] == found.matches
    assert data["low"] < data["value"] < data["high"]


@pytest.mark.parametrize(
    ("policy", "memory", "mentions"),
    [
        ("rase", 2, ("no policy 'rase'", "race")),
        ("race", None, ("memory is missing",)),
        ("race", 1, ("memory=1", "memory >= 2")),
        ("qucb-m", 2, ("endless arms", "such as race")),
        ("ucb-m:beta=1", 2, ("beta",)),
        ("mpse", None, ("horizon",)),
    ],
)
def test_a_policy_that_cannot_work_is_refused(
    policy: str, memory: int | None, mentions: tuple[str, ...]
) -> None:
    with refused(SettingError, ValueError, *mentions):
        replay(SKEWED.log(100, seed=1), policy, memory=memory)


def test_no_match_is_no_value() -> None:
    # The policy takes arm a first. Of its rows none is accepted, but for a probability of 1e-8.
    log = {"arm": ["a"] * 9 + ["b"], "reward": [1] * 10, "probability": [1.0] * 9 + [1e-9]}
    found = replay(log, Alternating)
    assert (found.matches, found.accepted, found.pulls) == (0, 1, {})
    assert str(found.value) == "unknown"
    assert found.to_dict()["value"] is None


# The intervals; `bounds` has a false-alarm rate of 1e-4 for each count.


def replays(
    make: Callable[[int], Log], policy: str, memory: int | None, logs: int, every: bool = False
) -> list[Replay]:
    return [
        replay(make(seed), policy, memory=memory, seed=seed, every_row=every)
        for seed in range(logs)
    ]


def of_the_path(found: Replay, means: dict[str, float]) -> float:
    """The mean of the arms that a replay chose: what its interval is of."""
    return sum(count * means[arm] for arm, count in found.pulls.items()) / found.matches


EVEN = uniform(0.2, 0.3, 0.4, 0.5, 0.6)


def check_random(rows: int, logs: int) -> None:
    low, high = bounds(logs)
    found = replays(lambda seed: EVEN.log(rows, seed), "random", None, logs)
    assert low <= missed((each.value, EVEN.value()) for each in found) <= high


def test_the_value_of_a_uniform_policy_is_inside_its_interval() -> None:
    check_random(rows=600, logs=200)


@pytest.mark.long
def test_the_value_of_a_uniform_policy_is_inside_its_interval_in_1000_logs() -> None:
    check_random(rows=2000, logs=1000)


def hours(rows: int, seed: int, honest: bool = True) -> Log:
    """A log of good and bad hours, in which arm a was shown mostly in good ones.

    Its mean is 0.6 and that of arm b 0.4. If the log is not honest, it claims equal probabilities.
    """
    draws = np.random.default_rng(seed)
    good = draws.random(rows) < 0.5
    shows_a = draws.random(rows) < np.where(good, 0.8, 0.2)
    mean = np.where(good, 0.7, 0.3) + np.where(shows_a, 0.1, -0.1)
    probability = np.where(shows_a == good, 0.8, 0.2)
    return read_log({
        "arm": np.where(shows_a, "a", "b"),
        "reward": (draws.random(rows) < mean).astype(float),
        "probability": probability if honest else np.full(rows, 0.5),
    })  # fmt: skip


HOURS = {"a": 0.6, "b": 0.4}


def missed_on_hours(rows: int, logs: int, honest: bool, every: bool = False) -> int:
    found = replays(lambda seed: hours(rows, seed, honest), "race", 2, logs, every)
    return missed((each.value, of_the_path(each, HOURS)) for each in found)


def test_a_policy_that_learns_is_inside_its_interval_on_a_log_that_is_not_uniform() -> None:
    # Wilson's interval is of the overall mean, so it is a little too wide: no lower bound.
    assert missed_on_hours(1500, 200, honest=True) <= bounds(200)[1]


def test_wrong_probabilities_or_every_row_would_be_seen() -> None:
    assert missed_on_hours(1500, 50, honest=False) > bounds(50)[1]
    assert missed_on_hours(1500, 50, honest=True, every=True) > bounds(50)[1]


@pytest.mark.long
def test_a_policy_that_learns_is_inside_its_interval_in_1000_logs() -> None:
    assert missed_on_hours(3000, 1000, honest=True) <= bounds(1000)[1]
    means = dict(zip(EVEN.labels, EVEN.means, strict=True))
    for policy, memory in (("race", 2), ("ts", None)):
        found = replays(lambda seed: EVEN.log(2000, seed), policy, memory, 1000)
        assert missed((each.value, of_the_path(each, means)) for each in found) <= bounds(1000)[1]


def test_where_the_reward_depends_on_the_arm_alone_every_row_will_do() -> None:
    means = dict(zip(SKEWED.labels, SKEWED.means, strict=True))
    logs = [SKEWED.log(500, seed) for seed in range(100)]
    all_rows, some = (
        [replay(log, "race", memory=2, seed=1, every_row=every) for log in logs]
        for every in (True, False)
    )
    assert missed((each.value, of_the_path(each, means)) for each in all_rows) <= bounds(100)[1]
    assert sum(each.matches for each in all_rows) > 1.3 * sum(each.matches for each in some)
