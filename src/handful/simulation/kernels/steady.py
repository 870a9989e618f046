"""Segments for rules with steady scores: most arms are not looked at, and many pulls neither.

A score is steady if it rises with the arm's mean, falls with its pulls, and without a pull only
rises, with the time, with the budget where that is the time, or as the highest mean falls (`steady`
of a rule).

**The watched.** For a time `far` and a highest mean `low`, no arm outside of a short list can score
more than `level` until then. As long as the best of the list does, it is the best of all, and the
choices are those of a look at every arm, bit by bit. When it does not, or `far` has come or the
highest mean has fallen below `low`, the list is made anew.

**Stretches.** For a time `limit` ahead, `rival` is more than any arm but the leader can score until
then. Until then nothing but the leader is looked at, and it is pulled k times together, in one
Binomial draw, if it stays above `rival` for certain should no more than so many of the k pulls
fail, whenever they do; that is more than ever will (`misses`). Should it happen all the same, the k
pulls have not taken place yet, but how many of them succeed is known: from then on the leader's
rewards are drawn from that urn, one by one, until it is empty, and the law is exact there too. How
far ahead to look adapts: further when the leader came through, less far when it did not. Stretches
end where the segment does, so that regret at the times of the grid is exact.

With stretches the law is that of the policy; without, the choices are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from handful import binomial, rng
from handful.rules import BonusRule, IndexRule, LeaderRule
from handful.simulation.kernels.block import Luck, Memory, Scratch, Tables
from handful.simulation.kernels.jit import named, use
from handful.simulation.kernels.step import Segment, score_with_top
from handful.simulation.kernels.world import Build, Floats, Ints, Words, as_int, reward_law

use(binomial.binomial)
use(rng.uniform)

START = 64
"""How many pulls ahead to look at first."""
SHORTEST = 4
"""Looking less far ahead is not worth while."""
REST, LONGEST_REST = 16, 256
"""Pulls one by one after that, before looking ahead again; twice as many each time in a row."""
DOUBT = 1e-11
"""More than rounding can change a score that is at most a few units large, ..."""
DOUBT_BY_PULL = 4e-16
"""... and for scores that are n times a divergence, in addition, for each of the n pulls."""

ARM, LEFT, WINS, REACH, DEPTH = 0, 1, 2, 3, 4
"""What passes from segment to segment: an urn, that is the slot whose rewards are drawn from it,
how many are left and how many of them are successes; how far ahead to look; and how far below the
highest score `level` is."""


class Scores(NamedTuple):
    """What the loop asks of a rule.

    `grown(t, eta)` is worked out once for all arms at a time. `standing` is the score of slot i if
    the highest mean is `top`; `supposed` that of a leader with n pulls of such a mean; `pulled`
    brings up to date what `standing` reads. Stretches of less than `worth` cost more than single
    pulls; up to `few` arms are all watched.
    """

    grown: Callable[..., float]
    standing: Callable[..., float]
    supposed: Callable[..., float]
    pulled: Callable[..., None]
    looks_at_top: bool
    worth: int
    few: int


def scores_of(rule: BonusRule | IndexRule | LeaderRule, kin: str) -> Scores:
    """A rule's scores for this loop."""
    return _bonus_scores(rule, kin) if isinstance(rule, BonusRule) else _any_scores(rule, kin)


def _bonus_scores(rule: BonusRule, kin: str) -> Scores:
    growth = use(rule.growth)
    width = use(rule.width)

    def standing(
        i: int, top: float, t: int, g: float, b: int, m: int, eta: float,
        memory: Memory, choices: Words,
    ) -> float:  # fmt: skip
        score: float = memory.hat[i] + g * memory.wide[i]
        return score

    def supposed(
        n: int, mean: float, t: int, g: float, b: int, m: int, eta: float, choices: Words
    ) -> float:
        return mean + g * width(n, b, m)

    def pulled(i: int, b: int, m: int, memory: Memory) -> None:
        memory.hat[i] = memory.s[i] / memory.n[i]
        memory.wide[i] = width(memory.n[i], b, m)

    return Scores(
        growth,
        named(standing, "standing", kin),
        named(supposed, "supposed", kin),
        named(pulled, "pulled", kin),
        looks_at_top=False,
        worth=16,
        few=128,
    )


def _any_scores(rule: IndexRule | LeaderRule, kin: str) -> Scores:
    score_of = score_with_top(rule, kin)

    def no_growth(t: int, eta: float) -> float:
        return 0.0

    def standing(
        i: int, top: float, t: int, g: float, b: int, m: int, eta: float,
        memory: Memory, choices: Words,
    ) -> float:  # fmt: skip
        return score_of(memory.n[i], memory.s[i], top, t, b, m, eta, choices)

    def supposed(
        n: int, mean: float, t: int, g: float, b: int, m: int, eta: float, choices: Words
    ) -> float:
        s = mean * n
        return score_of(n, s, s / n, t, b, m, eta, choices)

    def pulled(i: int, b: int, m: int, memory: Memory) -> None:
        memory.hat[i] = memory.s[i] / memory.n[i]

    return Scores(
        named(no_growth, "no_growth", kin),
        named(standing, "standing", kin),
        named(supposed, "supposed", kin),
        named(pulled, "pulled", kin),
        looks_at_top=isinstance(rule, LeaderRule),
        worth=4,
        few=16,
    )


@use
def certain(score: float, rival: float) -> bool:
    """Whether a leader with this score is ahead for sure."""
    return score > rival


@use
def misses(k: int, mu: float) -> int:
    """More failures than k pulls will have, but for a chance of 10^-9; at most k."""
    most = k * (1.0 - mu) + 6.0 * math.sqrt(k * mu * (1.0 - mu)) + 6.0
    whole: int = as_int(most)
    return min(k, whole)


@use
def trial(mu: float, i: int, urn: Floats, rewards: Words) -> float:
    """The next Bernoulli reward of slot i, from the urn if it is for this slot."""
    if urn[LEFT] > 0.0 and urn[ARM] == i:
        x = 1.0 if rng.uniform(rewards) * urn[LEFT] < urn[WINS] else 0.0
        urn[LEFT] -= 1.0
        urn[WINS] -= x
        return x
    return 1.0 if rng.uniform(rewards) < mu else 0.0


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
    grown, standing, supposed, pulled, looks_at_top, _, _ = scores
    reward = reward_law(build)
    stretching = build.skipping
    scores_few = scores.few
    look = _lookout(scores, kin)
    exceeds = _rivals(scores, kin)
    lead = _leader(scores, kin)

    def run(
        until: int, t: int, clock: int, m: int, L: int, b: int, eta: float,
        memory: Memory, luck: Luck, scratch: Scratch, tables: Tables,
    ) -> None:  # fmt: skip
        n, s, hat, mus = memory.n, memory.s, memory.hat, memory.mus
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
                if known:
                    g = grown(t, eta)
                    for j in range(count):
                        i = watched[j]
                        x = standing(i, hat[top], t, g, budget, m, eta, memory, luck.choices)
                        if x > highest:
                            highest = x
                            leader = i
                if not highest > level or not known:
                    if known and t - since < m:
                        urn[DEPTH] *= 1.5
                    elif count > max(scores_few, m // 8):
                        urn[DEPTH] *= 0.75
                    since = t
                    far = min(until, t + max(64, t // 16))
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
                    luck.law, memory.arms[leader], mus[leader], memory.centres[leader], luck.spread,
                    luck.on_tape, luck.tape[0], clock + t, luck.rewards,
                )  # fmt: skip
            s[leader] += x
            n[leader] += 1
            before = hat[leader]
            pulled(leader, budget, m, memory)
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
        for i in range(m):
            x = standing(i, memory.hat[top], t, g, b, m, eta, memory, choices)
            if x > highest:
                highest = x
                best = i
        if m <= few:
            for i in range(m):
                watched[i] = i
            return best, -math.inf, m
        g = grown(far, eta)
        level = highest - depth
        count = 0
        for i in range(m):
            x = standing(i, low, far, g, most, m, eta, memory, choices)
            if i == best or x + DOUBT + DOUBT_BY_PULL * memory.n[i] > level:
                watched[count] = i
                count += 1
        return best, level, count

    return named(look, "look", kin)


def _rivals(scores: Scores, kin: str) -> Callable[..., float]:
    grown, standing, looks_at_top = scores.grown, scores.standing, scores.looks_at_top

    def exceeds(
        leader: int, t: int, limit: int, spare: int, level: float, top: int, low: float,
        b: int, m: int, eta: float, count: int, memory: Memory, choices: Words, watched: Ints,
    ) -> float:  # fmt: skip
        """More than any arm but the leader scores until `limit` if it fails at most `spare` times.

        Infinite where that is not known: if the leader need not be the one with the highest mean.
        """
        least = memory.s[leader] / (memory.n[leader] + spare)
        if looks_at_top:
            if top != leader or least < low:
                return math.inf
            for i in range(m):
                if i != leader and memory.hat[i] >= least:
                    return math.inf
        g = grown(limit, eta)
        rival = level
        for j in range(count):
            i = watched[j]
            if i != leader:
                x = standing(i, least, limit, g, b, m, eta, memory, choices)
                rival = max(rival, x + DOUBT + DOUBT_BY_PULL * memory.n[i])
        return rival

    return named(exceeds, "exceeds", kin)


def _leader(scores: Scores, kin: str) -> Callable[..., int]:
    grown, _, supposed, pulled, looks_at_top, worth, _ = scores

    def lead(
        i: int, t: int, limit: int, rival: float, spare: int, b: int, m: int, eta: float,
        memory: Memory, luck: Luck, urn: Floats,
    ) -> int:  # fmt: skip
        """Pull the leader until `limit`, or until its score is no longer above `rival`.

        For a rule that looks at the highest mean, no more than `spare` pulls may fail.
        """
        mu = memory.mus[i]
        n = memory.n[i]
        s = memory.s[i]
        # Scores rise with the time, so those of now are lower bounds of those to come.
        now = t
        g = grown(now, eta)
        k = limit - t
        while t < limit:
            k = min(k, limit - t)
            while k >= worth:
                most = misses(k, mu)
                if not looks_at_top or most <= spare:
                    low = s / (n + most)
                    if certain(supposed(n + k, low, now, g, b, m, eta, luck.choices), rival):
                        break
                k //= 2
            if k >= worth:
                wins = binomial.binomial(k, mu, luck.rewards)
                if k - wins > misses(k, mu):
                    urn[ARM] = i
                    urn[LEFT] = k
                    urn[WINS] = wins
                    break
                spare -= k - wins
                s += wins
                n += k
                t += k
                k *= 2
                continue
            # Up to the next failure, or as long as the leader is ahead if there is none.
            k = limit - t
            while k > 1 and not certain(
                supposed(n + k, s / n, now, g, b, m, eta, luck.choices), rival
            ):
                k //= 2
            run = as_int(k)
            if mu <= 0.0:
                run = as_int(0)
            elif mu < 1.0:
                u = math.log(rng.positive_uniform(luck.rewards))
                if u > k * math.log(mu):
                    run = as_int(u / math.log(mu))
            n += run
            s += run
            t += run
            if run < k:
                n += 1
                t += 1
                spare -= 1
                if looks_at_top and spare < 0:
                    break
            k = worth
            if not certain(supposed(n, s / n, now, g, b, m, eta, luck.choices), rival):
                break
        memory.n[i] = n
        memory.s[i] = s
        pulled(i, b, m, memory)
        return t

    return named(lead, "lead", kin)
