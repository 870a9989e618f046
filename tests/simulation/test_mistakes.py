"""Wrong rules and policies of a user's: every engine ends with an error that says what happened.

All of these go wrong after more pulls than are compared before a run (`compiled.warm_up`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import handful
from handful.core.state import admit
from handful.errors import HandfulError, MemoryFullError, RuleError
from handful.policies import Policy

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


@pytest.mark.parametrize(("function", "error", "said"), MISTAKES, ids=_names)
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
