"""Race as its definition says it, for M < K: a plain program that looks at everything each time.

It remembers every decision in flight, where the policy counts them, and has none of the policy's
shortcuts. `arms` come up in the order given.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

AHEAD = 1e-9


def kl(p: float, q: float) -> float:
    if p == q:
        return 0.0
    if q in (0.0, 1.0):
        return math.inf
    gain = p * math.log(p / q) if p > 0 else 0.0
    loss = (1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0
    return gain + loss


@dataclass(eq=False)
class Arm:
    index: int
    born: int = 0
    n: int = 0
    s: float = 0.0
    awaited: set[int] = field(default_factory=set)
    """Decisions whose reward is waited for."""
    duel: str = ""
    """"first", "fresh", "known", "again", or none."""
    level: float = 0.0
    longest: float = 2.0
    t0: float = 1.0
    limit: float | None = None

    @property
    def mean(self) -> float:
        return self.s / self.n

    @property
    def total(self) -> int:
        return self.n + len(self.awaited)

    def theta(self, n: float) -> float:
        return self.level * (1 - math.log(n) / math.log(self.longest))


@dataclass
class Racing:
    K: float
    M: int
    arms: Iterator[int]
    watch: bool = True
    every: float = 0.0
    slots: list[Arm] = field(default_factory=list)
    decisions: dict[int, Arm] = field(default_factory=dict)
    t: int = 0
    """Decisions so far."""
    i: int = 0
    origin: int = 0
    came: int = 0
    V: float | None = None
    q: float = 1.0
    looks: int = 0
    looked: float = 0.0
    gained: float = 0.0
    cusum: float = 0.0
    since: list[float] = field(default_factory=list)
    """The incumbent's rewards since the CUSUM was 0."""
    answers: int = 0
    delay: float = 0.0
    turned: int = 0
    turned_before: int = 0

    def __post_init__(self) -> None:
        self.R = 1.2 + 0.05 * math.log2(self.M / 2)
        self.c = 1 / 3
        self.incumbent = Arm(-1)
        self.incumbent = self.come_up(None, "first")
        self.incumbent.duel = ""

    # Decisions.

    def decide(self) -> int:
        if self.answers and self.t - self.turned >= 1.5 * self.delay + 16:
            self.turn()
        arm = self.chosen()
        self.t += 1
        self.decisions[self.t] = arm
        arm.awaited.add(self.t)
        return arm.index

    def chosen(self) -> Arm:
        if self.incumbent.n == 0:
            silent = [arm for arm in self.slots if self.is_silent(arm, arm.born)]
            if not self.incumbent.awaited and self.incumbent not in silent:
                return self.incumbent
            if len(self.slots) < self.M and self.i < self.K:
                return self.come_up(None, "first")
            if len(silent) == len(self.slots):
                others = [arm for arm in silent if arm is not self.incumbent]
                return self.come_up(others[-1], "first")
            return min((arm for arm in self.slots if arm not in silent), key=lambda arm: arm.total)
        duelling = [arm for arm in self.slots if arm.duel]
        losers = [arm for arm in self.slots if not arm.duel and arm is not self.incumbent]
        for arm in duelling:
            if arm.total <= self.incumbent.total and self.wants(arm):
                return arm
        if any(arm.total > self.incumbent.total for arm in duelling):
            return self.incumbent
        best = max((a for a in losers if a.n), key=lambda arm: arm.mean, default=None)
        for _ in range(2 * self.M):
            if len(self.slots) == self.M and not losers:
                break
            due = self.is_due()
            clocked = self.every > 0 and self.t + 1 - self.came >= self.every / self.K
            if not due and not clocked:
                break
            out = None
            if len(self.slots) == self.M:
                out = min(losers, key=lambda arm: arm.mean if arm.n else -1.0)
            arm = self.come_up(out, "fresh", clocked=not due)
            if arm is self.incumbent or arm.duel:
                return arm
        m0 = self.incumbent.mean
        if math.isfinite(self.K) and self.V is None and self.origin == 0:
            best = None  # no rematch in the very first pass
        if best and best is not self.incumbent and not best.duel and best.mean > m0 + AHEAD:
            self.begin(best, "again", self.age() + 1)
            duelling.append(best)
            if self.wants(best):
                return best
        ahead = [
            arm
            for arm in self.slots
            if arm.duel
            and arm.n
            and arm.mean > m0
            and arm.n * kl(arm.mean, m0) > self.c * math.log(arm.t0)
        ]
        return max(ahead, key=lambda arm: arm.mean, default=self.incumbent)

    def age(self) -> int:
        return self.t - self.origin

    def cost(self) -> float:
        return self.looks * self.incumbent.mean - self.looked

    def budget(self, t: int) -> float:
        most = math.sqrt(2.5 * self.gained * math.log(t + 1))
        if self.V is None:
            return min(most, math.sqrt(t * math.log(t + 1)), t * (1 - self.incumbent.mean))
        return most

    def is_due(self) -> bool:
        t = self.age()
        if self.V is not None and t < self.K * math.exp(min(self.V, 600)):
            return False
        return self.cost() <= self.budget(t)

    def wants(self, arm: Arm) -> bool:
        if not arm.awaited:
            return arm.n <= self.incumbent.n
        if arm.total > self.incumbent.total:
            return False
        if arm.limit is None:
            arm.limit = self.limit_of(arm)
        return arm.total < arm.limit

    def limit_of(self, arm: Arm) -> float:
        if arm.n and self.loses(arm, arm.n):
            return arm.n
        failures: float = next(
            k for k in range(1, 65537) if k == 65536 or self.loses(arm, arm.n + k)
        )
        if self.V is None and self.delay > 0:
            left = self.budget(self.age() + 1) - self.cost()
            failures = max(failures, 0.5 * left / (self.M - 1))
        return arm.n + max(failures, 0.5 * arm.n)

    def loses(self, arm: Arm, n: int) -> bool:
        """Whether it would lose if, after n pulls in all, no other had succeeded."""
        n0, m0, mean = self.incumbent.n, self.incumbent.mean, arm.s / n
        return mean <= m0 + AHEAD and n * kl(mean, m0) * n0 / (n0 + n) > arm.theta(n)

    def come_up(self, out: Arm | None, kind: str, clocked: bool = False) -> Arm:
        index = next(self.arms)
        self.i += 1
        if self.slots and index == self.incumbent.index and self.K > 1:
            index = next(self.arms)
            self.i += 1
        self.came = self.t + 1
        if self.V is None and self.i > self.K:
            self.V = max(1.0, math.log((self.age() + 2 * self.delay) / self.K))
        arm = next((arm for arm in self.slots if arm.index == index), None)
        if arm is None:
            arm = Arm(index, self.came)
            if out is None:
                self.slots.append(arm)
            else:
                self.slots[self.slots.index(out)] = arm
            self.begin(arm, kind, self.age() + 1, clocked)
        elif arm is not self.incumbent and not arm.duel:
            if clocked or (self.V is None and self.origin > 0):
                arm.n, arm.s = 0, 0.0
                self.begin(arm, "fresh", self.age() + 1, clocked)
            elif arm.n:
                self.begin(arm, "known", self.age() + 1)
                self.judge(arm)
            else:
                self.book()
        if self.V is not None and not clocked:
            self.V *= self.R ** (1 / self.K)
        return arm

    def begin(self, arm: Arm, kind: str, t0: int, clocked: bool = False) -> None:
        c = self.c if kind in ("first", "fresh") else 0.5
        arm.duel, arm.t0, arm.limit = kind, max(1, t0), None
        if clocked:
            arm.longest = max(2.0, self.every / self.K)
            arm.level = c * math.log(arm.longest)
        elif self.V is None:
            arm.longest = max(2.0, arm.t0 / max(1, self.i) / (1 + self.delay / (self.M - 1)))
            arm.level = c * math.log(arm.longest)
        else:
            arm.longest = max(2.0, min(arm.t0, 5 * math.exp(min(600, self.R * self.V))))
            arm.level = c * self.R * self.V

    # Rewards.

    def reward(self, t: int, value: float) -> None:
        arm = self.decisions[t]
        self.answers = min(256, self.answers + 1)
        self.delay += (self.t - t - self.delay) / self.answers
        if arm not in self.slots:
            return
        arm.awaited.discard(t)
        self.gained += value
        if self.incumbent.n == 0 and arm is not self.incumbent:
            self.begin(self.incumbent, "first", self.age())
            self.incumbent, arm.duel = arm, ""
        if arm.duel in ("fresh", "known"):
            self.looks += 1
            self.looked += value
        arm.n += 1
        arm.s += value
        if arm is not self.incumbent:
            self.judge(arm)
            return
        if self.watch:
            self.look_for_a_fall(value)
        for other in self.slots:
            if other.duel and not other.awaited:
                self.judge(other)

    def turn(self) -> None:
        for arm in self.slots:
            arm.awaited = {t for t in arm.awaited if t > self.turned}
        self.turned = self.t
        self.look_at_duels()

    def drop(self, t: int) -> None:
        self.decisions[t].awaited.discard(t)
        if self.decisions[t] in self.slots:
            self.look_at_duels()

    def look_at_duels(self) -> None:
        for arm in self.slots:
            if arm.duel and self.is_silent(arm, max(arm.born, self.came)):
                arm.duel = ""
            else:
                self.judge(arm)

    def is_silent(self, arm: Arm, since: int) -> bool:
        known = arm.n or arm.awaited
        return not known and self.t + 1 - since >= 6 * (16 + 1.5 * self.delay)

    def judge(self, arm: Arm) -> None:
        arm.limit = None
        inc = self.incumbent
        if not arm.duel or arm.n == 0 or inc.n == 0:
            return
        e = arm.n * kl(arm.mean, inc.mean)
        if arm.mean > inc.mean + AHEAD:
            if not (arm.n > inc.n or e > math.log(arm.t0)):
                return
            self.incumbent, self.cusum, self.since = arm, 0.0, []
        else:
            e *= inc.n / (inc.n + arm.n)
            if not e > arm.theta(arm.n) or len(arm.awaited) > 0.25 * arm.n:
                return
            if arm.duel != "again":
                excess = math.exp(-(e - max(0.0, arm.theta(arm.n))))
                self.q += (excess - self.q) / min(self.K, max(1, self.i))
        if arm.duel != "again":
            self.book()
        arm.duel = ""

    def book(self) -> None:
        if self.V is not None:
            self.V -= math.log(max(self.q, 1e-9)) / self.K

    def look_for_a_fall(self, value: float) -> None:
        inc = self.incumbent
        n, s = inc.n - len(self.since), inc.s - sum(self.since)
        if s < 30:
            return
        m = min(s / n, 1 - 0.5 / n)
        q = 0.75 * m
        self.cusum += value * math.log(0.75) + (1 - value) * math.log((1 - q) / (1 - m))
        self.since.append(value)
        if self.cusum <= 0:
            self.cusum, self.since = 0.0, []
        elif self.cusum > 2 + 1.5 * math.log(max(2, self.t)):
            inc.n, inc.s = len(self.since), sum(self.since)
            self.cusum, self.since = 0.0, []
            self.i = self.looks = 0
            self.looked = self.gained = 0.0
            self.origin, self.V, self.q = self.t - 1, None, 1.0
            for arm in self.slots:
                if arm is not inc and arm.n > 20:
                    arm.s, arm.n = arm.s * (20 / arm.n), 20
