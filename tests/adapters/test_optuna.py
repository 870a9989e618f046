"""The sampler for Optuna: the choices of the policy itself, whoever works on the study."""

from __future__ import annotations

import itertools
import math
import multiprocessing
import pickle
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import optuna
import pytest
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
from optuna.study import Study
from optuna.trial import Trial, TrialState

import handful
from handful.adapters.optuna import HandfulSampler
from handful.errors import HandfulError, SettingError

SPACE: dict[str, BaseDistribution | Sequence[Any]] = {
    "model": ["small", "large", None],
    "depth": IntDistribution(1, 9, step=4),
    "rate": FloatDistribution(0.1, 0.5, step=0.2),
}
CONFIGS = list(
    itertools.product(["small", "large", None], [1, 5, 9], [0.1, 0.30000000000000004, 0.5])
)
VALUES = (-1.0, 3.0)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    yield
    optuna.logging.set_verbosity(before)


@pytest.fixture
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return None if request.param == "memory" else f"sqlite:///{tmp_path / 'study.db'}"


BOTH = pytest.mark.parametrize("storage", ["memory", "sqlite"], indirect=True)


def sampler(**changes: Any) -> HandfulSampler:
    return HandfulSampler(SPACE, memory=4, **{"value_range": VALUES, "seed": 3, **changes})


def suggested(trial: Trial) -> tuple[Any, ...]:
    return (
        trial.suggest_categorical("model", ["small", "large", None]),
        trial.suggest_int("depth", 1, 9, step=4),
        trial.suggest_float("rate", 0.1, 0.5, step=0.2),
    )


def value_of(config: tuple[Any, ...], rng: random.Random) -> float:
    """A noisy value in the range: the larger the place of the configuration, the larger."""
    share = (CONFIGS.index(config) + 1) / (len(CONFIGS) + 1)
    return VALUES[0] + (VALUES[1] - VALUES[0]) * float(rng.random() < share)


def trouble(number: int) -> TrialState:
    """What becomes of a trial."""
    return {3: TrialState.FAIL, 5: TrialState.PRUNED}.get(number % 7, TrialState.COMPLETE)


@pytest.mark.parametrize(
    ("name", "direction", "storage", "n_trials"),
    [
        ("race", "maximize", "memory", 200),
        ("race", "minimize", "sqlite", 8),
        ("ucb-m", "minimize", "memory", 200),
    ],
    indirect=["storage"],
)
def test_its_choices_are_those_of_the_policy(
    name: str, direction: Literal["maximize", "minimize"], storage: Any, n_trials: int
) -> None:
    alone = handful.policy(name, CONFIGS, 4, rescale=VALUES, seed=3)
    ours, theirs = random.Random(1), random.Random(1)
    tried = []

    def objective(trial: Trial) -> float:
        config = suggested(trial)
        tried.append(config)
        if trouble(trial.number) is TrialState.FAIL:
            raise ZeroDivisionError
        if trouble(trial.number) is TrialState.PRUNED:
            trial.report(2.0, 0)  # which Optuna keeps as the value of the trial
            raise optuna.TrialPruned
        return value_of(config, theirs)

    study = optuna.create_study(storage=storage, direction=direction, sampler=sampler(policy=name))
    study.optimize(objective, n_trials=n_trials, catch=ZeroDivisionError)
    trials = study.trials
    for number, config in enumerate(tried):
        arm, ticket = alone.decide()
        assert arm == config
        lo, hi = VALUES
        if trouble(number) is TrialState.FAIL:
            value = lo if direction == "maximize" else hi
            assert trials[number].value is None
        else:
            value = value_of(config, ours) if trouble(number) is TrialState.COMPLETE else 2.0
            assert trials[number].value == value
        alone.reward(ticket, value if direction == "maximize" else lo + hi - value)
    assert len(tried) == n_trials
    known = sampler(policy=name).bandit(study)
    assert known.stats() == alone.stats()
    assert tuple(sampler(policy=name).recommend(study).values()) == alone.recommend()
    assert len(known.arms_in_memory) <= 4


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
@pytest.mark.parametrize("error", [MemoryError, optuna.TrialPruned])
def test_a_configuration_that_always_fails_is_given_up(
    direction: Literal["maximize", "minimize"], error: type[Exception]
) -> None:
    rng = random.Random(1)

    def objective(trial: Trial) -> float:
        config = suggested(trial)
        if config[0] == "large":  # a third of the configurations
            raise error
        return value_of(config, rng)

    study = optuna.create_study(direction=direction, sampler=sampler())
    study.optimize(objective, n_trials=300, catch=MemoryError)
    complete = [trial for trial in study.trials if trial.state is TrialState.COMPLETE]
    assert len(complete) > 200
    assert len({tuple(trial.params.values()) for trial in complete}) > 5
    assert sampler().recommend(study)["model"] != "large"


def test_open_trials_and_late_results() -> None:
    alone = handful.Race(CONFIGS, 4, rescale=VALUES, seed=3)
    study = optuna.create_study(direction="maximize", sampler=sampler())
    rng = random.Random(5)
    waiting: list[tuple[Trial, int]] = []
    due: list[tuple[int, int, float]] = []
    for _ in range(120):
        for _, ticket, value in sorted(due):  # results are taken in by the next decision
            alone.reward(ticket, value)
        due.clear()
        trial = study.ask()
        arm, ticket = alone.decide()
        assert suggested(trial) == arm
        waiting.append((trial, ticket))
        while len(waiting) > 8 or (waiting and rng.random() < 0.4):
            done, ticket = waiting.pop(rng.randrange(len(waiting)))
            value = rng.uniform(*VALUES)
            study.tell(done, value)
            due.append((done.number, ticket, value))
    assert alone.pulls > 60


@BOTH
def test_a_study_goes_on_with_a_new_sampler(storage: Any) -> None:
    def run(parts: list[int], name: str) -> list[tuple[Any, ...]]:
        rng = random.Random(7)
        tried = []

        def objective(trial: Trial) -> float:
            tried.append(suggested(trial))
            return value_of(tried[-1], rng)

        where = storage or optuna.storages.InMemoryStorage()
        for n_trials in parts:
            study = optuna.create_study(
                study_name=name, storage=where, sampler=sampler(), load_if_exists=True
            )
            study.optimize(objective, n_trials=n_trials)
        return tried

    assert run([3, 1, 3], "parts") == run([7], "whole")


@BOTH
def test_threads_share_one_policy(storage: Any) -> None:
    study = optuna.create_study(storage=storage, direction="maximize", sampler=sampler())
    lock, rng = threading.Lock(), random.Random(2)

    def objective(trial: Trial) -> float:
        config = suggested(trial)
        with lock:
            return value_of(config, rng)

    n_trials = 200 if storage is None else 12
    study.optimize(objective, n_trials=n_trials, n_jobs=4)
    for trial in study.trials:
        assert list(trial.params.values()) == trial.system_attrs["handful"]["arm"]
    fresh = sampler().bandit(study)  # follows every decision
    assert fresh.decisions == fresh.pulls == n_trials
    assert fresh.to_bytes() == sampler().bandit(study).to_bytes()


def _work(url: str, seed: int, n_trials: int) -> None:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.load_study(study_name="shared", storage=url, sampler=sampler())
    rng = random.Random(seed)
    study.optimize(lambda trial: value_of(suggested(trial), rng), n_trials=n_trials)


def test_processes_share_one_policy(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    study = optuna.create_study(study_name="shared", storage=url, direction="maximize")
    worker = multiprocessing.get_context("spawn").Process(target=_work, args=(url, 1, 5))
    worker.start()
    while not study.trials:
        time.sleep(0.01)
    _work(url, 2, 5)
    worker.join(120)
    assert worker.exitcode == 0
    fresh = sampler().bandit(study)
    assert fresh.decisions == fresh.pulls == 10
    assert {t.state for t in study.trials} == {TrialState.COMPLETE}


def test_a_trial_whose_worker_died_is_left_out() -> None:
    storage = optuna.storages.InMemoryStorage()

    def joined(patience: float = 60.0) -> Study:
        return optuna.create_study(
            study_name="x", storage=storage, direction="maximize", load_if_exists=True,
            sampler=sampler(patience=patience),
        )  # fmt: skip

    first, second, slow = joined(0.02), joined(0.02), joined()
    rng = random.Random(1)

    def run(study: Study, n_trials: int) -> None:
        study.optimize(lambda trial: value_of(suggested(trial), rng), n_trials=n_trials)

    run(first, 5)
    run(second, 5)
    run(slow, 2)
    lost = storage.create_new_trial(first._study_id)  # trial 12, without a decision
    number = storage.get_trial(lost).number
    run(first, 3)
    assert first.trials[13].system_attrs["handful"]["without"] == [number]
    late = Trial(slow, lost)  # it was only slow: it does not know yet that it was left out
    config = suggested(late)
    assert first.trials[number].system_attrs["handful"]["arm"] == list(config)
    slow.tell(late, 1.0)
    for study in (slow, second, first, joined()):
        run(study, 3)
    for study in (first, second):
        kept = vars(study.sampler)["_fold"]
        run(study, 2)
        assert vars(study.sampler)["_fold"] is kept  # none has to start again any more
    assert sum(len(t.system_attrs["handful"]["without"]) for t in first.trials) == 1
    counted = sampler().bandit(first)
    assert counted.decisions == counted.pulls == len(first.trials) - 1


def test_a_trial_that_its_own_sampler_has_left_out() -> None:
    study = optuna.create_study(direction="maximize", sampler=sampler(patience=0.0))
    lost = study._storage.create_new_trial(study._study_id)
    study.tell(study.ask(), 1.0)
    late = Trial(study, lost)
    assert suggested(late) in CONFIGS
    study.tell(late, -1.0)
    for _ in range(5):
        study.tell(study.ask(), 1.0)
    counted = sampler().bandit(study)
    assert counted.decisions == counted.pulls == 6
    assert all(arm.mean == 1.0 for arm in counted.stats() if arm.pulls)


@pytest.mark.parametrize("seed", range(12))
def test_workers_agree_whatever_the_order_of_their_records(seed: int) -> None:
    """Workers without patience, each stopped at any point between its number and its record."""
    rng = random.Random(seed)
    study = optuna.create_study(direction="maximize")
    storage, study_id = study._storage, study._study_id
    workers = [sampler() for _ in range(4)]
    doing: dict[int, tuple[int, int, Any]] = {}  # of a worker: trial, its number, its record
    decided: list[int] = []
    for _ in range(150):
        who = rng.randrange(len(workers))
        if decided and rng.random() < 0.3:
            study.tell(decided.pop(rng.randrange(len(decided))), rng.uniform(*VALUES))
        if who not in doing:
            trial_id = storage.create_new_trial(study_id)
            doing[who] = trial_id, storage.get_trial(trial_id).number, None
        trial_id, number, record = doing[who]
        if record is None:
            trials, fold = workers[who]._advanced(study, number, patience=0.0)
            doing[who] = trial_id, number, fold.decide(trials)
        else:
            storage.set_trial_system_attr(trial_id, "handful", dict(record))
            decided.append(number)
            del doing[who]
    fresh = sampler().bandit(study)
    assert fresh.decisions > 5
    for who, worker in enumerate(workers):
        if who not in doing:
            assert worker.bandit(study).to_bytes() == fresh.to_bytes()


def test_a_worker_that_followed_a_trial_too_soon_starts_again() -> None:
    study = optuna.create_study(direction="maximize", sampler=sampler(patience=0.0))
    storage, fast, soon = study._storage, sampler(patience=0.0), sampler()
    lost = storage.create_new_trial(study._study_id)
    storage.create_new_trial(study._study_id)
    impatient = fast._advanced(study, 1, patience=0.0)  # has given trial 0 up, not yet in writing
    assert impatient[1].next == 1
    Trial(optuna.load_study(study_name=study.study_name, storage=storage, sampler=sampler()), lost)
    assert soon._advanced(study, 1)[1].next == 1  # has followed its decision
    assert fast._advanced(study, 1)[1].policy.decisions == 1  # and so does this one now
    storage.set_trial_system_attr(
        1, "handful", {"trial": 1, "arm": list(handful.Race(CONFIGS, 4, seed=3).decide().arm),
                       "after": [], "without": [0]},
    )  # fmt: skip
    for each in (fast, soon, sampler()):
        assert each.bandit(study).decisions == 1  # of trial 1: all leave trial 0 out


def test_continuous_parameters_make_endless_arms() -> None:
    space: dict[str, BaseDistribution | Sequence[Any]] = {
        "rate": FloatDistribution(1e-4, 1.0, log=True),
        "model": ["a", "b"],
    }
    made = HandfulSampler(space, memory=3, seed=3)
    alone = handful.Race(handful.Reservoir(lambda index: made._drawn(3, index)), 3, seed=3)
    study = optuna.create_study(direction="minimize", sampler=made)
    rng = random.Random(1)
    seen = set()
    for _ in range(200):
        trial = study.ask()
        rate = trial.suggest_float("rate", 1e-4, 1.0, log=True)
        config = (rate, trial.suggest_categorical("model", ["a", "b"]))
        seen.add(config)
        decision = alone.decide()
        assert config == decision.arm
        loss = min(1.0, abs(math.log10(rate) + 2) / 2) * rng.random()
        study.tell(trial, loss)
        alone.reward(decision.ticket, 1.0 - loss)
    assert 5 < len(seen) < 200
    assert {model for _, model in seen} == {"a", "b"}
    again = HandfulSampler(space, memory=3, seed=3)
    assert again.recommend(study) == made.recommend(study)
    assert tuple(again.recommend(study).values()) == alone.recommend()
    drawn = [made._drawn(3, index)[0] for index in range(400)]
    # Uniform on a logarithmic scale: half of them are below 0.01. Five standard deviations.
    assert 150 < sum(rate < 0.01 for rate in drawn) < 250
    assert len(set(drawn)) == 400


def test_values_outside_of_the_range_count_as_its_ends() -> None:
    made = sampler()
    study = optuna.create_study(direction="minimize", sampler=made)
    alone = handful.Race(CONFIGS, 4, rescale=VALUES, seed=3)
    values = [5.0, -math.inf, math.inf, 0.5, -1.0, 3.0, -1.5] * 10
    with pytest.warns(UserWarning, match=r"value 5, outside of value_range=\(-1.0, 3.0\)"):
        study.optimize(lambda trial: suggested(trial) and values[trial.number], n_trials=1)
    study.optimize(lambda trial: suggested(trial) and values[trial.number], n_trials=69)
    assert made.outside == 40
    assert [trial.value for trial in study.trials] == values
    for value in values:
        alone.reward(alone.decide().ticket, 2.0 - min(max(value, -1.0), 3.0))
    assert made.bandit(study).stats() == alone.stats()


def test_trials_with_given_parameters_are_not_counted() -> None:
    study = optuna.create_study(direction="maximize", sampler=sampler())
    rng = random.Random(1)
    objective: Callable[[Trial], float] = lambda trial: value_of(suggested(trial), rng)  # noqa: E731
    study.optimize(objective, n_trials=4)
    study.enqueue_trial({"model": "large", "depth": 9})  # and some rate
    study.optimize(objective, n_trials=4)
    assert study.trials[4].params["depth"] == 9
    once = study.trials[3]
    study.add_trial(  # as Optuna tries a trial again whose worker has died
        optuna.trial.create_trial(
            state=TrialState.WAITING, params=once.params, distributions=once.distributions,
            system_attrs=once.system_attrs,
        )
    )  # fmt: skip
    study.optimize(objective, n_trials=4)
    assert study.trials[8].params == once.params
    other = optuna.load_study(
        study_name=study.study_name, storage=study._storage,
        sampler=optuna.samplers.RandomSampler(seed=1),
    )  # fmt: skip
    other.optimize(objective, n_trials=2)
    running = other.ask()
    suggested(running)
    study.optimize(objective, n_trials=4)
    assert len(study.trials) == 19
    assert sampler().bandit(study).decisions == 14


def test_a_sampler_can_be_pickled() -> None:
    made = sampler()
    study = optuna.create_study(direction="maximize", sampler=made)
    study.optimize(lambda trial: value_of(suggested(trial), random.Random(1)), n_trials=5)
    twin = pickle.loads(pickle.dumps(made))
    assert twin.bandit(study).to_bytes() == made.bandit(study).to_bytes()


def test_without_a_seed_it_follows_from_the_name_of_the_study() -> None:
    def first(name: str) -> list[Any]:
        study = optuna.create_study(study_name=name, sampler=sampler(seed=None))
        return [suggested(study.ask()) for _ in range(8)]

    assert first("a") == first("a") != first("b")


@pytest.mark.parametrize("words", [30, 31, 40])
def test_the_number_of_combinations_has_no_limit(words: int) -> None:
    space = {f"word {i}": ["a", "b", "c", "d"] for i in range(words)}  # 4^31 is 2^62
    made = HandfulSampler(space, memory=4, seed=1)
    study = optuna.create_study(sampler=made)
    tried = set()
    for _ in range(50):
        trial = study.ask()
        params = {name: trial.suggest_categorical(name, words) for name, words in space.items()}
        study.tell(trial, sum(word == "a" for word in params.values()) / words)
        tried.add(tuple(params.values()))
    assert len(tried) > 5
    assert tuple(made.recommend(study).values()) in tried


def test_mistakes_are_refused() -> None:
    with pytest.raises(SettingError, match="search_space is empty"):
        HandfulSampler({})
    for given in ("small", 3, {"small", "large"}):
        with pytest.raises(SettingError, match="a list of choices"):
            HandfulSampler({"model": given})  # type: ignore[dict-item]
    with pytest.raises(SettingError, match="endless"):
        HandfulSampler({"rate": FloatDistribution(0.0, 1.0)}, "ucb-m", 4)
    with pytest.raises(SettingError, match="rescale"):
        sampler(value_range=(1.0, 1.0))
    several = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler())
    with pytest.raises(ValueError, match="multi-objective"):
        several.ask()
    study = optuna.create_study(sampler=sampler())
    trial = study.ask()
    with pytest.raises(SettingError, match="'wibble', which is not in search_space"):
        trial.suggest_int("wibble", 1, 2)
    trial = study.ask()
    with pytest.raises(SettingError, match="give it the same distribution"):
        trial.suggest_int("depth", 100, 200)


@pytest.mark.parametrize(
    "changes",
    [{"seed": 4}, {"policy": "ts", "memory": None}, {"value_range": (-1.0, 30.0)}],
    ids=str,
)
def test_samplers_that_differ_are_noticed(changes: dict[str, Any]) -> None:
    study = optuna.create_study(direction="maximize", sampler=sampler())
    rng = random.Random(1)
    study.optimize(lambda trial: value_of(suggested(trial), rng), n_trials=60)
    other = HandfulSampler(SPACE, **{"memory": 4, "value_range": VALUES, "seed": 3, **changes})
    with pytest.raises(HandfulError, match="give all samplers of a study the same"):
        other.bandit(study)
