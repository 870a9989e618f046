"""Segments that look only at the pulls that can change a decision: the same law, other choices.

`thompson` does it for Thompson sampling. Here it is for rules whose scores are steady: the score
rises with an arm's mean, falls with its pulls, and without a pull only rises, with the time or as
the highest mean falls. While it is certain that the leader, the arm with the highest score, stays
ahead through the next k pulls, those k pulls are one Binomial draw.

For a time `limit` ahead, `rival` is more than any other arm can score until then; it is worked out
once, and until then nothing but the leader is looked at. It is pulled k times together if it stays
above `rival` for certain should no more than so many of the k pulls fail, whenever they do; that is
more than ever will (`misses`). Should it happen all the same, the k pulls have not taken place yet,
but how many of them succeed is known: from then on the leader's rewards are drawn from that urn,
one by one, until it is empty, and the law is exact there too. Where k would be short, pulls go one
by one. How far ahead to look adapts: further when the leader came through, less far when not.

Stretches end where the segment does, so that regret at the times of the grid is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from handful import binomial, rng
from handful.rules import BonusRule, DrawRule, IndexRule, LeaderRule, Rule
from handful.simulation.kernels import thompson
from handful.simulation.kernels.block import Luck, Memory, Scratch, Tables
from handful.simulation.kernels.jit import family, named, use
from handful.simulation.kernels.lanes import WIDTH
from handful.simulation.kernels.step import Segment, score_with_top
from handful.simulation.kernels.world import Floats, Words, as_int

use(binomial.binomial)
use(rng.uniform)

START = 64
"""How many pulls ahead to look at first."""
SHORTEST = 4
"""Looking less far ahead is not worth while."""
REST = 16
"""Pulls one by one after that, before looking ahead again."""


def serves(rule: Rule) -> bool:
    """Whether there is a segment for the rule."""
    return rule.from_beta if isinstance(rule, DrawRule) else rule.steady


def needs_bernoulli(rule: Rule) -> bool:
    """Whether it is for Bernoulli rewards only; Thompson sampling makes trials of any rewards."""
    return not isinstance(rule, DrawRule)


def most_lanes(rule: Rule, m: int) -> int:
    """How many lanes a block has at most."""
    return 2 * WIDTH if isinstance(rule, DrawRule) and m == 2 else 1


def segment(rule: Rule, bernoulli: bool) -> tuple[Segment, str]:
    """The segment of a rule, and the family name of its kernel."""
    if isinstance(rule, DrawRule):
        return thompson.segment, family("skip_draws", rule.name)
    if isinstance(rule, BonusRule):
        kin = family("skip_bonus", rule.name, rule.growth, rule.width)
        return _of_scores(_bonus_scores(rule, kin), kin), kin
    kind = "skip_leader" if isinstance(rule, LeaderRule) else "skip_index"
    kin = family(kind, rule.name, rule.score)
    return _of_scores(_any_scores(rule, kin), kin), kin


class Scores(NamedTuple):
    """What the skipping loop asks of a rule.

    `grown(t, eta)` is worked out once for all arms at a time. `standing` is the score of slot i if
    the highest mean is `top`; `supposed` that of a leader with n pulls of such a mean; `pulled`
    brings up to date what `standing` reads. Stretches of less than `worth` cost more than single
    pulls.
    """

    grown: Callable[..., float]
    standing: Callable[..., float]
    supposed: Callable[..., float]
    pulled: Callable[..., None]
    looks_at_top: bool
    worth: int


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
    )


DOUBT = 1e-12
"""More than rounding can change a score that is at most a few units large, ..."""
DOUBT_BY_PULL = 4e-16
"""... and for scores that are n times a divergence, in addition, for each of the n pulls."""


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


ARM, LEFT, WINS, REACH = 0, 1, 2, 3
"""What passes from segment to segment: an urn, that is the slot whose rewards are drawn from it,
how many are left and how many of them are successes; and how far ahead to look."""


@use
def trial(mu: float, i: int, urn: Floats, rewards: Words) -> float:
    """The next reward of slot i."""
    if urn[LEFT] > 0.0 and urn[ARM] == i:
        x = 1.0 if rng.uniform(rewards) * urn[LEFT] < urn[WINS] else 0.0
        urn[LEFT] -= 1.0
        urn[WINS] -= x
        return x
    return 1.0 if rng.uniform(rewards) < mu else 0.0


def _of_scores(scores: Scores, kin: str) -> Segment:
    grown, standing, supposed, pulled, looks_at_top, worth = scores

    def lead(
        i: int, t: int, limit: int, rival: float, b: int, m: int, eta: float,
        memory: Memory, luck: Luck, urn: Floats,
    ) -> int:  # fmt: skip
        """Pull the leader until `limit`, or until its score is no longer above `rival`."""
        mu = memory.mus[i]
        n = memory.n[i]
        s = memory.s[i]
        # Scores rise with the time, so those of now are lower bounds of those to come.
        now = t
        g = grown(now, eta)
        spare = misses(limit - t, mu)
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
            x = 1.0 if rng.uniform(luck.rewards) < mu else 0.0
            s += x
            n += 1
            t += 1
            spare -= as_int(1.0 - x)
            k = worth
            if looks_at_top and spare < 0:
                break
            if not certain(supposed(n, s / n, now, g, b, m, eta, luck.choices), rival):
                break
        memory.n[i] = n
        memory.s[i] = s
        pulled(i, b, m, memory)
        return t

    def best_now(
        t: int, g: float, b: int, m: int, eta: float, memory: Memory, choices: Words
    ) -> int:
        """The first slot with the highest score."""
        top = memory.hat[0]
        if looks_at_top:
            for i in range(1, m):
                top = max(top, memory.hat[i])
        best = 0
        highest = standing(0, top, t, g, b, m, eta, memory, choices)
        for i in range(1, m):
            score = standing(i, top, t, g, b, m, eta, memory, choices)
            if score > highest:
                highest = score
                best = i
        return best

    def highest_of_others(
        leader: int, score: float, low: float, limit: int, g: float, b: int, m: int, eta: float,
        memory: Memory, choices: Words,
    ) -> float:  # fmt: skip
        """More than another arm scores until `limit` if the leader's mean is not below `low`.

        Infinite if the leader need not be the top then; cut short once it is above `score`.
        """
        highest = -math.inf
        for i in range(m):
            if i != leader:
                if looks_at_top and memory.hat[i] >= low:
                    return math.inf
                x = standing(i, low, limit, g, b, m, eta, memory, choices) + DOUBT
                if looks_at_top:
                    x += DOUBT_BY_PULL * memory.n[i]
                highest = max(highest, x)
                if highest >= score:
                    return highest
        return highest

    lead = named(lead, "lead", kin)
    best_now = named(best_now, "best_now", kin)
    highest_of_others = named(highest_of_others, "highest_of_others", kin)

    def segment(
        until: int, t: int, clock: int, m: int, L: int, b: int, eta: float,
        memory: Memory, luck: Luck, scratch: Scratch, tables: Tables,
    ) -> None:  # fmt: skip
        n, s, hat, mus = memory.n, memory.s, memory.hat, memory.mus
        urn = scratch.shapes
        if t == 0:
            urn[LEFT] = 0.0
            urn[REACH] = START
            scratch.best[0] = 0
        reach = as_int(urn[REACH])
        leader = scratch.best[0]
        rest = 0
        while t < until:
            budget = b if b > 0 else max(1, t)
            if t < m:
                leader = t
            else:
                if rest > 0:
                    rest -= 1
                elif urn[LEFT] == 0.0:
                    limit = min(until, t + reach)
                    low = s[leader] / (n[leader] + misses(limit - t, mus[leader]))
                    g = grown(t, eta)
                    mean = hat[leader]
                    score = supposed(n[leader], mean, t, g, budget, m, eta, luck.choices)
                    g = grown(limit, eta)
                    rival = highest_of_others(
                        leader, score, low, limit, g, budget, m, eta, memory, luck.choices
                    )
                    if certain(score, rival):
                        t = lead(leader, t, limit, rival, budget, m, eta, memory, luck, urn)
                        if t < limit:
                            reach = max(SHORTEST, reach // 2)
                        elif limit < until:
                            reach *= 2
                        continue
                    reach //= 2
                    if reach < SHORTEST:
                        reach = 2 * SHORTEST
                        rest = REST
                leader = best_now(t, grown(t, eta), budget, m, eta, memory, luck.choices)
            s[leader] += trial(mus[leader], leader, urn, luck.rewards)
            n[leader] += 1
            pulled(leader, budget, m, memory)
            t += 1
        urn[REACH] = reach
        scratch.best[0] = leader

    return named(segment, "segment", kin)
