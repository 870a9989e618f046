"""Racing: keep the incumbent's statistics for ever, and end a comparison as soon as it is decided.

Algorithm 1 throws statistics away at every sub-phase and spends the whole of it on arms that are
plainly worse. Here one **incumbent** keeps its place and its statistics; arms come up one by one
and **challenge** it. With n0 pulls of mean m0 for the incumbent, n1 and m1 for the challenger:

    pull            the challenger, or the incumbent where the challenger has had more pulls
    it loses        if m1 <= m0 and n1 kl(m1, m0) + d ln n1 > c ln t0, t0 the time it came up
    it wins         if m1 > m0 and n1 > n0, or n1 kl(m1, m0) > 1.2 ln t

kl is the divergence of Bernoulli laws, which for rewards in [0, 1] is on the safe side. Between two
duels the incumbent is pulled. The next arm comes up once all of these hold, with i arms so far, and
X what their pulls have cost, the sum of m0 minus reward:

    t^0.67 >= i and t^0.6 >= X
    ln t >= L r^(i/K - 1), r = 1.25, after the first pass over K arms; L = ln(K)/0.6, at least 2
    the incumbent has had 15 of 100 pulls

**Why these.** An arm that is the best but loses a duel is not lost: it comes up again. If it loses
each with a chance of order exp(-c ln t0), the chances of the passes multiply, as if the statistics
of all of them had been kept. Passes at times whose logarithm grows by a factor r need c = r - 1
each to have erred with chance 1/t by the time t; c = 0.4 leaves room. In the first pass, where few
incumbents are worth keeping, c = 0.2: it is about finding a good one soon. The term d ln n1, with d
= 0.5, in the first pass 0.35, ends duels of near ties, which otherwise last as long as everything
before them; like IMED's ln n, it asks less certainty of an arm that was looked at often. To lose
the incumbent wrongly would lose what all passes have found, hence 1.2 ln t for that. An incumbent
that won by luck has too high a mean until it was pulled more, hence its share of the pulls. Endless
arms are a first pass that does not end: how many to look at is a question of what they cost, X,
against what is left to gain.

**More memory.** The losers stay, with their statistics, until their place is needed: the one with
the lowest mean goes. One that comes up again, or whose mean is above the incumbent's after all,
challenges with what is known of it, and loses only by IMED's full measure, n1 kl + ln n1 > ln n0.
With room for all arms, nobody ever goes, and the policy is IMED.

No bound on the regret is proven here. The constants were chosen by simulation, once, for all
instances.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from handful.binomial import kl
from handful.policies.automaton import FOREVER, KEEP, NEXT, Automaton, AutomatonPolicy, Registers
from handful.rules.base import as_given
from handful.rules.imed import index

FIRST, LATER = 0.2, 0.4
"""c, in the first pass and after it."""
TIE_FIRST, TIE = 0.35, 0.5
"""d, likewise."""
WIN = 1.2
ARMS = 0.67
PACE = 0.6
RATIO = 1.25
SHARE = 0.15

INCUMBENT, CHALLENGER, SLOTS, SEEN, LEVEL, PULLS, COST, OPENS = range(8)
"""The registers. No duel: the challenger is the incumbent. A level of 0: IMED's."""


def imed_leads(n: Sequence[int], s: Sequence[float], m: int) -> int:
    """The slot that IMED pulls."""
    top = 0.0
    for j in range(m):
        top = max(top, s[j] / n[j])
    best = 0
    lowest = math.inf
    for j in range(m):
        x = index(n[j], s[j], top)
        if x < lowest:
            lowest = x
            best = j
    return best


def opening(i: int, K: int, t: float, n0: float, cost: float) -> float:
    """When the next arm may come up if only the incumbent is pulled until then."""
    when: float = max(float(i) ** (1.0 / ARMS), max(1.0, cost) ** (1.0 / PACE))
    if i >= K:
        first = max(2.0, math.log(K) / PACE)
        when = max(when, math.exp(min(700.0, first * RATIO ** (i / K - 1.0))))
    return float(max(when, t + (SHARE * t - n0) / (1.0 - SHARE)))


def step(
    slot: int, reward: float, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> tuple[int, int]:  # fmt: skip
    """One pull: who is pulled next, and whether another arm comes up for that."""
    M = int(p[-1])
    reg[PULLS] += 1.0
    t = reg[PULLS]
    came = i > reg[SEEN]
    reg[SEEN] = i
    if M >= K:
        if i < K:
            return i, NEXT
        most = 0
        for j in range(1, K):
            if n[j] > n[most]:
                most = j
        reg[INCUMBENT] = reg[CHALLENGER] = most
        return imed_leads(n, s, K), KEEP
    incumbent = int(reg[INCUMBENT])
    if came:
        reg[SLOTS] = max(reg[SLOTS], slot + 1.0)
        reg[CHALLENGER] = slot
        reg[LEVEL] = 0.0
        if n[slot] == 1:
            reg[LEVEL] = (FIRST if i <= K else LATER) * math.log(t)
    challenger = int(reg[CHALLENGER])
    if challenger != incumbent:
        n0, m0 = n[incumbent], s[incumbent] / n[incumbent]
        n1, m1 = n[challenger], s[challenger] / n[challenger]
        if slot == challenger:
            reg[COST] += m0 - reward
        over = False
        if m1 > m0:
            if n1 > n0 or n1 * kl(m1, m0) > WIN * math.log(t):
                incumbent = challenger
                over = True
        elif reg[LEVEL] > 0.0:
            over = n1 * kl(m1, m0) + (TIE_FIRST if i <= K else TIE) * math.log(n1) > reg[LEVEL]
        else:
            over = index(n1, s[challenger], m0) > math.log(n0)
        if not over:
            return (challenger if n1 <= n0 else incumbent), KEEP
        reg[INCUMBENT] = reg[CHALLENGER] = incumbent
        reg[OPENS] = opening(i, K, t, n[incumbent], reg[COST])
    elif came:
        reg[OPENS] = opening(i, K, t, n[incumbent], reg[COST])
    # The best and the worst of the others.
    m0 = s[incumbent] / n[incumbent]
    worst = best = -1
    for j in range(int(reg[SLOTS])):
        if j != incumbent:
            if best < 0 or s[j] / n[j] > s[best] / n[best]:
                best = j
            if worst < 0 or s[j] / n[j] < s[worst] / n[worst]:
                worst = j
    if best >= 0 and s[best] / n[best] > m0:
        reg[CHALLENGER] = best
        reg[LEVEL] = 0.0
        return (best if n[best] <= n[incumbent] else incumbent), KEEP
    if t < reg[OPENS]:
        return incumbent, KEEP
    return (int(reg[SLOTS]) if reg[SLOTS] < M else worst), NEXT


def calm(
    slot: int, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> tuple[int, int]:  # fmt: skip
    """Between duels, until the next arm may come up or another's mean could be the highest."""
    if p[-1] >= K or i > reg[SEEN] or reg[CHALLENGER] != reg[INCUMBENT]:
        return 0, 0
    left = min(float(FOREVER), math.ceil(reg[OPENS]) - 1.0 - reg[PULLS])
    if left <= 0.0:
        return 0, 0
    top = 0.0
    for j in range(int(reg[SLOTS])):
        if j != slot:
            top = max(top, s[j] / n[j])
    still = left
    if top > 0.0:
        still = min(left, s[slot] / top * (1.0 - 1e-12) - n[slot] - 1.0)
    return int(max(still, 0.0)), int(left)


def absorb(
    slot: int, pulls: int, wins: int, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> None:  # fmt: skip
    """Only time passes."""
    reg[PULLS] += pulls


class Race(AutomatonPolicy):
    """Racing: an incumbent that keeps its statistics, and challengers that lose or win soon.

    >>> policy = Race(arms=["red", "green", "blue"], memory=2, seed=1)
    >>> for _ in range(100):
    ...     arm = policy.select()
    ...     policy.update(arm, 1.0 if arm == "blue" else 0.0)
    >>> policy.recommend()
    'blue'
    """

    name = "race"
    title = "Race"
    summary = "an incumbent and challengers, each duel ended as soon as it is decided"
    citation = "handful: see src/handful/policies/race.py"
    any_arms = True
    automaton = Automaton(
        "race", step, 8, slots=2, credit=as_given, keeps_held=True, calm=calm, absorb=absorb
    )
