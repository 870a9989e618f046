"""Wrong rules and policies of a user's: every engine ends with an error that says what happened.

All of these go wrong after more pulls than are compared before a run (`compiled.warm_up`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import pytest

import handful
from handful.core.rng import Generator, uniform
from handful.core.slots import admit
from handful.errors import HandfulError, MemoryFullError, RuleError
from handful.policies import PhasedPolicy, Policy
from handful.rules import Moment, Rule
from handful.simulation import compiled, plan
from tests.simulation.agree import assert_engines_agree

LONG = pytest.mark.long
LATE = 400
ENGINES = ("python", "compiled", "skip")


def restless(state: Any, slot: int, p: Any) -> tuple[int, int]:
    return 0, 0


def start_two(state: Any, p: Any) -> None:
    admit(state, 0, 0)
    admit(state, 1, 1)


def policy_of(function: Callable[..., int], base: type[Policy] = Policy) -> type[Policy]:
    """A policy of two slots with this `propose`, which the skipping engine runs, too."""
    return type(
        "Wrong",
        (base,),
        {
            "name": "wrong",
            "calm": staticmethod(restless),
            "start": staticmethod(start_two),
            "propose": staticmethod(function),
        },
    )


def free_slot(state: Any, p: Any) -> int:
    return 0 if state.clock < LATE else 2


def far_slot(state: Any, p: Any) -> int:
    return 0 if state.clock < LATE else 10**9


def left_slot(state: Any, p: Any) -> int:
    if state.clock == LATE:
        state.held = 1
    return 1


def one_too_many(state: Any, p: Any) -> int:
    if state.clock == LATE:
        admit(state, state.held, 2)
    return 0


def arm_beyond(state: Any, p: Any) -> int:
    if state.clock == LATE:
        admit(state, 1, p.K + 3)
    return 1


def arm_below(state: Any, p: Any) -> int:
    if state.clock == LATE:
        admit(state, 1, -1)
    return 1


def writes_beyond(state: Any, p: Any) -> int:
    if state.clock == LATE:
        state.pulls[10**6] = 7
    return 1


def admits_below(state: Any, p: Any) -> int:
    if state.clock == LATE:
        admit(state, -9, 2)
    return 1


def divides_by_zero(state: Any, p: Any) -> int:
    return int(3.0 / (LATE - state.clock) > 5.0)


def _names(x: Any) -> str:
    return getattr(x, "__name__", "")


MISTAKES: list[tuple[Callable[..., int], type[HandfulError], str]] = [
    (free_slot, RuleError, "wrong proposed slot 2 after 400 decisions, and slots 0 to 1 are"),
    (far_slot, RuleError, "wrong proposed slot 1000000000 after 400 decisions"),
    (left_slot, RuleError, "wrong proposed slot 1 after 400 decisions, and slots 0 to 0 are"),
    (one_too_many, MemoryFullError, "wrong, after 400 decisions: the arm memory holds at most 2"),
    (arm_beyond, RuleError, "wrong proposed arm 12 after 400 decisions, and the arms are 0 to 8"),
    (arm_below, RuleError, "wrong proposed arm -1 after 400 decisions, and the arms are 0 to 8"),
    (writes_beyond, RuleError, "wrong, after 400 decisions"),
    (admits_below, RuleError, "wrong, after 400 decisions"),
    (divides_by_zero, RuleError, "wrong, after 400 decisions.*ZeroDivisionError"),
]


@pytest.mark.parametrize(
    ("function", "error", "said"),
    [
        # Each is compiled in two engines: the others are in `make test-long`.
        mistake if mistake[0] in (free_slot, one_too_many) else pytest.param(*mistake, marks=[LONG])
        for mistake in MISTAKES
    ],
    ids=_names,
)
def test_a_wrong_policy_ends_with_the_same_error_in_every_engine(
    function: Callable[..., int], error: type[HandfulError], said: str
) -> None:
    policy = policy_of(function)
    for engine in ENGINES:
        with pytest.raises(error, match=said):
            handful.simulate(
                policy, "linear:9", memory=2, horizon=2000, runs=2, engine=engine, n_jobs=1
            )


def test_a_wrong_policy_ends_long_runs_in_threads() -> None:
    with pytest.raises(RuleError, match="proposed slot 2"):
        handful.simulate(
            policy_of(free_slot), "linear:9", memory=2, horizon=10**6, runs=4, n_jobs=2
        )


def test_a_mistake_in_the_first_pulls_is_found_in_every_engine() -> None:
    def full(state: Any, p: Any) -> int:
        admit(state, state.held, 2)
        return 0

    for engine in ENGINES:
        with pytest.raises(MemoryFullError, match="at most 2 arms"):
            handful.simulate(
                policy_of(full), "linear:9", memory=2, horizon=50, runs=1, engine=engine
            )


# Scores that are NaN, infinite, or not there at all.


def nan_later(n: int, s: float, now: Moment) -> float:
    return s / n + 0.1 / n if now.t < LATE else math.nan


def nan_of_the_second(n: int, s: float, now: Moment) -> float:
    return math.nan if now.t >= LATE and n < 30 else s / n + 1.0 / math.sqrt(n)


def growth_of_one(t: int, eta: float) -> float:
    return 1.0


def growth_nan_later(t: int, eta: float) -> float:
    return 1.0 if t < LATE else math.nan


def growth_odd_at_first(t: int, eta: float) -> float:
    return 1.0 / math.log(t)


def root_width(n: int, b: int, m: int) -> float:
    return 1.0 / math.sqrt(n)


def width_nan_later(n: int, b: int, m: int) -> float:
    return 1.0 / math.sqrt(n) if n < 300 else math.nan


def lowest(n: int, s: float, now: Moment) -> float:
    return s / n if now.t < LATE else -math.inf


def log_of_less_than_zero(n: int, s: float, now: Moment) -> float:
    return s / n + math.log(LATE - now.t - 0.5) / n


def zero_division(n: int, s: float, now: Moment) -> float:
    return s / n + 1.0 / (LATE - now.t)


def integer_division(n: int, s: float, now: Moment) -> float:
    return s / n + 7 // (LATE - now.t)


def policy_with(rule: Rule) -> type[PhasedPolicy]:
    return type("RuledM", (PhasedPolicy,), {"name": "ruled-m", "rule": rule})


def run(policy: type[Policy], engine: str, memory: int = 2, runs: int = 2) -> Any:
    return handful.simulate(
        policy, "linear:9", memory=memory, horizon=5000, runs=runs, engine=engine, n_jobs=1
    )


NUMBERLESS = [
    Rule("nan later", nan_later),
    Rule("nan of the second", nan_of_the_second),
    Rule("growth nan", growth=growth_nan_later, width=root_width),
    Rule("width nan", growth=growth_of_one, width=width_nan_later),
    Rule("width nan, by budget", None, growth_of_one, width_nan_later, budget_in_width=True),
    Rule("lowest", lowest),
]


@pytest.mark.parametrize(
    "rule",
    [rule if rule.name == "nan later" else pytest.param(rule, marks=[LONG]) for rule in NUMBERLESS],
    ids=lambda rule: rule.name,
)
@pytest.mark.parametrize(
    "memory",
    [2, pytest.param(3, marks=[LONG]), pytest.param(9, marks=[LONG])],
)
def test_a_score_that_is_nan_is_refused_in_every_engine(rule: Rule, memory: int) -> None:
    policy = policy_with(rule)
    messages = set()
    # Alone and in a block of runs, other loops do the work.
    for engine, runs in (("python", 1), ("compiled", 1), ("compiled", 16)):
        if memory == 9 and rule.budget_in_width and engine == "compiled":
            continue
        with pytest.raises(RuleError, match="ruled-m found no score that is a number") as caught:
            run(policy, engine, memory, runs)
        arms = re.search(r"\(n=.*\)", str(caught.value))
        assert arms
        if runs == 1:
            messages.add(arms[0])
    assert len(messages) == 1


@pytest.mark.parametrize(
    "rule",
    [
        Rule("nan later, monotone", nan_later, monotone=True),
        Rule("growth nan, monotone", None, growth_nan_later, root_width, monotone=True),
        Rule("width nan, monotone", None, growth_of_one, width_nan_later, monotone=True),
    ],
    ids=lambda rule: rule.name,
)
@pytest.mark.parametrize(
    "world",
    [
        pytest.param("linear:9", marks=[LONG]),
        "linear:40",
        pytest.param("linear:400", marks=[LONG]),
    ],
)
def test_a_score_that_is_nan_is_refused_where_few_arms_are_looked_at(
    rule: Rule, world: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The spot check of the claim finds these at once; a subtler one might pass.
    monkeypatch.setattr(compiled, "check_monotone", lambda rule: None)
    n_arms = int(world.partition(":")[2])
    for engine in ("compiled", "skip"):
        with pytest.raises(RuleError, match="ruled-m found no score that is a number"):
            handful.simulate(
                policy_with(rule), world, memory=n_arms, horizon=10**6, runs=1, engine=engine
            )


def test_a_growth_that_is_odd_where_there_is_no_score_is_no_mistake() -> None:
    policy = policy_with(Rule("odd at first", growth=growth_odd_at_first, width=root_width))
    for memory in (2, 3):
        assert_engines_agree(plan.cell(policy, "linear:9", memory, 3000, runs=17))


@pytest.mark.parametrize("function", [zero_division, integer_division])
def test_a_division_by_zero_in_a_score_is_the_same_error_in_both_engines(
    function: Callable[..., float],
) -> None:
    policy = policy_with(Rule("divides", function))
    said = rf"after \d+ decisions, in {function.__name__}\(n=\d+, s=[\d.]+, t=400\): ZeroDivision"
    with pytest.raises(RuleError, match=said):
        run(policy, "python")
    with pytest.raises(RuleError, match=r"after \d+ decisions: ZeroDivisionError"):
        run(policy, "compiled")


def test_a_number_outside_of_a_domain_is_refused_in_both_engines() -> None:
    policy = policy_with(Rule("domain", log_of_less_than_zero))
    said = r"in log_of_less_than_zero\(n=\d+, s=[\d.]+, t=400\): ValueError"
    with pytest.raises(RuleError, match=said):
        run(policy, "python")
    with pytest.raises(RuleError, match="found no score that is a number"):
        run(policy, "compiled")


def all_infinite(n: int, s: float, now: Moment) -> float:
    return math.inf if now.t % 2 else s / n


def some_infinite(n: int, s: float, now: Moment) -> float:
    if n < 5:
        return math.inf
    return -math.inf if n * now.m < now.t else s / n  # never so for the arm with the most pulls


def growth_infinite(t: int, eta: float) -> float:
    return math.inf if t % 7 == 0 else 1.0


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param(Rule("all infinite", all_infinite), marks=[LONG]),
        Rule("some infinite", some_infinite),
        Rule("infinite growth", growth=growth_infinite, width=root_width),
    ],
    ids=lambda rule: rule.name,
)
def test_infinite_scores_count_as_numbers_in_both_engines(rule: Rule) -> None:
    for memory in (2, 3):
        cell = plan.cell(policy_with(rule), "linear:9", memory, 3000, runs=17)
        assert_engines_agree(cell)


def credits_two(reward: float, rng: Generator) -> float:
    return 2.0 if uniform(rng) < 0.001 else reward


def test_a_credit_that_is_too_large_is_refused_in_both_engines() -> None:
    policy = policy_with(Rule("credits", some_infinite, credit=credits_two))
    for engine in ("python", "compiled"):
        with pytest.raises(RuleError, match="credits less than 0 or more than 1"):
            run(policy, engine)
