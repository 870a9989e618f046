"""Segments for rules with monotone scores: few scores are computed, and many pulls are skipped.

`handful.rules.monotonicity` says what a monotone score is.

**The watched.** Until the time `far`, and while the highest mean is at least `low`, no arm outside
of a short list can score more than `level`. As long as the best score of the list is higher, it is
the best of all, and the choices are the same as if every score were computed, bit for bit. When it
is not higher, or `far` has come, or the highest mean has fallen below `low`, a new list is made.

**Caps.** If a score takes long to compute, a watched arm has an upper bound on its score, which
holds for a while if it is not pulled. Scores whose bound is below the highest score are skipped.

**Stretches** (`stretches.py`). As long as no other arm can get above the leader, it is pulled many
times together. The number of pulls to look ahead adapts: it grows if the leader stayed ahead, and
shrinks if not. Stretches end with the segment, so that regret at the times of the grid is exact.

With stretches the distribution is that of the policy; without them, the choices are, too.

A score that is NaN ends the run when it is computed. Loops over scores raise the error after their
last one: a branch at every score costs a tenth of the time. An arm whose bound is NaN is watched.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from handful.compiling.arrays import Floats, Ints, Words
from handful.compiling.jit import named, use
from handful.errors import RuleError
from handful.simulation.kernels.block import Luck, Memory, Scratch, Tables
from handful.simulation.kernels.scores import DOUBT, DOUBT_BY_PULL, Scores
from handful.simulation.kernels.step import NAN, Segment
from handful.simulation.kernels.stretches import LEFT, certain, leading, misses, rivals_of, trial
from handful.simulation.kernels.world import Build, as_int, reward_of

START = 64
"""The number of pulls to look ahead at first."""
SHORTEST = 4
"""Looking less far ahead is not worth while."""
REST, LONGEST_REST = 16, 256
"""Pulls one by one after that, before looking ahead again; twice as many each time in a row."""
HELD, HELD_SHARE = 32, 256
"""Caps hold for so many pulls, or one in so many of those so far."""
REACH, DEPTH = 3, 4
"""What passes from segment to segment besides the urn: how far ahead to look, and how far below the
highest score `level` is."""


@use
def highest_mean(hat: Floats, m: int) -> int:
    """The first slot with the highest mean."""
    top = 0
    for i in range(1, m):
        if hat[i] > hat[top]:
            top = i
    return top


def segment(scores: Scores, kin: str, build: Build) -> Segment:
    """The segment of a rule with these scores."""
    grown, standing, supposed, pulled, looks_at_top, _, few, _ = scores
    reward = reward_of(build)
    stretching = build.skipping
    look = _lookout(scores, kin)
    costly = scores.costly
    pick = _picking(scores, kin)
    exceeds = rivals_of(scores, kin)
    lead = leading(scores, kin)

    def run(
        until: int, t: int, clock: int, last: bool, m: int, L: int, b: int, eta: float,
        memory: Memory, luck: Luck, scratch: Scratch, tables: Tables,
    ) -> None:  # fmt: skip
        n, s, hat, mus = memory.n, memory.s, memory.hat, memory.mus
        caps = memory.wide
        urn = scratch.numbers
        watched = scratch.slots
        if t == 0:
            urn[LEFT] = 0.0
            urn[REACH] = START
            urn[DEPTH] = 0.1
        clock -= t
        reach = as_int(urn[REACH])
        rest = 0
        nap = REST
        leader = 0
        top = highest_mean(hat, m) if looks_at_top and t >= m else 0
        count = 0
        since = t
        far = t
        held = t
        level = math.inf
        low = 0.0
        while t < until:
            budget = b if b > 0 else max(1, t)
            if t < m:
                leader = t
            else:
                known = t < far and (not looks_at_top or hat[top] >= low)
                if stretching and known and rest == 0 and urn[LEFT] == 0.0:
                    limit = min(far, t + reach)
                    spare = misses(limit - t, mus[leader])
                    most = b if b > 0 else limit
                    rival = exceeds(
                        leader, t, limit, spare, level, top, low, most, m, eta, count,
                        memory, luck.choices, watched,
                    )  # fmt: skip
                    score = supposed(
                        n[leader], hat[leader], t, grown(t, eta), budget, m, eta, luck.choices
                    )
                    if looks_at_top and not certain(score, rival):
                        spare = 0
                        rival = exceeds(
                            leader, t, limit, spare, level, top, low, most, m, eta, count,
                            memory, luck.choices, watched,
                        )  # fmt: skip
                    if certain(score, rival):
                        nap = REST
                        t = lead(leader, t, limit, rival, spare, budget, m, eta, memory, luck, urn)
                        if costly:
                            caps[leader] = math.inf
                        if looks_at_top:
                            top = highest_mean(hat, m)
                        if t < limit:
                            reach = max(SHORTEST, reach // 2)
                        elif limit < far:
                            reach *= 2
                        continue
                    if rival == level:
                        urn[DEPTH] *= 2.0
                    reach //= 2
                    if reach < SHORTEST:
                        reach = 2 * SHORTEST
                        rest = nap
                        nap = min(2 * nap, LONGEST_REST)
                elif rest > 0:
                    rest -= 1
                highest = -math.inf
                if known and costly and count > 2:
                    if t >= held:
                        held = min(far, t + max(HELD, t // HELD_SHARE))
                        for j in range(count):
                            caps[watched[j]] = math.inf
                    leader, highest = pick(
                        leader, t, held, budget, b if b > 0 else held, m, eta, count,
                        memory, luck.choices, watched,
                    )  # fmt: skip
                elif known:
                    g = grown(t, eta)
                    ordered = True
                    for j in range(count):
                        i = watched[j]
                        x = standing(i, hat[top], t, g, budget, m, eta, memory, luck.choices)
                        ordered &= x == x
                        if x > highest:
                            highest = x
                            leader = i
                    if not ordered:
                        raise RuleError(NAN)
                if not highest > level or not known:
                    if known and t - since < m:
                        urn[DEPTH] *= 1.5
                    elif count > max(few, m // 8):
                        urn[DEPTH] *= 0.75
                    since = t
                    far = min(until, t + max(64, t // 16))
                    held = t
                    if looks_at_top:
                        spare = 2 * misses(far - t, hat[top]) + 8
                        low = s[top] / (n[top] + spare)
                    leader, level, count = look(
                        t, far, top, low, budget, b if b > 0 else far, m, eta, urn[DEPTH],
                        memory, luck.choices, watched,
                    )  # fmt: skip
            if stretching:
                x = trial(mus[leader], leader, urn, luck.rewards)
            else:
                x = reward(
                    luck.distribution, memory.arms[leader], mus[leader], memory.centres[leader],
                    luck.on_tape, luck.tape[0], clock + t, luck.rewards,
                )  # fmt: skip
            s[leader] += x
            n[leader] += 1
            before = hat[leader]
            pulled(leader, budget, m, memory)
            if costly:
                caps[leader] = math.inf
            t += 1
            if looks_at_top and t >= m:
                if t == m or (leader == top and hat[leader] < before):
                    top = highest_mean(hat, m)
                elif hat[leader] > hat[top]:
                    top = leader
        urn[REACH] = reach

    return named(run, "segment", kin)


def _lookout(scores: Scores, kin: str) -> Callable[..., tuple[int, float, int]]:
    grown, standing, few = scores.grown, scores.standing, scores.few

    def look(
        t: int, far: int, top: int, low: float, b: int, most: int, m: int, eta: float, depth: float,
        memory: Memory, choices: Words, watched: Ints,
    ) -> tuple[int, float, int]:  # fmt: skip
        """The first slot with the highest score; `level`, and how many slots can get above it.

        b is the budget now, `most` that at `far`: where it is not known, it is the time.
        """
        g = grown(t, eta)
        best = 0
        highest = -math.inf
        ordered = True
        for i in range(m):
            x = standing(i, memory.hat[top], t, g, b, m, eta, memory, choices)
            ordered &= x == x
            if x > highest:
                highest = x
                best = i
        if not ordered or highest == -math.inf:
            raise RuleError(NAN)
        if m <= few:
            for i in range(m):
                watched[i] = i
            return best, -math.inf, m
        g = grown(far, eta)
        level = highest - depth
        count = 0
        for i in range(m):
            x = standing(i, low, far, g, most, m, eta, memory, choices)
            if i == best or not x + DOUBT + DOUBT_BY_PULL * memory.n[i] <= level:
                watched[count] = i
                count += 1
        return best, level, count

    return named(look, "look", kin)


def _picking(scores: Scores, kin: str) -> Callable[..., tuple[int, float]]:
    standing = scores.standing

    def pick(
        last: int, t: int, held: int, b: int, most: int, m: int, eta: float, count: int,
        memory: Memory, choices: Words, watched: Ints,
    ) -> tuple[int, float]:  # fmt: skip
        """The first watched slot with the highest score, and that score.

        Caps hold until the time `held`, when the budget is `most`; an infinite one is not known.
        """
        caps = memory.wide
        best = last
        highest = standing(last, 0.0, t, 0.0, b, m, eta, memory, choices)
        if highest != highest:
            raise RuleError(NAN)
        # Who has the highest cap is likely to be the best: with it, fewer others are looked at.
        likely = last
        bound = -math.inf
        for j in range(count):
            i = watched[j]
            if i != last and bound < caps[i] < math.inf:
                bound = caps[i]
                likely = i
        if likely != last and bound >= highest:
            x = standing(likely, 0.0, t, 0.0, b, m, eta, memory, choices)
            if x != x:
                raise RuleError(NAN)
            if x > highest or (x == highest and likely < best):
                highest = x
                best = likely
        for j in range(count):
            i = watched[j]
            if i != last and i != likely and not caps[i] < highest:
                x = standing(i, 0.0, t, 0.0, b, m, eta, memory, choices)
                if x != x:
                    raise RuleError(NAN)
                if x > highest or (x == highest and i < best):
                    highest = x
                    best = i
                elif caps[i] == math.inf:
                    cap = standing(i, 0.0, held, 0.0, most, m, eta, memory, choices)
                    caps[i] = cap + DOUBT + DOUBT_BY_PULL * memory.n[i]
        return best, highest

    return named(pick, "pick", kin)
