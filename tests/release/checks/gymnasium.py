"""An instance as an environment: an episode with late rewards."""

from __future__ import annotations

import gymnasium

import handful
import handful.adapters.gymnasium


def main() -> None:
    """Check this environment."""
    name = handful.adapters.gymnasium.ENV_ID
    env = gymnasium.make(name, instance="linear:20", delay=5, max_episode_steps=300)
    env.reset(seed=1)
    policy = handful.Race(20, memory=4, seed=1)
    tickets, truncated = [], False
    while not truncated:
        arm, ticket = policy.decide()
        tickets.append(ticket)
        _, _, _, truncated, info = env.step(arm)
        for number, reward in info["arrived"]:
            policy.reward(tickets[number], reward)
    assert policy.pulls > 200, policy
    print(f"an episode of {policy.decisions} steps")


if __name__ == "__main__":
    main()
