"""Our instances as an environment: what is drawn, what Gymnasium's checker says, late rewards."""

from __future__ import annotations

import copy
import random
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import handful
from handful.adapters.gymnasium import ENV_ID, BanditEnv
from handful.errors import SettingError, UnknownNameError
from handful.instances import instance

STEPS = 300


@pytest.mark.parametrize(
    "settings",
    [
        {"instance": "linear:100"},
        {"instance": "beta:1:1:1"},
        {"instance": "linear:10+beta", "delay": "geometric:5", "lost": 0.2},
    ],
    ids=lambda settings: str(settings["instance"]),
)
def test_gymnasium_s_checker_has_no_complaint(settings: dict[str, Any]) -> None:
    check_env(gymnasium.make(ENV_ID, max_episode_steps=30, **settings).unwrapped)  # warns or raises


def test_data_are_drawn_from_their_rows() -> None:
    env = BanditEnv(handful.from_data({"arm": [0, 0, 1, 1], "reward": [0.25, 0.5, 0.75, 1.0]}))
    env.reset(seed=3)
    assert {env.step(1)[1] for _ in range(50)} == {0.75, 1.0}


@pytest.mark.parametrize("name", ["linear:20+beta", "beta:1:1:1"])
def test_the_choices_of_a_policy_are_those_without_it(name: str) -> None:
    env = gymnasium.make(ENV_ID, max_episode_steps=STEPS, instance=name)
    world = instance(name)
    words = np.random.default_rng(17)  # as the environment's own generator, `np_random`
    arms: Any = (lambda index: index) if world.endless else world.n_arms
    inside, outside = (handful.Race(arms, 4, seed=2) for _ in range(2))
    drawn = [int(words.integers(2**64, dtype=np.uint64)) for _ in range(5)]
    rng, key = [drawn[0], drawn[1] | 1], drawn[4]
    env.reset(seed=17)
    truncated = False
    while not truncated:
        arm = outside.select()
        outside.update(arm, world.draw(arm, rng, key))
        assert inside.select() == arm
        _, reward, terminated, truncated, info = env.step(arm)
        assert not terminated
        assert info["mean"] == world.mean(arm, key)
        assert info["regret"] == world.best_mean - info["mean"]
        inside.update(arm, float(reward))
        assert inside.to_bytes() == outside.to_bytes()
    assert inside.decisions == STEPS


def test_rewards_have_the_means_of_the_instance() -> None:
    env = BanditEnv("bernoulli:0.2,0.7")
    env.reset(seed=3)
    means = [np.mean([env.step(arm)[1] for _ in range(4_000)]) for arm in (0, 1)]
    # Six standard errors: a false alarm about twice in a thousand million.
    assert means == pytest.approx([0.2, 0.7], abs=6 * 0.0073)


def test_late_rewards_come_when_they_are_due() -> None:
    at_once, late = BanditEnv("linear:5+beta"), BanditEnv("linear:5+beta", delay=3)
    at_once.reset(seed=1)
    late.reset(seed=1)
    rng = random.Random(4)
    rewards = []
    for step in range(50):
        arm = rng.randrange(5)
        rewards.append(at_once.step(arm)[1])
        _, reward, _, _, info = late.step(arm)
        due = [(step - 3, rewards[step - 3])] if step >= 3 else []
        assert info["arrived"] == due
        assert reward == sum(value for _, value in due)


def test_a_batch_comes_together_and_lost_rewards_never() -> None:
    env = BanditEnv("bernoulli:1,1", delay="batch:10", lost=0.5)
    env.reset(seed=1)
    arrived = []
    for step in range(1, 401):
        _, reward, _, _, info = env.step(0)
        assert reward == len(info["arrived"])
        assert step % 10 == 0 or not info["arrived"]
        arrived += [number for number, _ in info["arrived"]]
    assert arrived == sorted(set(arrived))
    assert 130 < len(arrived) < 270  # seven standard deviations around 200


def test_a_policy_decides_with_late_rewards() -> None:
    env = BanditEnv("linear:20", delay="geometric:10")
    env.reset(seed=5)
    policy, tickets, regret = handful.Race(20, 4, seed=1), [], 0.0
    for _ in range(1_000):
        arm, ticket = policy.decide()
        tickets.append(ticket)
        info = env.step(arm)[4]
        regret += info["regret"]
        for number, reward in info["arrived"]:
            assert policy.reward(tickets[number], reward) in ("credited", "forgotten")
    assert policy.pulls > 700
    assert regret < 300  # at random, about 490


def test_episodes_can_be_repeated_and_differ() -> None:
    env = BanditEnv("beta:1:1:1")

    def episode(seed: int | None) -> list[float]:
        env.reset(seed=seed)
        return [env.step(arm)[4]["mean"] for arm in range(10)]

    first, second = episode(8), episode(None)
    assert first != second
    assert [episode(8), episode(None)] == [first, second]
    twin = copy.deepcopy(env)
    assert [twin.step(3)[1] for _ in range(20)] == [env.step(3)[1] for _ in range(20)]


def test_it_can_be_made_from_its_own_specification() -> None:
    env = gymnasium.make(ENV_ID, instance="linear:7", max_episode_steps=5)
    assert env.spec is not None
    again = gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert again.action_space == env.action_space
    vector = gymnasium.make_vec(ENV_ID, num_envs=2, instance="linear:7")
    vector.reset(seed=1)
    assert vector.step(np.array([0, 6]))[1].shape == (2,)
    vector.close()


def test_data_are_an_environment_unless_they_drift(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = [f"{t},{'ab'[t % 2]},{t % 4 // 3}" for t in range(400)]  # b: a half; a: never
    path.write_text("\n".join(["when,which,click", *rows]))
    env = BanditEnv(f"data:{path}?arm=which&reward=click")
    env.reset(seed=1)
    means = [env.step(arm)[4]["mean"] for arm in range(2)]
    assert means == [0.0, 0.5]
    assert 60 < sum(env.step(1)[1] for _ in range(200)) < 140  # over five standard deviations
    with pytest.raises(SettingError, match="drifts in the course of a horizon"):
        BanditEnv(f"data:{path}?arm=which&reward=click&time=when")


def test_mistakes_are_refused() -> None:
    with pytest.raises(UnknownNameError):
        BanditEnv("liniar:7")
    with pytest.raises(SettingError, match="lost=2"):
        BanditEnv("linear:7", lost=2.0)
    with pytest.raises(SettingError, match="nothing to draw"):
        BanditEnv("linear:7", render_mode="human")  # type: ignore[arg-type]
    env = BanditEnv("linear:7")
    with pytest.raises(SettingError, match="reset"):
        env.step(0)
    env.reset()
    with pytest.raises(SettingError, match=r"no arm 7.*from 0 to 6"):
        env.step(7)
