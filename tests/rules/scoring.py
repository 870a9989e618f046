"""What tests of rules use: a record with given statistics, a rule's score and its choice."""

from __future__ import annotations

from collections.abc import Sequence

from handful.core.slots import admit
from handful.core.state import State
from handful.rules import Moment, Rule, chooser


def memory_of(pulls: Sequence[int], sums: Sequence[float], rng: list[int] | None = None) -> State:
    """A record of arms 0, 1, ... with these statistics; its generator is the list that is given."""
    state = State()
    for slot, (n, s) in enumerate(zip(pulls, sums, strict=True)):
        admit(state, slot, slot)
        state.pulls[slot] = n
        state.sums[slot] = s
    state.rng = [0, 1] if rng is None else rng
    return state


def chosen(
    rule: Rule,
    pulls: Sequence[int],
    sums: Sequence[float],
    b: int = 100,
    eta: float = 1.0,
    rng: list[int] | None = None,
) -> int:
    """The slot that the rule pulls next."""
    return chooser(rule)(memory_of(pulls, sums, rng), sum(pulls), b, eta)


def score(
    rule: Rule,
    n: int,
    s: float,
    t: int = 99,
    b: int = 0,
    m: int = 2,
    eta: float = 1.0,
    top: float = 0.0,
) -> float:
    """The rule's score; of one with two factors, what `Rule` says that it is."""
    if rule.score is not None:
        return rule.score(n, s, Moment(t, b, m, top, eta, [1, 3]))
    assert rule.growth is not None
    assert rule.width is not None
    return s / n + rule.growth(t, eta) * rule.width(n, b, m)
