"""An environment of handful's instances for Gymnasium.

    import handful.adapters.gymnasium  # registers it

    env = gymnasium.make("handful/Bandit-v0", instance="linear:100", max_episode_steps=10_000)

An action is an arm and its reward is drawn as the instance says. There is nothing to observe: the
observation is always 0. Episodes do not end by themselves; `max_episode_steps` truncates them.

With `delay` or `lost`, as in `handful.simulate`, a step returns the sum of the rewards that come in
at it, and `info["arrived"]` has them one by one, as pairs of the number of their step and the
reward. Steps are numbered from 0 in each episode. `info["regret"]` is the best mean minus that of
the arm that was pulled; `info["mean"]` the latter.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any

from handful.errors import MissingExtraError, SettingError
from handful.instances import Instance
from handful.instances import instance as instance_of
from handful.instances.traffic import LOST, arrival, traffic

try:
    import gymnasium
    from gymnasium import spaces
except ImportError as error:
    if error.name != "gymnasium":
        raise
    raise MissingExtraError("the environment for Gymnasium", "gymnasium", "gymnasium") from None

import numpy as np

__all__ = ["ENV_ID", "BanditEnv"]
ENV_ID = "handful/Bandit-v0"


class BanditEnv(gymnasium.Env[np.int64, int | np.int64]):
    """The arms of an instance as the actions of an environment.

    instance   the name of an instance, such as "linear:100", or an `Instance`. Of endless arms,
               such as "beta:1:1:1", every episode has other ones
    delay      when rewards come: a number of decisions, "geometric:MEAN" or "batch:N"
    lost       the probability that a reward never comes
    """

    metadata = {"render_modes": []}  # noqa: RUF012  the base class has it so

    def __init__(
        self,
        instance: str | Instance,
        *,
        delay: str | float | None = None,
        lost: float | None = None,
        render_mode: None = None,
    ) -> None:
        if render_mode is not None:
            raise SettingError(f"render_mode={render_mode!r}: there is nothing to draw: give None")
        self.instance = instance if isinstance(instance, Instance) else instance_of(instance)
        if self.instance.periods > 1:
            raise SettingError(
                f"{self.instance.name} drifts in the course of a horizon, and an episode has none: "
                "give it without time="
            )
        flow = traffic(delay, lost)
        self._flow = None if flow is None else flow.numbers(self.instance)
        self.render_mode = None
        self.action_space = spaces.Discrete(self.instance.n_arms)
        self.observation_space = spaces.Discrete(1)
        self._best = self.instance.best_mean
        self._step: int | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.int64, dict[str, Any]]:
        """Start an episode. With a seed, it and all later ones can be repeated."""
        super().reset(seed=seed)
        self._rewards, self._delays = self._stream(), self._stream()
        self._arms_key = self._word()
        self._waiting: list[tuple[int, int, float]] = []
        self._step = 0
        return np.int64(0), {}

    def step(self, action: int | np.int64) -> tuple[np.int64, float, bool, bool, dict[str, Any]]:
        """Pull an arm; return what came in, and in `info` what is known of the pull."""
        if self._step is None:
            raise SettingError("the environment has not been reset: call reset() before step()")
        if not self.action_space.contains(action):
            raise SettingError(
                f"there is no arm {action!r}: give an integer from 0 to {self.instance.n_arms - 1}"
            )
        mean = self.instance.mean(int(action), self._arms_key)
        reward = self.instance.draw_at(mean, self._rewards, int(action))
        arrived = self._deliver(reward)
        self._step += 1
        info = {"mean": mean, "regret": self._best - mean, "arrived": arrived}
        return np.int64(0), sum((reward for _, reward in arrived), 0.0), False, False, info

    def _deliver(self, reward: float) -> list[tuple[int, float]]:
        """Send off the reward of this step, and return what comes in at it."""
        assert self._step is not None
        if self._flow is None:
            return [(self._step, reward)]
        due = arrival(self._flow, self._step + 1, reward, self._delays)
        if due != LOST:
            heappush(self._waiting, (due, self._step, reward))
        arrived = []
        while self._waiting and self._waiting[0][0] <= self._step + 1:
            _, step, late = heappop(self._waiting)
            arrived.append((step, late))
        return arrived

    def _stream(self) -> list[int]:
        """Return a generator of handful's, which this environment's own generator seeds."""
        return [self._word(), self._word() | 1]

    def _word(self) -> int:
        return int(self.np_random.integers(2**64, dtype=np.uint64))


if ENV_ID not in gymnasium.registry:
    gymnasium.register(id=ENV_ID, entry_point="handful.adapters.gymnasium:BanditEnv")
