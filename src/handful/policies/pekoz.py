"""Pekoz-style rules: an arm's first rewards decide how long it is pulled; M = 1; reconstructed.

Pekoz, "Some memoryless bandit policies", Journal of Applied Probability 40, 2003, has a PolicyA and
a PolicyB of a function f. The exact rules were not available; these are ours, in their spirit:

    a new arm is looked at k times, gives x_1, ..., x_k, is pulled f(x_1) ... f(x_k) more times,
    and is given up
    pekoz-a   the same k for all arms
    pekoz-b   k = i for the i-th arm

with f(x) = 1 + (f1 - 1) x: f(0) = 1, and the setting f1 is f(1). Rewards are used as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from handful.core.slots import credit
from handful.core.state import Float
from handful.errors import StateError
from handful.policies.hand import HandPolicy, HandState, check_hand
from handful.policies.settings import Setting, whole_setting

_PEKOZ = "Pekoz, Journal of Applied Probability 40, 2003; a reconstruction"
_F1 = Setting(2.0, "f(1); f(0) is 1", lambda x: x >= 1.0, "f1 >= 1")


class Patience(HandState):
    """The arm in hand, and how many pulls more than its looks it gets."""

    extra: Float


class SameLooks(NamedTuple):
    """Parameters of PolicyA."""

    K: int
    M: int
    endless: bool
    k: float
    f1: float


class RisingLooks(NamedTuple):
    """Parameters of PolicyB."""

    K: int
    M: int
    endless: bool
    f1: float


def look(state: Patience, slot: int, x: float, k: float, f1: float) -> None:
    """Take in reward x of an arm that is looked at k times."""
    credit(state, slot, x)
    if slot != state.hand:
        return
    n = state.pulls[slot]
    if n == 1:
        state.extra = 1.0
    if n <= k:
        state.extra *= 1.0 + (f1 - 1.0) * x
    if n >= k + state.extra:
        state.up_next = 1


def check_patience(state: Patience, p: Any) -> None:
    """Refuse a negative number of pulls."""
    check_hand(state, p)
    if state.extra < 0.0:
        raise StateError(f"the saved policy cannot keep an arm for {state.extra} pulls")


def pulls_left(state: Patience, slot: int, k: float) -> int:
    """Return how many more pulls an arm surely has after its looks, the last one not counted."""
    n = state.pulls[slot]
    if n < k or n == 0:
        return 0
    return max(0, int(min(k + state.extra - n, 2.0**62)) - 1)


class PekozA(HandPolicy):
    """The first k rewards of an arm decide how long it is pulled; a reconstruction."""

    name = "pekoz-a"
    title = "Pekoz-style A (reconstruction)"
    summary = "the first k rewards of an arm decide how long it is pulled; a reconstruction"
    citation = _PEKOZ
    endless = True
    own_memory = 1
    trials = False
    State = Patience
    Parameters = SameLooks
    check = staticmethod(check_patience)
    settings: ClassVar[Mapping[str, Setting]] = {
        "k": whole_setting(10.0, "looks at an arm", "k"),
        "f1": _F1,
    }

    @staticmethod
    def observe(state: Patience, slot: int, reward: float, p: SameLooks) -> None:
        """Look k times, then count down."""
        look(state, slot, reward, p.k, p.f1)

    @staticmethod
    def calm(state: Patience, slot: int, p: SameLooks) -> tuple[int, int]:
        """Return the pulls that are due to an arm after its looks, whatever its rewards."""
        return pulls_left(state, slot, p.k), 0


class PekozB(HandPolicy):
    """The first i rewards of the i-th arm decide how long it is pulled; a reconstruction."""

    name = "pekoz-b"
    title = "Pekoz-style B (reconstruction)"
    summary = "the first i rewards of the i-th arm decide how long it is pulled; a reconstruction"
    citation = _PEKOZ
    endless = True
    own_memory = 1
    trials = False
    State = Patience
    Parameters = RisingLooks
    check = staticmethod(check_patience)
    settings: ClassVar[Mapping[str, Setting]] = {"f1": _F1}

    @staticmethod
    def observe(state: Patience, slot: int, reward: float, p: RisingLooks) -> None:
        """Look i times at the i-th arm, then count down."""
        look(state, slot, reward, float(state.tried), p.f1)

    @staticmethod
    def calm(state: Patience, slot: int, p: RisingLooks) -> tuple[int, int]:
        """Return the pulls that are due to an arm after its looks, whatever its rewards."""
        return pulls_left(state, slot, float(state.tried)), 0
