"""Decisions in flight: rewards that come late, and rewards that never come.

A decision is in flight until its reward comes. Its arm's slot counts it, so that open decisions
take no memory of their own. Some rewards never come, so a policy waits only for a limited time:

    window       W decisions; unless one is given, W = 1.5 times the mean delay of the recent
                 rewards, plus 16
    turn         every W decisions: decisions from before the last turn that are still in flight
                 are written off, so the policy waits for a reward during W to 2 W decisions
    written off  the decision counts as lost or, with a default reward, as answered by it
    after all    the late reward of a decision that counts as lost is still credited; that of a
                 decision that was answered by default has expired
    kept         with a default reward, rewards that come in time are kept until their decisions are
                 due to be written off, and count together with the defaults of the others. If
                 clicks counted before the zeros of those who do not click, every arm would look
                 better than it is at first

The simulator compiles the same functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from handful.core.state import State

LATE = 1.5
"""The window has so many mean delays."""
SHORTEST = 16.0
"""Added to the window, in decisions, so that turns cost little where rewards come at once."""
RECENT = 256
"""The mean delay is that of about so many rewards."""
CREDITED, FORGOTTEN, DUPLICATE, EXPIRED, KEPT = range(5)
"""What becomes of a reward whose ticket is genuine."""
AGE = 1.5
"""The mean age of decisions that a turn writes off, in windows."""


def issue(state: State, slot: int) -> None:
    """Count a decision for a slot: it is in flight from now on."""
    state.clock += 1
    state.in_flight[slot] += 1
    state.recent[slot] += 1


def turn_is_due(state: State, window: float) -> bool:
    """Return whether the window has passed. A window of 0 follows the delays seen, if any."""
    waited = state.clock - state.turned
    if window > 0.0:
        return waited >= window
    return state.answers > 0 and waited >= LATE * state.delay + SHORTEST


def turn(state: State) -> None:
    """Write off what was in flight at the last turn, as lost, and begin the next window."""
    in_flight, recent = state.in_flight, state.recent
    for slot in range(state.held):
        if in_flight[slot] > 0:
            overdue = in_flight[slot] - recent[slot]
            state.missing[slot] += overdue
            state.lost += overdue
            in_flight[slot] = recent[slot]
            recent[slot] = 0
    state.turned_before = state.turned
    state.turned = state.clock


def close(state: State, slot: int, t: int) -> int:
    """Count that decision t for a slot is answered, and return what becomes of the answer."""
    if slot >= state.held or t < state.born[slot]:
        state.forgotten += 1
        return FORGOTTEN
    if t > state.turned:
        recent = state.recent[slot]
        if recent == 0:
            return DUPLICATE
        state.recent[slot] = recent - 1
        state.in_flight[slot] -= 1
    elif t > state.turned_before:
        if state.in_flight[slot] == state.recent[slot]:
            return DUPLICATE
        state.in_flight[slot] -= 1
    elif state.missing[slot] == 0:
        return DUPLICATE
    else:
        state.missing[slot] -= 1
        state.lost -= 1
    return CREDITED


def keep(state: State, slot: int, t: int, reward: float) -> int:
    """Keep the reward of decision t for a slot until the decision is due to be written off."""
    if slot >= state.held or t < state.born[slot]:
        state.forgotten += 1
        return FORGOTTEN
    if t > state.turned:
        if state.kept[slot] == state.recent[slot]:
            return DUPLICATE
        state.kept[slot] += 1
        state.kept_sum[slot] += reward
    elif t > state.turned_before:
        if state.kept_before[slot] == state.in_flight[slot] - state.recent[slot]:
            return DUPLICATE
        state.kept_before[slot] += 1
        state.kept_before_sum[slot] += reward
    else:
        return EXPIRED
    return KEPT


def answer(state: State, slot: int, t: int) -> int:
    """Count the reward of decision t for a slot, and return what becomes of it."""
    became = close(state, slot, t)
    if became == CREDITED:
        state.rewards += 1
    elif became != FORGOTTEN:
        return became
    if state.answers < RECENT:
        state.answers += 1
    state.delay += (state.clock - t - state.delay) / state.answers
    return became


def turner(
    observe: Callable[[Any, int, float, Any], None], waited: Callable[[Any, Any], None]
) -> Callable[[Any, float, Any], None]:
    """Return `end_window(state, default, p)`: a turn for a policy with these functions.

    A default that is not NaN is observed for each decision that is written off without a reward,
    among the rewards that were kept, evenly spread. Each of these counts as their mean. `waited`
    lets the policy look at its arms again, since fewer decisions are in flight.
    """

    def end_window(state: Any, default: float, p: Any) -> None:
        if default == default:
            state.delay = min(float(state.clock), AGE * (state.clock - state.turned))
            for slot in range(state.held):
                overdue = state.in_flight[slot] - state.recent[slot]
                came = state.kept_before[slot]
                mean = state.kept_before_sum[slot] / came if came > 0 else 0.0
                state.kept_before[slot] = state.kept[slot]
                state.kept_before_sum[slot] = state.kept_sum[slot]
                state.kept[slot] = 0
                state.kept_sum[slot] = 0.0
                state.in_flight[slot] -= overdue
                state.rewards += overdue
                spread = overdue // 2
                for _ in range(overdue):
                    spread += came
                    if spread >= overdue:
                        spread -= overdue
                        observe(state, slot, mean, p)
                    else:
                        observe(state, slot, default, p)
        turn(state)
        waited(state, p)

    return end_window
