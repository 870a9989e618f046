"""The leaderboard's plan: the instances, and which policies take part with which memory.

The paper's ten instances, harder ones, and some held out while `race` was tuned. Every policy of
the registry takes part but those of `LEFT_OUT`; one that is given M, with 2 and with 10 arms in
memory. References with statistics of every arm are slow to simulate with many arms: beyond 100 arms
there is only IMED, beyond 1000 none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from handful.policies import POLICIES
from handful.policies.base import Policy
from handful.policies.phased import PhasedPolicy
from handful.simulation.plan import Cell, cell, parse_policy

RUNS = 1000
"""Enough to speak of a 99th percentile."""
MEMORIES = (2, 10)
MORE_MEMORY = (2, 4, 8, 10, 16)
"""For `race`, to see what memory is worth."""
OURS = "race"
REFERENCE = "imed"
MANY = 100
"""With more arms, the only reference is IMED."""
VERY_MANY = 1000
"""With more arms, there is none."""
FEWER, FEW, FEWEST = 10, 20, 40
"""One in so many runs beyond the paper's instances, the slower the fewer: see `planned`."""
STEPWISE = (5, 10, 40)
"""The same for Race, other bounded policies and the rest where pulls are simulated one by one."""
AT_LEAST = 5
"""Runs of any cell, if so many are asked for: fewer have no interval to speak of."""

RACE, PAPER, RULES, LITERATURE, UNBOUNDED = (
    "Race", "the paper", "the paper with other rules", "other bounded memory", "every arm in memory"
)  # fmt: skip
FAMILIES = (RACE, PAPER, RULES, LITERATURE, UNBOUNDED)

THE_PAPERS = (
    "ucb-m", "ucb-m:eta=0.2", "ts-m", "moss-m", "qucb-m", "qucb-m:eta=0.2", "qts-m", "qmoss-m"
)  # fmt: skip
SET = {
    "constant-space": ("constant-space:c=0.5", "constant-space:c=2"),
    "two-target": ("two-target:a={a},b={b}",),
    "ucb-air": ("ucb-air:beta={b}",),
    "cbt": ("cbt:top={top}",),
}
"""Policies that take part with settings; some are given true values of the arena."""
LEFT_OUT = {
    "random": "a baseline that learns nothing",
    "cover": "for two arms only",
    "ucb-mpa": "pulls the arms that ucb1 pulls",
    "discounted-ts": "made for means that drift",
    "sliding-window-ts": "made for means that drift",
    "glr-klucb": "made for means that drift",
    "qpm-d": "pulls the arms that imed pulls where rewards come at once",
    "sqrt-run-tabulated": "made to look like a row of the paper",
    "sqrt-log-tabulated": "made to look like a row of the paper",
}


@dataclass(frozen=True)
class Arena:
    """An instance of the leaderboard and its horizon."""

    name: str
    instance: str
    words: str
    horizon: int = 10**6
    a: float = 1.0
    b: float = 1.0
    """Of endless arms: one is within x of the best with probability a x^b, for small x."""
    delay: str | None = None
    lost: float | None = None
    drift: str | None = None
    """How rewards come and means change, as `cell` takes them."""
    stepwise: bool = False
    """Of the pages of traffic and drift, which are simulated pull by pull: fewer runs."""

    @property
    def held_out(self) -> bool:
        """Whether no setting of Race was tried on the instance."""
        return self in HELD_OUT

    @property
    def starred(self) -> str:
        """The name, with a star if the instance is held out."""
        return self.name + "*" * self.held_out

    @property
    def endless(self) -> bool:
        """Whether arms never end."""
        return cell(OURS, self.instance, 2, 1).instance.endless

    @property
    def n_arms(self) -> int:
        """K."""
        return cell(OURS, self.instance, 2, 1).instance.n_arms

    def named(self, policy: str) -> str:
        """Return a policy's text with the true values of the arena that it is given, if any."""
        if "{" not in policy:
            return policy
        top = cell(OURS, self.instance, 2, 1).instance.best_mean
        return policy.format(a=self.a, b=self.b, top=top)


@dataclass(frozen=True)
class Entry:
    """A policy on the leaderboard, with so many arms in memory."""

    policy: str
    memory: int | None
    family: str

    @property
    def title(self) -> str:
        """The policy as tables write it."""
        settings = parse_policy(self.policy.format(a=1, b=1, top=1))[1]
        given = ", ".join(f"{key} = {value:g}" for key, value in settings.items())
        # Values that describe the arena differ from one to the next.
        return f"{self.cls.title} ({given})" if given and "{" not in self.policy else self.cls.title

    @property
    def label(self) -> str:
        """The title and the memory, if it is given."""
        return self.title if self.memory is None else f"{self.title}, M = {self.memory}"

    @property
    def cls(self) -> type[Policy]:
        """The policy's class."""
        return parse_policy(self.policy.format(a=1, b=1, top=1))[0]

    @property
    def shown_memory(self) -> str:
        """How many arms have statistics, in words."""
        return "all" if self.cls.unbounded else str(self.memory or self.cls.own_memory)

    @property
    def given(self) -> str:
        """What the policy is given beside the arms, in words."""
        found = []
        if "horizon" in self.cls.settings:
            phased = issubclass(self.cls, PhasedPolicy) and not self.cls.unbounded
            found.append("T, used if M ≥ K" if phased else "T")
        if "{b}" in self.policy:
            found.append("how rare good arms are")
        if "{top}" in self.policy:
            found.append("the best mean")
        return ", ".join(found)


def _listed(means: Iterable[float]) -> str:
    return ",".join(f"{mean:.6g}" for mean in means)


def evenly(first: float, last: float, arms: int) -> str:
    """Return the instance of so many arms with means from the first to the last."""
    step = (last - first) / (arms - 1)
    return "bernoulli:" + _listed(first + step * i for i in range(arms))


def repeated(*blocks: tuple[int, float]) -> str:
    """Return the instance with so many arms of each mean."""
    return "bernoulli:" + ",".join(str(mean) for arms, mean in blocks for _ in range(arms))


_SHAPES = (
    ("L", "linear:{K}", "evenly spaced"),
    ("0.3", "power:{K}:0.3", "mostly near the worst"),
    ("0.6", "power:{K}:0.6", "more of them low than high"),
)
FINITE = tuple(
    Arena(f"$B_{{{shape}}}^{{{K}}}$", spec.format(K=K), f"{K} arms, means {words}")
    for K in (100, 10)
    for shape, spec, words in _SHAPES
)
ENDLESS = (
    Arena("I1", "I1", "endless, Beta(0.5, 2), best 1", a=0.375, b=2.0),
    Arena("I2", "I2", "endless, uniform, best 1"),
    Arena("I3", "I3", "endless, Beta(0.5, 2), best 0.6", a=1.04, b=2.0),
    Arena("I4", "I4", "endless, uniform, best 0.6", a=1.67),
)
HARDER = (
    Arena("gap 0.05", repeated((1, 0.55), (19, 0.5)), "0.55 among 19 of 0.5"),
    Arena("gap 0.01", repeated((1, 0.51), (19, 0.5)), "0.51 among 19 of 0.5"),
    Arena("below 0.1", evenly(0.1, 0.001, 50), "50 arms from 0.1 to 0.001"),
    Arena("near-best", repeated((30, 0.9), (30, 0.89), (40, 0.5)),
          "30 of 0.9, 30 of 0.89, 40 of 0.5"),
    Arena("0.3 to 0.7", evenly(0.7, 0.3, 100), "100 arms from 0.7 to 0.3"),
    Arena("trap", repeated((1, 0.6), (49, 0.5), (50, 0.1)),
          "0.6 among 49 of 0.5 and 50 of 0.1: hard for policies that stop early"),
    Arena("two levels", repeated((1, 0.35), (9, 0.33), (90, 0.2)),
          "0.35 among 9 of 0.33 and 90 of 0.2: the closest are few"),
    Arena("needle", repeated((1, 0.9), (999, 0.1)),
          "0.9 among 999 of 0.1: hard for policies that pull every arm often"),
    Arena("one of 300", repeated((1, 0.5), (299, 0.3)), "0.5 among 299 of 0.3"),
)  # fmt: skip
HELD_OUT = (
    Arena("two best", "bernoulli:0.7,0.7," + _listed(0.65 - 0.45 * i / 47 for i in range(48)),
          "two of 0.7, 48 from 0.65 to 0.2"),
    Arena("seven arms", "bernoulli:0.3,0.28,0.25,0.2,0.15,0.1,0.05", "0.3, 0.28, 0.25, ..., 0.05"),
    Arena("click rates", "bernoulli:" + _listed(0.06 * 0.99**i for i in range(300)),
          "300 arms, from 0.06 on each 1% below the last"),
    Arena("groups", repeated((5, 0.8), (45, 0.7), (450, 0.4)), "5 of 0.8, 45 of 0.7, 450 of 0.4"),
    Arena("many good", "beta:2:1:0.5", "endless, Beta(2, 1), best 0.5", a=4.0),
    Arena("rare good", "beta:1:3:0.8", "endless, Beta(1, 3), best 0.8", a=1.95, b=3.0),
)  # fmt: skip
"""No setting of `race` was tried on these; docs/choosing.md says when they were written down."""
OTHER_REWARDS = (
    Arena("Beta rewards", "linear:100+beta", "Beta distributed rewards on $B_L^{100}$"),
    Arena("narrow rewards", "linear:100+truncnorm:0.1",
          "rewards close to their means on $B_L^{100}$"),
)  # fmt: skip
LARGE = (
    Arena("K = 10³", "linear:1000", "1000 arms, evenly spaced"),
    Arena("K = 10⁵", "linear:100000", "10⁵ arms, evenly spaced"),
    Arena("K = 10³, T = 10⁷", "linear:1000", "1000 arms, 10⁷ pulls", 10**7),
    Arena("K = 10⁵, T = 10⁷", "linear:100000", "10⁵ arms, 10⁷ pulls", 10**7),
)
ARENAS = (*FINITE, *ENDLESS, *HARDER, *HELD_OUT, *OTHER_REWARDS, *LARGE)
BEST_LAST = Arena(
    "best arm last", "linear:100",
    "$B_L^{100}$, the runs in which the best arm is among the last tenth to come up",
)  # fmt: skip
"""Not simulated: a selection of the runs on B_L^100."""


def entries(arena: Arena) -> Iterator[Entry]:
    """Yield the entries of an arena, family by family."""
    found = [entry for name in POLICIES for entry in _entries_of(name, arena)]
    yield from sorted(found, key=lambda entry: FAMILIES.index(entry.family))


def _entries_of(name: str, arena: Arena) -> Iterator[Entry]:
    cls = POLICIES[name]
    if name in LEFT_OUT or not (cls.any_arms or cls.endless is arena.endless):
        return
    most = VERY_MANY if name == REFERENCE else MANY
    if cls.unbounded and not arena.endless and arena.n_arms > most:
        return
    written = SET.get(name, tuple(p for p in THE_PAPERS if p.partition(":")[0] == name) or (name,))
    for policy in written:
        family = _family(policy, cls)
        memories: tuple[int | None, ...] = (None,)
        if cls.takes_memory():
            memories = tuple(sorted({*MEMORIES, *(MORE_MEMORY if name == OURS else ())}))
        for memory in memories:
            yield Entry(policy, memory, family)


def _family(policy: str, cls: type[Policy]) -> str:
    if policy == OURS:
        return RACE
    if policy in THE_PAPERS:
        return PAPER
    if cls.unbounded:
        return UNBOUNDED
    return RULES if issubclass(cls, PhasedPolicy) else LITERATURE


def cells(runs: int, seed: int) -> Iterator[Cell]:
    """Yield the cells of all entries on all arenas, in the order in which they are run."""
    for arena in ARENAS:
        for entry in entries(arena):
            yield planned(arena, entry, runs, seed)


def planned(arena: Arena, entry: Entry, runs: int = 1, seed: int = 0) -> Cell:
    """Return the cell of an entry on an arena.

    All runs on the paper's own instances, and for Race with Bernoulli rewards and up to 10^6 pulls.
    Elsewhere fewer: see `_share`. Slow to simulate are the reference, other rules in the paper's
    schedule, and other policies with every arm in memory.
    """
    policy = arena.named(entry.policy)
    runs = max(min(runs, AT_LEAST), runs // _share(arena, entry))
    return cell(
        policy, arena.instance, entry.memory, arena.horizon, runs, seed,
        delay=arena.delay, lost=arena.lost, drift=arena.drift,
    )  # fmt: skip


def _share(arena: Arena, entry: Entry) -> int:
    ours, longer = entry.family == RACE, arena.horizon > 10**6
    if arena.stepwise:
        return STEPWISE[0] if ours else STEPWISE[2 if entry.family == UNBOUNDED else 1]
    if arena in (*FINITE, *ENDLESS):
        return 1
    if ours:
        return FEWER if longer or arena in OTHER_REWARDS else 1
    if entry.policy == REFERENCE:
        return FEW
    if entry.family in (RULES, UNBOUNDED):
        return FEW if arena in (*HARDER, *HELD_OUT) else FEWEST
    return FEW if longer else FEWER
