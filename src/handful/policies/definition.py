"""The definition of a policy: a record (`handful.core.state`) and a few functions of it.

    start(state, p)                    fill the slots for the first decision
    propose(state, p) -> slot          the slot to pull next; arms enter and leave memory here
    observe(state, slot, reward, p)    take in a reward in [0, 1]
    recommend_arm(state, p) -> arm     the arm to recommend, by index
    waited(state, p)                   some rewards are not waited for any more: mostly nothing

Three more define how the policy continues when the user adds or removes arms. Each returns False if
it cannot; then the policy starts again on the present arms, with its clock, generator and counters
(`handful.core.change`). A policy that does not define them starts again at every change.

    resized(state, before, p)          there are p.K arms now, and were `before`
    withdraw(state, slot, p)           the arm in a slot was removed: it must leave memory
    adopt(state, before, p)            the arms in memory are those of another policy (`stands_for`)

Two are optional: `admit_guest` gives a slot to an allowed arm that is not in memory, and
`news_within` says when all new arms are in memory at the latest.

p holds what never changes: K arms, a memory of M, whether the arms are endless, and the settings. A
subclass declares its record, its parameters and these functions. The simulator compiles them from
the same source, and reads what else it must know about a policy from the class attributes here.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, NamedTuple

from handful.core.slots import credit, most_pulled
from handful.core.state import State as AnyState
from handful.errors import SettingError, integer
from handful.policies.settings import Setting, check_memory

UNBOUNDED = 2**24
"""The most arms that a policy without a memory bound can store."""


class Parameters(NamedTuple):
    """What a policy's functions are given besides its record, if it has no settings."""

    K: int
    M: int
    endless: bool


@cache
def parameters_with(settings: tuple[str, ...]) -> Any:
    """Return the type of p for a policy with these settings.

    Cached kernels name it by its module and name: `__getattr__` finds it again in any process.
    """
    if not settings:
        return Parameters
    make: Any = namedtuple
    made = make("Parameters", (*Parameters._fields, *settings), module=__name__)
    made.__name__ = made.__qualname__ = f"Parameters({','.join(settings)})"
    return made


def __getattr__(name: str) -> Any:
    if name.startswith("Parameters(") and name.endswith(")"):
        return parameters_with(tuple(name[len("Parameters(") : -1].split(",")))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def place_in_passes(tried: int, n_arms: int, endless: bool) -> str:
    """Return how many arms have come up, or where in which pass over them, in a few words."""
    if endless or tried <= n_arms:
        return f"{tried} arms tried"
    lap, arm = divmod(tried - 1, n_arms)
    return f"pass {lap + 1} over the arms, arm {arm + 1} of {n_arms}"


class Definition:
    """What a subclass of `Policy` says of itself, and what holds unless it says otherwise."""

    name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str] = ""
    citation: ClassVar[str] = ""
    settings: ClassVar[Mapping[str, Setting]] = {}
    endless: ClassVar[bool] = False
    """Made for infinitely many arms; otherwise for finite sets."""
    any_arms: ClassVar[bool] = False
    """Made for both."""
    own_memory: ClassVar[int | None] = None
    """The fixed number of arms that the policy stores; None: as many as `memory` says."""
    own_arms: ClassVar[int | None] = None
    """The only number of arms that the policy is for; None: any."""
    unbounded: ClassVar[bool] = False
    """Stores statistics of every arm it meets: a reference, not a bounded policy."""
    needs_horizon: ClassVar[bool] = False
    """Plans for a number of pulls, which must be given."""
    recalls: ClassVar[bool] = False
    """May ask for the label of an arm that has left memory."""
    news_first: ClassVar[bool] = False
    """Takes arms that were added, which `State.news` counts, before others."""
    clairvoyant: ClassVar[bool] = False
    """Is given the true means, in the field `true_mean` of its record: for simulations only."""

    State: ClassVar[type[AnyState]] = AnyState
    Parameters: ClassVar[Any] = None
    """The type of p. None: a named tuple of K, M, endless and the settings, in their order."""
    calm: ClassVar[Any] = None
    """For simulations that skip pulls. calm(state, slot, p): return two numbers, how many further
    pulls keep the slot whatever the rewards, and how many keep it if all succeed."""
    absorb: ClassVar[Any] = None
    """absorb(state, slot, pulls, wins, p): update the policy's own fields for skipped pulls."""
    trials: ClassVar[bool] = False
    """Whether `observe` credits any reward as a Bernoulli trial of the same mean."""

    def __init_subclass__(cls) -> None:
        if "name" in vars(cls) and "title" not in vars(cls):
            cls.title = cls.name

    @staticmethod
    def start(state: Any, p: Any) -> None:
        """Fill the slots for the first decision."""

    @staticmethod
    def propose(state: Any, p: Any) -> int:
        """Return the slot to pull next; let arms come and go."""
        raise NotImplementedError("the policy defines no propose(state, p), which returns a slot")

    @staticmethod
    def observe(state: Any, slot: int, reward: float, p: Any) -> None:
        """Take in a reward in [0, 1] of the arm in a slot."""
        credit(state, slot, reward)

    @staticmethod
    def waited(state: Any, p: Any) -> None:
        """Look at the arms again after decisions in flight were written off."""

    @staticmethod
    def resized(state: Any, before: int, p: Any) -> bool:
        """Continue with p.K arms instead of `before`; return False to start again."""
        return False

    @staticmethod
    def withdraw(state: Any, slot: int, p: Any) -> bool:
        """Let the arm in a slot leave memory for ever; return False to start again.

        The slot has the arm -1. `resized` is called afterwards.
        """
        return False

    @staticmethod
    def adopt(state: Any, before: int, p: Any) -> bool:
        """Continue with the arms in memory and own fields of 0; return False to start again."""
        return False

    @staticmethod
    def admit_guest(state: Any, arm: int, p: Any) -> int:
        """Return the slot given to an arm that is pulled since none in memory is allowed, or -1."""
        return -1

    @staticmethod
    def news_within(state: Any, p: Any) -> int | None:
        """Return in how many decisions all new arms have entered memory at the latest.

        This holds if every reward comes at once. None: there is no such number.
        """
        return 0 if state.news == 0 and state.held == p.K else None

    @staticmethod
    def recommend_arm(state: Any, p: Any) -> int:
        """Return the arm to recommend, by index."""
        return int(state.arm[most_pulled(state)])

    @staticmethod
    def check(state: Any, p: Any) -> None:
        """Raise `StateError` if a restored record contradicts itself."""

    @staticmethod
    def place(state: Any, p: Any) -> str:
        """Return where the policy is in its schedule, in a few words."""
        return f"{state.held} arms in memory"

    @classmethod
    def parameters(cls, n_arms: int, memory: int, endless: bool, values: dict[str, float]) -> Any:
        """Return what the functions of this policy are given as p."""
        kind = cls.Parameters or parameters_with(tuple(values))
        return kind(n_arms, memory, endless, **values)

    @classmethod
    def stands_for(cls, memory: int, n_arms: int) -> type[Any]:
        """Return the policy that makes the same choices with so much memory: mostly itself."""
        return cls

    @classmethod
    def slots_for(cls, horizon: int, values: dict[str, float]) -> int:
        """Return how many slots a run of so many pulls can use, whatever the memory."""
        return UNBOUNDED if cls.unbounded else 2**31

    @classmethod
    def entries_for(cls, slots: int, horizon: int, values: dict[str, float]) -> int:
        """Return how many entries of its history a run with so many slots and pulls can use."""
        return 0

    @classmethod
    def takes_memory(cls) -> bool:
        """Return whether the user says how many arms have statistics."""
        return cls.own_memory is None and not cls.unbounded

    @classmethod
    def memory_for(cls, memory: int | None, n_arms: int) -> int:
        """Return how many arms have statistics when asked for `memory` on a set of `n_arms`."""
        if cls.own_arms not in (None, n_arms):
            raise SettingError(
                f"{cls.name} is for exactly {cls.own_arms} arms, and {n_arms} are given: give "
                f"{cls.own_arms}, or take a policy such as ucb-m"
            )
        if cls.unbounded and not (cls.endless or cls.any_arms) and n_arms > UNBOUNDED:
            raise SettingError(
                f"{cls.name} stores statistics of every arm, and {n_arms} are too many for that: "
                f"give at most {UNBOUNDED}, or take a policy with a memory bound"
            )
        own = min(n_arms, UNBOUNDED) if cls.unbounded else cls.own_memory
        if own is None:
            return check_memory(memory)
        if memory is not None and integer("memory", memory) != own:
            stored = "every arm" if cls.unbounded else f"{own} arm{'s' * (own != 1)}"
            raise SettingError(
                f"memory={memory}: {cls.name} stores statistics of {stored}, no more and no less: "
                "leave memory out"
            )
        return own
