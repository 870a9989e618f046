"""The JSON that comes in and goes out, as typed structures that msgspec reads and writes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from handful.policies import POLICIES

MOST_ARMS = 1_000_000
MOST_IN_REQUEST = 10_000
MOST_MEMORY = 100_000
"""A policy for endless arms makes room for all of them at once."""

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._~-]{0,99}(?!\n)$"  # Python's $ is also before a \n
NAME_IN_WORDS = (
    "from 1 to 100 letters (A to Z), digits, dots, underscores, tildes or hyphens, of which the "
    "first is a letter or a digit"
)
Name = Annotated[str, Meta(pattern=NAME_PATTERN, description=f"A name: {NAME_IN_WORDS}.")]
Label = Annotated[str, Meta(min_length=1, max_length=2000, description="The label of an arm.")]
OwnKey = Annotated[
    str, Meta(min_length=1, max_length=200, description="The caller's own name of a decision.")
]
Labels = Annotated[list[Label], Meta(min_length=1, max_length=MOST_ARMS)]
PolicyName = Annotated[
    str,
    Meta(
        extra_json_schema={
            "enum": sorted(name for name in POLICIES if not POLICIES[name].clairvoyant)
        }
    ),
]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Scope = Annotated[str, Meta(extra_json_schema={"enum": ["decide", "reward", "admin"]})]
Window = Annotated[float, Meta(gt=0.0, le=1e9, description="Seconds to wait for a reward.")]


class NewBandit(Struct, forbid_unknown_fields=True, kw_only=True):
    """A bandit to create."""

    name: Name
    policy: PolicyName = "race"
    memory: Annotated[int, Meta(ge=1, le=MOST_MEMORY)] | None = None
    arms: Labels
    settings: dict[str, float] = {}
    seed: Annotated[int, Meta(ge=0, le=2**53)] | None = None
    window: Window | None = None
    default: float | None = None
    explore: Share = 0.0
    rescale: tuple[float, float] | None = None
    open: bool = False


class BanditChange(Struct, forbid_unknown_fields=True, kw_only=True):
    """Settings of a bandit to change; what is left out stays."""

    window: Window | UnsetType | None = UNSET
    default: float | UnsetType | None = UNSET
    explore: Share | UnsetType = UNSET


class Arms(Struct, forbid_unknown_fields=True):
    """Arms to add or to remove."""

    arms: Labels


class NewDecisions(Struct, forbid_unknown_fields=True, kw_only=True):
    """A request for decisions."""

    n: Annotated[int, Meta(ge=1, le=MOST_IN_REQUEST)] = 1
    allowed: Labels | None = None
    key: OwnKey | None = None
    keys: Annotated[list[OwnKey], Meta(min_length=1, max_length=MOST_IN_REQUEST)] | None = None


class Reward(Struct, forbid_unknown_fields=True):
    """The reward of a decision."""

    reward: float


class RewardOf(Struct, forbid_unknown_fields=True, kw_only=True):
    """The reward of a decision, named by its id, or by its bandit and the caller's own key."""

    id: Annotated[str, Meta(max_length=64)] | None = None
    bandit: Annotated[str, Meta(max_length=100)] | None = None
    key: OwnKey | None = None
    reward: float


class Rewards(Struct, forbid_unknown_fields=True):
    """Rewards of several decisions."""

    rewards: Annotated[list[RewardOf], Meta(min_length=1, max_length=MOST_IN_REQUEST)]


class NewKey(Struct, forbid_unknown_fields=True, kw_only=True):
    """A key to make."""

    name: Annotated[str, Meta(min_length=1, max_length=100)]
    scopes: Annotated[list[Scope], Meta(min_length=1, max_length=3)]
    bandit: Annotated[str, Meta(max_length=100)] | None = None


class DecisionMade(Struct, omit_defaults=True):
    """A decision that was made."""

    id: str
    arm: str
    key: str | None = None
    probability: float | None = None


class Decisions(Struct):
    """Decisions that were made, and the arm that the policy recommends now."""

    decisions: list[DecisionMade]
    recommended: str | None


class Outcome(Struct, omit_defaults=True):
    """What became of a reward."""

    outcome: str
    detail: str | None = None


class Outcomes(Struct):
    """What became of rewards, in their order."""

    outcomes: list[Outcome]


class DecisionShown(Struct):
    """A decision, and what is known of it."""

    id: str
    bandit: str
    arm: str
    at: str
    key: str | None
    probability: float | None
    reward: float | None
    status: str
    """open, rewarded, dropped or expired."""


class ArmShown(Struct):
    """An arm in memory."""

    arm: str
    pulls: int
    in_flight: int
    mean: float | None
    low: float
    high: float
    recommended: bool
    duel: bool


class DelayShown(Struct):
    """How late rewards are, in seconds."""

    mean: float
    p50: float
    p90: float
    p99: float


class BanditShown(Struct):
    """A bandit, and what it knows."""

    name: str
    policy: str
    title: str
    memory: int
    settings: dict[str, float]
    seed: int
    window: float | None
    default: float | None
    explore: float
    rescale: tuple[float, float] | None
    open: bool
    arms: int
    decisions: int
    rewards: int
    forgotten: int
    dropped: int
    expired: int
    late: int
    waiting: int
    recommended: str | None
    arms_in_memory: list[ArmShown]
    arms_tried: int | None
    place: str
    reward_rate: float | None
    recent_rate: float | None
    best_guess: float | None
    delay: DelayShown | None
    created_at: str
    state_bytes: int
    last_seq: int


class BanditListed(Struct):
    """A bandit in a list."""

    name: str
    policy: str
    memory: int
    arms: int
    decisions: int
    rewards: int
    recommended: str | None


class BanditList(Struct):
    """Bandits by name; `next` is given as `after` to see more."""

    bandits: list[BanditListed]
    next: str | None


class ArmList(Struct):
    """Labels of arms; `next` is given as `after` to see more."""

    arms: list[str]
    next: int | None


class ArmsAdded(Struct):
    """How many arms there are now."""

    arms: int
    added: int


class ArmsRemoved(Struct):
    """How many arms there are now."""

    arms: int
    removed: int


class PointShown(Struct):
    """A bandit at some time in the past."""

    at: str
    decisions: int
    rewards: int
    reward_sum: float
    recommended: str | None
    memory: list[str]
    waiting: int
    best_guess: float | None
    """The mean of the recommended arm then."""


class History(Struct):
    """A bandit over time."""

    points: list[PointShown]


class KeyShown(Struct):
    """A key, without the key itself."""

    id: str
    name: str
    scopes: list[str]
    bandit: str | None
    created_at: str


class KeyMade(KeyShown):
    """A new key. It is shown this once."""

    key: str


class KeyList(Struct):
    """All keys."""

    keys: list[KeyShown]


class ProblemShown(Struct):
    """Why a request was refused, and what to do."""

    type: str
    title: str
    status: int
    detail: str
    request_id: str


class Health(Struct):
    """Whether the service works."""

    status: str


def shown_time(milliseconds: int) -> str:
    """Return a time as text, in UTC."""
    at = datetime.fromtimestamp(milliseconds / 1000.0, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
