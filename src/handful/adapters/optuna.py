"""A sampler for Optuna that repeats noisy trials of promising configurations.

    space = {"model": ["small", "large"], "depth": IntDistribution(1, 8)}
    sampler = HandfulSampler(space, memory=8, value_range=(0, 100), seed=1)
    study = optuna.create_study(direction="minimize", sampler=sampler)
    study.optimize(objective, n_trials=1_000)
    sampler.recommend(study)

Where the objective is noisy, `study.best_params` are those of the luckiest trial. This sampler
treats each configuration as an arm and each trial as a pull: it evaluates good ones again and drops
the others, with statistics of at most `memory` configurations. If every distribution is
categorical, integer or has a step, the arms are all combinations, which take no memory however many
there are. If one is continuous, or there are 2^62 combinations or more, arms are endless: Optuna
draws each new one at random.

**Many workers, one policy.** The storage of the study is the log, and the policy is its fold
(`handful.adapters._trials`). So several workers on one storage continue one policy, and a study
that is loaded again goes on where it was. Every worker needs a sampler with the same arguments.

A trial that is pruned counts as the value that it reported last; one that fails, or is pruned
without a report, as the worst value. Trials whose parameters were given, by `enqueue_trial`, by a
second try or by another sampler, are not counted. A value outside of `value_range` counts as the
nearest end of it, with a warning; in the study it stays as it is.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from threading import Lock
from typing import Any

import handful
from handful.errors import MissingExtraError, SettingError

try:
    from optuna.distributions import (
        BaseDistribution,
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )
    from optuna.samplers import BaseSampler, RandomSampler
    from optuna.study import Study, StudyDirection
    from optuna.trial import FrozenTrial, TrialState
except ImportError as error:
    if error.name != "optuna":
        raise
    raise MissingExtraError("the sampler for Optuna", "optuna", "optuna") from None

from handful.adapters._trials import RECORD, Fold, is_given, record_of

__all__ = ["HandfulSampler"]
MOST_COMBINATIONS = 2**62 - 1
"""The most arms of a finite set."""
POLL = 0.005
"""Seconds between two looks for the decision of an earlier trial."""


class HandfulSampler(BaseSampler):
    """A policy of handful that decides which configuration is tried next.

    search_space   for each parameter its distribution, as the objective suggests it; a list stands
                   for categorical choices
    policy         the name of a policy, with `settings`; for endless arms one that takes these
    memory         the most configurations with statistics
    value_range    (lo, hi), between which values of the objective lie
    seed           the same in every worker; None: it follows from the name of the study
    patience       seconds after which an earlier trial that has no decision yet is left out,
                   since its worker seems to have died
    """

    def __init__(
        self,
        search_space: Mapping[str, BaseDistribution | Sequence[Any]],
        policy: str = "race",
        memory: int | None = None,
        *,
        value_range: tuple[float, float] = (0.0, 1.0),
        seed: int | None = None,
        patience: float = 60.0,
        **settings: float,
    ) -> None:
        if not search_space:
            raise SettingError("search_space is empty: give at least one parameter")
        self._space = {name: _distribution(given) for name, given in search_space.items()}
        self._policy, self._memory, self._settings = policy, memory, settings
        self._range, self._seed, self._patience = value_range, seed, patience
        self._new_policy(0)  # refuses what cannot work
        self._independent = RandomSampler()
        self._reset()
        self.outside = 0
        """How many values this worker has seen outside of `value_range`."""

    def _reset(self) -> None:
        self._lock = Lock()
        self._fold: Fold | None = None
        self._study: tuple[Any, int] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return all but what follows from the storage."""
        return {k: v for k, v in vars(self).items() if k not in ("_lock", "_fold", "_study")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._reset()

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Decide for a trial when it is made: parameters may be suggested much later."""
        self._raise_error_if_multi_objective(study)
        if is_given(trial) or record_of(trial) is not None:
            return
        while True:
            with self._lock:
                if self._decide(study, trial):
                    return
            time.sleep(POLL)

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """Return the search space that was given."""
        return dict(self._space)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return the configuration that was decided for."""
        record = record_of(study._storage.get_trial(trial._trial_id))
        return {} if record is None else self.params(tuple(record["arm"]))

    def _decide(self, study: Study, trial: FrozenTrial) -> bool:
        """Decide for a trial and record it; return False if an earlier one comes first."""
        try:
            trials, fold = self._advanced(study, trial.number, self._patience)
            if fold.next < trial.number:
                return False
            record = fold.decide(trials)
            plain: Any = dict(record)
            study._storage.set_trial_system_attr(trial._trial_id, RECORD, plain)
        except BaseException:
            self._fold = None  # it may be ahead of the storage
            raise
        return True

    def _advanced(
        self, study: Study, number: int | None = None, patience: float = math.inf
    ) -> tuple[list[FrozenTrial], Fold]:
        """Return the trials of a study, and the fold of those before one, as far as decided."""
        trials = study._storage.get_all_trials(study._study_id, deepcopy=False)
        if self._fold is None or self._study != (study._storage, study._study_id):
            self._fold = self._new_fold(study)
            self._study = (study._storage, study._study_id)
        elif self._fold.is_outdated(trials) or (number is not None and self._fold.next > number):
            self._fold = self._new_fold(study)
        self._fold.advance(trials, len(trials) if number is None else number, patience)
        return trials, self._fold

    def _new_fold(self, study: Study) -> Fold:
        seed = self._seed
        if seed is None:
            seed = _hashed(study.study_name, 8)
        is_loss = study.direction is not StudyDirection.MAXIMIZE
        return Fold(self._new_policy(seed), self._range, is_loss)

    def _new_policy(self, seed: int) -> handful.Policy:
        sizes = [_size(each) for each in self._space.values()]
        arms: handful.FiniteArms | handful.Reservoir
        n = math.prod(size for size in sizes if size is not None)
        if None in sizes or n > MOST_COMBINATIONS:
            arms = handful.Reservoir(lambda index: self._drawn(seed, index))
        else:
            arms = handful.FiniteArms(self._combination, n=n)
        return handful.policy(
            self._policy, arms, self._memory, rescale=self._range, seed=seed, **self._settings
        )

    def _combination(self, index: int) -> tuple[Any, ...]:
        """Return a configuration by its number, counted with the last parameter first."""
        values = []
        for distribution in reversed(self._space.values()):
            index, place = divmod(index, _size(distribution) or 1)
            values.append(_value(distribution, place))
        return tuple(reversed(values))

    def _drawn(self, seed: int, index: int) -> tuple[Any, ...]:
        """Return an endless arm by its number, drawn by Optuna: the same one in every worker."""
        draw: Any = RandomSampler(_hashed(f"{seed}/{index}", 4)).sample_independent
        return tuple(draw(None, None, name, each) for name, each in self._space.items())

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """Draw what an enqueued trial leaves open at random; refuse unknown parameters."""
        if param_name not in self._space:
            known = ", ".join(self._space)
            raise SettingError(
                f"the objective suggests {param_name!r}, which is not in search_space ({known}): "
                "add it, with the distribution that is suggested"
            )
        if "fixed_params" not in trial.system_attrs:
            raise SettingError(
                f"the objective suggests {param_name!r} with {param_distribution}, which does not "
                f"have all values of {self._space[param_name]} in search_space: give it the same "
                "distribution"
            )
        return self._independent.sample_independent(study, trial, param_name, param_distribution)

    def reseed_rng(self) -> None:
        """Reseed what is drawn for enqueued trials. The policy is shared, so it stays as it is."""
        self._independent.reseed_rng()

    def after_trial(
        self,
        study: Study,
        trial: FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,
    ) -> None:
        """Warn of the first value outside of the range. The result itself is read off the study."""
        lo, hi = self._range
        if state is TrialState.COMPLETE and values and not lo <= values[0] <= hi:
            self.outside += 1
            if self.outside == 1:
                warnings.warn(
                    f"trial {trial.number} has the value {values[0]:g}, outside of value_range="
                    f"{self._range}: it counts as the nearest end. Means of configurations with "
                    "such values are biased: give a wider range",
                    stacklevel=2,
                )

    def bandit(self, study: Study) -> handful.Policy:
        """Return a copy of the policy that knows all results so far; print it to see its arms."""
        with self._lock:
            trials, fold = self._advanced(study)
            return fold.with_results(trials)

    def recommend(self, study: Study) -> dict[str, Any]:
        """Return the configuration that the policy recommends, by the results so far."""
        return self.params(self.bandit(study).recommend())

    def params(self, arm: tuple[Any, ...]) -> dict[str, Any]:
        """Return the parameters of an arm of `bandit`."""
        return dict(zip(self._space, arm, strict=True))


def _distribution(given: BaseDistribution | Sequence[Any]) -> BaseDistribution:
    if isinstance(given, BaseDistribution):
        return given
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise SettingError(
            f"search_space has {given!r}: give a distribution of Optuna, or a list of choices"
        )
    return CategoricalDistribution(given)


def _size(distribution: BaseDistribution) -> int | None:
    """Return how many values a distribution has; None if it is continuous."""
    if distribution.single():
        return 1
    if isinstance(distribution, CategoricalDistribution):
        return len(distribution.choices)
    assert isinstance(distribution, IntDistribution | FloatDistribution)
    if distribution.step is None:
        return None
    return round((distribution.high - distribution.low) / distribution.step) + 1


def _value(distribution: BaseDistribution, place: int) -> Any:
    """Return a value of a distribution by its place."""
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[place]
    assert isinstance(distribution, IntDistribution | FloatDistribution)
    return min(distribution.high, distribution.low + place * (distribution.step or 1))


def _hashed(text: str, size: int) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=size).digest(), "little")
