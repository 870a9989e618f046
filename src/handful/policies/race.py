"""Racing: keep the incumbent's statistics for ever, and end a comparison as soon as it is decided.

Algorithm 1 throws statistics away at every sub-phase and spends the whole of it on arms that are
plainly worse. Here one **incumbent** keeps its place and its statistics; arms come up one by one
and **challenge** it. With n0 pulls of mean m0 for the incumbent, n1 and m1 for the challenger:

    pull            the challenger, or the incumbent where the challenger has had more pulls
    it loses        if m1 <= m0 and w n1 kl(m1, m0) > c ln t0 (1 - ln n1 / ln l),
                    where t0 is the time it came up, l how long a tie may last and
                    w = n0 / (n0 + 2 n1)
    it wins         if m1 > m0 and n1 > n0, or n1 kl(m1, m0) > 1.2 ln t

kl is the divergence of Bernoulli laws, which for rewards in [0, 1] is on the safe side. A mean is
above another if it is by more than 10^-9: sums of equal rewards differ by rounding. Between two
duels the incumbent is pulled. The next arm comes up once all of these hold, with i arms so far, and
X what the duels of arms that came up have cost, the sum of m0 minus reward over their pulls:

    in the first pass over K arms    t^0.67 >= i and t^0.6 >= X, or t >= b = min(20 K, 0.4 K^1.5)
    after it                         t^0.67 >= i and t >= s = exp(L r^(i/K - 1)), with
                                     L = ln(K)/0.6, at least 2; and t^0.6 >= X or t >= 2 s
    always                           n0 >= 0.15 t / (m - 1), with m arms in memory

**How sure.** An arm that is the best but loses a duel is not lost: it comes up again. If it loses
each with a chance of order exp(-c ln t0), the chances of the passes multiply, as if the statistics
of all of them had been kept. Passes at times whose logarithm grows by a factor r need c = r - 1
each to have erred with chance 1/t by the time t. With two arms in memory r = 1.27, and c = 0.43
leaves room. In the first pass, where few incumbents are worth keeping, c = 0.2: it is about finding
a good one soon.

**How long.** Near ties would last as long as everything before them. So the evidence asked for
comes down with ln n1, as with IMED's ln n, and a tie ends after l pulls, at least 2:

    until arm K + 1 comes up    l = t0^0.57, at most b^0.33
    after that                  l = 8 t1 / K, at most t0; t1 is when the last arm was due

What counts is that all arms get their turn. Most may tie, such as a thousand arms of 0.1 with one
of 0.9 among them: with b^0.33 they are all looked at soon, and 8 t1 / K, not t0, keeps a pass that
is late from becoming later with each duel. The price is that the best arm loses more often where it
is one of the ties that are cut short; it comes up again. That is also why X does not hold up later
passes for long: among 300 near ties it kept the second from coming to its end.

**Who is believed.** To lose the incumbent wrongly would lose what all passes have found, hence
1.2 ln t for that. An incumbent that won by luck has too high a mean until it was pulled more, hence
its share of the pulls; where memory has more arms that may be as good, the share is smaller. It is
also why a challenger with as many pulls is not yet beaten: n0 / (n0 + n1) is what the evidence is
worth where both means are uncertain, and 2 n1 is for the incumbent being the luckiest of many.
Without it, the best of 20 arms that is ahead by 0.05 loses more often to the luckiest of the
others, which reads 0.526 for 0.5: with ten in memory the worst runs in a hundred have 4.4 times the
mean regret instead of 3.2 times, though the mean is lower.

Endless arms are a first pass that does not end: how many to look at is a question of what they
cost, X, against what is left to gain. So it is with K arms at first; but the pass is a small part
of 20 K pulls, and not to have seen the best arm by then would cost more. Where arms are few they
are gone through sooner still.

**More memory.** The losers stay, with their statistics, until their place is needed: the one with
the lowest mean goes. One that comes up again challenges with what is known of it, with c = 0.7: it
has no fresh chance in each pass, so it is asked more; with l pulls or more it has lost once it is
not ahead. So does one whose mean is above the
incumbent's after all, while no other is due; such duels are not counted in X, which is about how
many arms to look at: counted, near ties in memory would keep the rest of the arms waiting. With the
good arms in memory a pass finds less that is new, so with M of them passes are further apart:
r = 1.27 + 0.05 ln(M/2) (1 - M/K). With room for all arms, nobody ever goes, and the policy is IMED.

No bound on the regret is proven here. The constants are the same for all instances; they were
chosen by simulation, by the mean and the 99th percentile together, on instances of the leaderboard
and on others; docs/choosing.md says which had no say in it, and how Race does on those.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from handful.core.binomial import kl
from handful.policies.automaton import FOREVER, KEEP, NEXT, Automaton, AutomatonPolicy, Registers
from handful.rules.base import as_given
from handful.rules.imed import index

FIRST, LATER, KNOWN = 0.2, 0.43, 0.7
"""c: in the first pass, after it, and for an arm whose statistics are in memory."""
GLANCE = 0.57
"""A tie in the first pass lasts t0^GLANCE pulls, ..."""
LONGEST = 8.0
"""... and after it so many times an arm's share of the pulls by when it was due."""
AHEAD = 1e-9
"""One mean is above another by more than this; less is rounding."""
DOUBT = 2.0
"""Times n1, against n0: how much the doubt about the incumbent's mean takes off the evidence."""
WIN = 1.2
"""Times ln t: the evidence that takes the incumbent's place at once."""
ARMS = 0.67
"""At most t^ARMS arms may have come up."""
PACE = 0.6
"""They may have cost t^PACE."""
SURE, SOON = 20.0, 0.4
"""Times K and times K^1.5: when the first pass goes on, whatever it has cost so far."""
LATE = 2.0
"""Later passes are held up by what arms have cost until so many times when they are planned."""
RATIO, RATIO_BY_MEMORY = 1.27, 0.05
"""The growth of ln t from one pass to the next with two arms in memory; times ln(M/2) (1 - M/K),
how much more it is with M."""
SHARE = 0.15
"""Of all pulls, for the incumbent and one other arm in memory before another comes up."""

INCUMBENT, CHALLENGER, SEEN, LEVEL, MARGIN, PULLS, COST, OPENS, CAME_UP = range(9)
"""The registers. No duel: the challenger is the incumbent. LEVEL is c ln t0, MARGIN the part of
it that goes with each ln n1; CAME_UP is 1 in the duel of an arm that came up, 0 in that of a loser
that was ahead."""

GOES_ON, LOST, WON = range(3)


def step(
    slot: int, reward: float, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> tuple[int, int]:  # fmt: skip
    """One pull: who is pulled next, and whether another arm comes up for that."""
    reg[PULLS] += 1.0
    came = i > reg[SEEN]
    reg[SEEN] = i
    if p[-1] >= K:
        return with_room_for_all(i, K, n, s, reg)
    if came:
        c = KNOWN
        if n[slot] == 1:
            c = FIRST if i <= K else LATER
        challenge(slot, c, i, K, reg, p[-1])
        reg[CAME_UP] = 1.0
    incumbent, challenger = int(reg[INCUMBENT]), int(reg[CHALLENGER])
    duel = challenger != incumbent
    if duel:
        if slot == challenger and reg[CAME_UP] == 1.0:
            reg[COST] += s[incumbent] / n[incumbent] - reward
        ends = verdict(n[incumbent], s[incumbent], n[challenger], s[challenger], reg)
        if ends == GOES_ON:
            return turn(n, reg), KEEP
        if ends == WON:
            incumbent = challenger
        reg[INCUMBENT] = reg[CHALLENGER] = incumbent
    if duel or came:
        t = reg[PULLS]
        share = SHARE / max(1, in_use(n) - 1)
        alone = t + (share * t - n[incumbent]) / (1.0 - share)
        reg[OPENS] = max(alone, due(i, K, reg[COST], p[-1]))
    return between_duels(i, K, n, s, reg, int(p[-1]))


def challenge(slot: int, c: float, i: int, K: int, reg: Registers, M: float) -> None:
    """Begin a duel."""
    t0 = reg[PULLS]
    reg[CHALLENGER] = slot
    reg[LEVEL] = c * math.log(t0)
    if i <= K:
        longest = min(math.pow(t0, GLANCE), math.pow(first_pass(K), 1.0 - ARMS))
    else:
        longest = min(t0, LONGEST * due(i - 1, K, reg[COST], M) / K)
    reg[MARGIN] = reg[LEVEL] / math.log(max(2.0, longest))


def verdict(n0: int, s0: float, n1: int, s1: float, reg: Registers) -> int:
    """How the duel stands."""
    m0, m1 = s0 / n0, s1 / n1
    evidence = n1 * kl(m1, m0)
    if m1 > m0 + AHEAD:
        return WON if n1 > n0 or evidence > WIN * math.log(reg[PULLS]) else GOES_ON
    evidence *= n0 / (n0 + DOUBT * n1)
    return LOST if evidence + reg[MARGIN] * math.log(n1) > reg[LEVEL] else GOES_ON


def turn(n: Sequence[int], reg: Registers) -> int:
    """The slot that is pulled next in a duel: the challenger's until it has had more pulls."""
    incumbent, challenger = int(reg[INCUMBENT]), int(reg[CHALLENGER])
    return challenger if n[challenger] <= n[incumbent] else incumbent


def between_duels(
    i: int, K: int, n: Sequence[int], s: Sequence[float], reg: Registers, M: int
) -> tuple[int, int]:
    """The next arm if it is time, or a loser that is ahead after all, or the incumbent."""
    incumbent = int(reg[INCUMBENT])
    used = in_use(n)
    worst = best = -1
    for j in range(used):
        if j != incumbent:
            if best < 0 or s[j] / n[j] > s[best] / n[best]:
                best = j
            if worst < 0 or s[j] / n[j] < s[worst] / n[worst]:
                worst = j
    if reg[PULLS] >= reg[OPENS]:
        return (used if used < M else worst), NEXT
    if best >= 0 and s[best] / n[best] > s[incumbent] / n[incumbent] + AHEAD:
        challenge(best, KNOWN, i, K, reg, float(M))
        reg[CAME_UP] = 0.0
        return turn(n, reg), KEEP
    return incumbent, KEEP


def due(i: int, K: int, cost: float, M: float) -> float:
    """When the arm after the i-th is due, if the incumbent has had its share."""
    when = math.pow(i, 1.0 / ARMS)
    paid = math.pow(max(1.0, cost), 1.0 / PACE)
    if i < K:
        return min(max(when, paid), first_pass(K))
    ratio = RATIO + RATIO_BY_MEMORY * math.log(M / 2.0) * (1.0 - M / K)
    first = max(2.0, math.log(K) / PACE)
    planned = math.exp(min(700.0, first * math.pow(ratio, i / K - 1.0)))
    return max(when, planned, min(paid, LATE * planned))


def first_pass(K: int) -> float:
    """From when on the first pass is not held up by what it has cost."""
    return min(SURE * K, SOON * math.pow(K, 1.5))


def in_use(n: Sequence[int]) -> int:
    """How many slots hold an arm that was pulled."""
    used = 0
    while used < len(n) and n[used] > 0:
        used += 1
    return used


def with_room_for_all(
    i: int, K: int, n: Sequence[int], s: Sequence[float], reg: Registers
) -> tuple[int, int]:
    """IMED, after each arm was pulled once; the most pulled is vouched for."""
    if i < K:
        return i, NEXT
    top = 0.0
    most = 0
    for j in range(K):
        top = max(top, s[j] / n[j])
        if n[j] > n[most]:
            most = j
    reg[INCUMBENT] = reg[CHALLENGER] = most
    leader = 0
    lowest = math.inf
    for j in range(K):
        x = index(n[j], s[j], top)
        if x < lowest:
            lowest = x
            leader = j
    return leader, KEEP


def calm(
    slot: int, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> tuple[int, int]:  # fmt: skip
    """Between duels, until the next arm may come up or another's mean could be the highest."""
    if p[-1] >= K:
        return calm_with_all(slot, i, K, n, s)
    if i > reg[SEEN] or reg[CHALLENGER] != reg[INCUMBENT]:
        return 0, 0
    left = min(float(FOREVER), math.ceil(reg[OPENS]) - 1.0 - reg[PULLS])
    if left <= 0.0:
        return 0, 0
    top = 0.0
    for j in range(in_use(n)):
        if j != slot:
            top = max(top, s[j] / n[j])
    still = left
    if top > 0.0:
        still = min(left, s[slot] / top * (1.0 - 1e-12) - n[slot] - 1.0)
    return int(max(still, 0.0)), int(left)


def calm_with_all(
    slot: int, i: int, K: int, n: Sequence[int], s: Sequence[float]
) -> tuple[int, int]:
    """With room for all: how many pulls of the leader, or successes, leave it the lowest index.

    A success raises its mean, and with it the others' indices; its own is ln n. The worst that can
    come are failures alone, which is looked at for a few numbers of pulls.
    """
    if i < K or n[slot] < 32:
        return 0, 0
    mean = s[slot] / n[slot]
    good = n[slot] >> 4
    while good > 0 and not others_stay_above(mean, n[slot] + good, slot, K, n, s):
        good >>= 2
    still = good >> 2
    while still > 0 and not others_stay_above(
        s[slot] / (n[slot] + still), n[slot] + still, slot, K, n, s
    ):
        still >>= 2
    return still, good


def others_stay_above(
    top: float, pulls: int, slot: int, K: int, n: Sequence[int], s: Sequence[float]
) -> bool:
    """Whether all but one slot have a higher index than that one with this mean and these pulls."""
    own = math.log(pulls) + 1e-9
    for j in range(K):
        if j != slot and (s[j] / n[j] >= top or index(n[j], s[j], top) <= own):
            return False
    return True


def absorb(
    slot: int, pulls: int, wins: int, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> None:  # fmt: skip
    """Only time passes; with room for all, the leader may become the most pulled."""
    reg[PULLS] += pulls
    most = int(reg[INCUMBENT])
    if p[-1] >= K and (n[slot] + pulls > n[most] or (n[slot] + pulls == n[most] and slot < most)):
        reg[INCUMBENT] = reg[CHALLENGER] = slot


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
    citation = "handful's own: docs/mathematics.md, Racing"
    any_arms = True
    automaton = Automaton(
        "race", step, 9, slots=2, credit=as_given, keeps_held=True, calm=calm, absorb=absorb
    )
