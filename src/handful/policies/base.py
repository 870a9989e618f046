"""What every policy can do: select, update, recommend, reset, clone, save and restore, show itself.

A policy decides when arms enter and leave the arm memory. A subclass says how it starts, which slot
to pull, what a reward changes and which slot it vouches for; everything that users meet (labels,
checks, bytes) is written here, once. `settings.py` has the numbers that a policy takes, `show.py`
how it is printed.
"""

from __future__ import annotations

import reprlib
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from struct import Struct
from typing import Any, ClassVar, Self, TypeAlias

from handful.core.arms import FiniteArms
from handful.core.memory import WORDS_PER_SLOT, ArmMemory, check_memory
from handful.core.reservoir import Reservoir
from handful.core.rng import State, stream, words
from handful.errors import (
    ExhaustedError,
    ForgottenArmError,
    RewardError,
    SettingError,
    StateError,
    UnknownArmError,
    whole_number,
)
from handful.policies.settings import Setting, check_rescale, check_settings
from handful.policies.show import Row, as_html, as_text
from handful.policies.state import Reader, seal, unseal

_FRAME = Struct("<QQIBQQQI")
_RESCALE = Struct("<dd")
_NOTHING_PENDING = 2**32 - 1
UNBOUNDED = 2**24
"""The capacity of a policy without a memory bound."""


ArmsLike: TypeAlias = FiniteArms | Reservoir | int | Iterable[Hashable] | Callable[[int], Hashable]
"""What users give as arms: see `Policy`."""


class Policy(ABC):
    """A bandit policy that keeps statistics of at most `memory` arms.

    arms     a number of arms, a list of labels or a `FiniteArms`; for policies on endless arms a
             function from index to label, an iterator or a `Reservoir`
    memory   how many arms may have statistics at any time; some policies have a number of their own
    seed     any whole number; the same seed, the same choices. None: a random one
    rescale  (lo, hi) when rewards lie there and not in [0, 1]

    A policy is not thread-safe: one thread at a time.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str] = ""
    citation: ClassVar[str] = ""
    settings: ClassVar[Mapping[str, Setting]] = {}
    endless: ClassVar[bool] = False
    """Made for endlessly many arms; otherwise for finite sets."""
    any_arms: ClassVar[bool] = False
    """Made for both."""
    own_memory: ClassVar[int | None] = None
    """The number of arms that the policy keeps whatever is asked; None: as many as it is given."""
    own_arms: ClassVar[int | None] = None
    """The only number of arms that the policy is for; None: any."""
    unbounded: ClassVar[bool] = False
    """Keeps statistics of every arm it meets: a reference, not a bounded policy."""

    def __init__(
        self,
        arms: ArmsLike,
        memory: int | None = None,
        *,
        seed: int | None = None,
        rescale: tuple[float, float] | None = None,
        **settings: float,
    ) -> None:
        self._arms = self._arms_of(arms)
        self._memory = ArmMemory(self.memory_for(memory, self._arms.n))
        self._rescale = check_rescale(rescale)
        self._values = check_settings(type(self), settings)
        self._seed = seed_word(seed)
        self._rng: State
        self._pending: int | None
        self._check_name_length()
        self._begin()

    def __init_subclass__(cls) -> None:
        if "name" in vars(cls) and "title" not in vars(cls):
            cls.title = cls.name

    def _check_name_length(self) -> None:
        if not 1 <= len(self.name.encode()) <= 20:
            raise SettingError(f"the name {self.name!r} must have from 1 to 20 letters")

    @classmethod
    def _arms_of(cls, arms: Any) -> FiniteArms | Reservoir:
        if cls.endless or (cls.any_arms and _has_no_end(arms)):
            return Reservoir.of(arms)
        if isinstance(arms, Reservoir):
            raise SettingError(
                f"{cls.name} is for finite sets of arms, and a reservoir is endless: take a policy "
                "for endless arms, such as qucb-m"
            )
        return FiniteArms.of(arms)

    @classmethod
    def takes_memory(cls) -> bool:
        """Whether the user says how many arms are kept."""
        return cls.own_memory is None and not cls.unbounded

    @classmethod
    def memory_for(cls, memory: int | None, n_arms: int) -> int:
        """How many arms the policy keeps when asked for `memory` on a set of `n_arms`."""
        if cls.own_arms not in (None, n_arms):
            raise SettingError(
                f"{cls.name} is for exactly {cls.own_arms} arms, and {n_arms} are given: give "
                f"{cls.own_arms}, or take a policy such as ucb-m"
            )
        if cls.unbounded and not cls.endless and n_arms > UNBOUNDED:
            raise SettingError(
                f"{cls.name} keeps statistics of every arm, and {n_arms} are too many for that: "
                f"give at most {UNBOUNDED}, or take a policy with a memory bound"
            )
        own = min(n_arms, UNBOUNDED) if cls.unbounded else cls.own_memory
        if own is None:
            return check_memory(memory)
        if memory is not None and whole_number("memory", memory) != own:
            kept = "every arm" if cls.unbounded else f"{own} arm{'s' * (own != 1)}"
            raise SettingError(
                f"memory={memory}: {cls.name} keeps statistics of {kept}, no more and no less: "
                "leave memory out"
            )
        return own

    @abstractmethod
    def _start(self) -> None:
        """Fill the memory for the first pull."""

    @abstractmethod
    def _choose(self) -> int:
        """The slot to pull now."""

    @abstractmethod
    def _learn(self, slot: int, reward: float) -> None:
        """Take in a checked reward in [0, 1] for the arm in a slot."""

    @abstractmethod
    def _vouch(self) -> int:
        """The arm to recommend, by index."""

    @abstractmethod
    def _pack(self) -> bytes:
        """What is not in the memory, the generator or the settings; a fixed number of bytes."""

    @abstractmethod
    def _unpack(self, reader: Reader) -> None:
        """The inverse of `_pack`, on a policy whose memory is restored; refuse the impossible."""

    @property
    @abstractmethod
    def pulls(self) -> int:
        """How many rewards the policy has taken in."""

    @abstractmethod
    def _where(self) -> str:
        """Where in its schedule the policy is, in a few words."""

    def select(self) -> Any:
        """The arm to pull now, as its label. Until the next update, the same arm again."""
        if self._pending is None:
            self._pending = self._choose()
        return self._arms.label(self._memory.arms[self._pending])

    def update(self, arm: Any, reward: float) -> None:
        """Take in the reward of an arm in memory, usually the one just selected.

        A refused update changes nothing. Rewards lie in [0, 1], or in `rescale`.
        """
        value = self._checked(reward)
        self._learn(self._slot_of(arm), value)
        self._pending = None

    def recommend(self) -> Any:
        """The arm that the policy vouches for, as its label, without exploring."""
        return self._arms.label(self._vouch())

    def reset(self) -> None:
        """Forget everything and start again as if new, with the same seed."""
        self._arms.restart()
        self._begin()

    def _begin(self) -> None:
        self._rng = stream("choices", self._seed)
        self._pending = None
        self._memory = ArmMemory(self._memory.capacity)
        self._start()

    def __copy__(self) -> Self:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.clone()

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.to_bytes(), self._arms)

    def clone(self) -> Self:
        """An independent copy that will make the same choices given the same rewards."""
        return self._restored(self._bytes(fingerprint=0), self._arms.clone(), check=False)

    def to_bytes(self) -> bytes:
        """The whole state: versioned, without labels, at most 128 + 40 `memory` bytes.

        A policy that is an automaton takes 8 bytes more for each of its registers.
        """
        return self._bytes(self._arms.fingerprint())

    def _bytes(self, fingerprint: int) -> bytes:
        frame = _FRAME.pack(
            fingerprint,
            self._arms.n,
            self._memory.capacity,
            self._rescale is not None,
            self._seed,
            *self._rng,
            _NOTHING_PENDING if self._pending is None else self._pending,
        )
        rescale = _RESCALE.pack(*self._rescale) if self._rescale else b""
        settings = Struct(f"<{len(self._values)}d").pack(*self._values.values())
        return seal(self.name, frame + rescale + settings + self._pack() + self._memory.pack())

    @classmethod
    def from_bytes(cls, blob: bytes, arms: ArmsLike) -> Self:
        """The policy that `to_bytes` saved; it goes on exactly where it was."""
        cls._check_name(unseal(blob)[0])
        return cls._restored(blob, cls._arms_of(arms), check=True)

    @classmethod
    def _check_name(cls, name: str) -> None:
        if name != cls.name:
            raise StateError(f"this state belongs to a {name!r} policy, not to {cls.name!r}")

    @classmethod
    def _restored(cls, blob: bytes, arms: FiniteArms | Reservoir, check: bool) -> Self:
        reader = Reader(unseal(blob)[1])
        fingerprint, n, capacity, rescaled, seed, position, step, pending = (
            int(value) for value in reader.take(_FRAME)
        )
        if check:
            arms.check_fingerprint(fingerprint, n)
        rescale = reader.take(_RESCALE) if rescaled else None
        values = reader.take(Struct(f"<{len(cls.settings)}d"))
        settings = {
            key: value for key, value in zip(cls.settings, values, strict=True) if value == value
        }
        policy = cls(
            arms,
            capacity,
            seed=0,
            rescale=None if rescale is None else (rescale[0], rescale[1]),
            **settings,
        )
        policy._arms = arms
        policy._seed = seed
        policy._rng = [position, step]
        own = policy._pack()
        policy._memory = ArmMemory.unpack(reader.rest[len(own) :], capacity, n)
        policy._unpack(reader)
        if pending != _NOTHING_PENDING and pending >= len(policy._memory):
            raise StateError("the saved choice is not in the saved memory")
        policy._pending = None if pending == _NOTHING_PENDING else pending
        return policy

    @property
    def _draws_arms(self) -> bool:
        """Whether the arms are endless."""
        return isinstance(self._arms, Reservoir)

    @property
    def n_arms(self) -> int:
        """K, the number of arms."""
        return self._arms.n

    @property
    def memory(self) -> int:
        """M, how many arms may have statistics."""
        return self._memory.capacity

    @property
    def arms_in_memory(self) -> list[Any]:
        """The labels of the arms that have statistics now."""
        return [self._arms.label(arm) for arm in self._memory.arms]

    @property
    def memory_words(self) -> int:
        """The 64-bit words that the whole state takes with every slot in use."""
        free = 0 if self.unbounded else self._memory.capacity - len(self._memory)
        return -(-len(self._bytes(fingerprint=0)) // 8) + free * WORDS_PER_SLOT

    def _slot_of(self, arm: object) -> int:
        indices = self._memory.arms
        if self._pending is not None:
            found = self._arms.slot_of(arm, indices[self._pending : self._pending + 1])
            if found is not None:
                return self._pending
        slot = self._arms.slot_of(arm, indices)
        if slot is not None:
            return slot
        held = ", ".join(_short(label) for label in self.arms_in_memory[:8])
        known = self._arms.knows(arm)
        if known is False:
            raise UnknownArmError(
                f"arm {_short(arm)} was never given; in memory are the arms {held}: give back what "
                "select() gave"
            )
        raise ForgottenArmError(
            f"arm {_short(arm)} is not in memory now (it holds {held}), so its reward has nowhere "
            "to go: reward an arm while it is in memory, or drop late rewards"
            + ("" if known else " (whether it ever was one of these arms cannot be told)")
        )

    def _checked(self, reward: Any) -> float:
        lo, hi = self._rescale or (0.0, 1.0)
        try:
            value = float(reward)
        except (TypeError, ValueError, OverflowError):
            raise RewardError(f"reward={reward!r} is not a finite number") from None
        if isinstance(reward, str | bytes | bytearray):
            raise RewardError(f"reward={reward!r} is text: give a number")
        if not lo <= value <= hi:
            hint = "" if self._rescale else "; rescale=(lo, hi) maps other ranges"
            raise RewardError(f"reward={reward!r} is not in [{lo:g}, {hi:g}]{hint}")
        return (value - lo) / (hi - lo) if self._rescale else value

    def _head(self) -> str:
        given = "".join(
            f", {key}={value:g}" for key, value in self._values.items() if value == value
        )
        arms = "endless" if self._draws_arms else self.n_arms
        memory = "unbounded" if self.unbounded else self.memory
        return f"{type(self).__name__}(arms={arms}, memory={memory}{given})"

    def _shown(self, arm: int) -> str:
        try:
            return _short(self._arms.label(arm))
        except ExhaustedError:
            return "(the iterator ended before)"

    def _table(self) -> list[Row]:
        pulls = self._memory.pulls
        total = sum(pulls)
        vouched = self._vouch()
        return [
            (
                "*" if arm == vouched else "",
                self._shown(arm),
                str(pulls[slot]),
                f"{self._memory.mean(slot):.4f}" if pulls[slot] else "-",
                f"{pulls[slot] / total:.1%}" if total else "-",
            )
            for slot, arm in enumerate(self._memory.arms)
        ]

    def _foot(self) -> str:
        return f"{self.pulls} pulls; {self._where()}; {self.memory_words} words of state"

    def __repr__(self) -> str:
        return as_text(self._head(), self._table(), self._foot())

    def _repr_html_(self) -> str:
        return as_html(self._head(), self._table(), self._foot())


def _restored(cls: type[Policy], blob: bytes, arms: ArmsLike) -> Policy:
    """How Python's own pickle, used by `multiprocessing`, makes a policy again."""
    return cls.from_bytes(blob, arms)


def _has_no_end(arms: Any) -> bool:
    """What only a reservoir can be made of: a function or an iterator."""
    if isinstance(arms, Reservoir | Iterator):
        return True
    return callable(arms) and not isinstance(arms, FiniteArms | Iterable)


def seed_word(seed: int | None) -> int:
    """The 64 bits that everything random in a policy follows from."""
    if seed is None:
        return secrets.randbits(64)
    return words("policy", whole_number("seed", seed), count=1)[0]


def order_key(seed: int) -> int:
    """The key of the shuffle of a policy with this seed word."""
    return words("order", seed, count=1)[0]


def _short(label: object) -> str:
    return reprlib.repr(label)
