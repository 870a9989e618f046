"""Rules of the streaming literature: the arms come by in passes, and few are remembered.

They plan for T pulls on K arms, look at every arm in one or more passes, then commit to one. With n
pulls of mean m for an arm, its confidence interval is m +- r, r = sqrt(c ln T / n); the constants
of the papers are those that their proofs need, and c = 0.5 is what is used in practice.

**single-pass.** Every arm (T/K)^(2/3) times; the one with the best mean so far is kept, and pulled
for ever after. Maiti, Patil and Khan, "Multi-armed bandits with bounded arm-memory: near-optimal
guarantees for best-arm identification and regret minimization", NeurIPS 2021.

**mpse**, in B passes. A champion keeps its statistics. In pass p it meets every arm: the less
pulled of the two is pulled until their intervals part, or both have b_p = (T B/K)^(2 beta_p) pulls,
beta_p = 2^(B-p) (2^p - 1) / (2^(B+1) - 1). The one with the higher mean is the champion then. Li,
Zhang, Wang and Li, "Tight memory-regret lower bounds for streaming bandits", 2023.

**mbse**, in B passes. Memory is filled from the stream, and the least pulled arm in it is pulled.
An arm whose interval lies below another's makes room; so does the one with the lowest mean when all
have N_p/(K B) pulls, N_p = sqrt(N_(p-1)) T^(2^B / (2^(B+1) - 1)), N_0 = 1. Agarwal, Khanna and
Patil, "A sharp memory-regret trade-off for multi-pass streaming bandits", COLT 2022.

**game-of-coins.** A king defends itself against each arm in levels. At level l = 1, 2, ... both are
tossed N 2^(l-1) times, N = (T/K)^(2/3), and the king pays as much from a budget, to which each
newcomer adds 2 N. It wins if its mean in the level is not lower; otherwise the next level follows,
and a king that cannot pay for that has lost. Assadi and Wang, "Exploration with limited memory:
streaming algorithms for coin tossing, noisy comparisons, and multi-armed bandits", STOC 2020; there
the levels grow as a tower and the budget is 100 times as large, since the aim is to be right with
high probability.

Where a description leaves a step open (an undecided duel, the arm that makes room), the arm with
the higher mean stays. More passes lower the worst case over all gaps, not the regret on each
instance: every pass pays again for arms that are plainly worse.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

from handful.policies.automaton import FOREVER, KEEP, NEXT, Automaton, AutomatonPolicy, Registers
from handful.policies.settings import PLANNED, Setting, whole_setting
from handful.rules.base import as_given

PASSES = whole_setting(3.0, "passes over the arms", "B")
RADIUS = Setting(
    0.5, "confidence radius sqrt(c ln T / n)", lambda c: 0.0 < c <= 1e6, "a number c > 0"
)


def fair_share(T: float, K: int) -> float:
    """(T/K)^(2/3): what a pass that decides all may spend on each arm."""
    return float(math.ceil(math.pow(max(1.0, T / K), 2.0 / 3.0)))


def _single_pass(
    slot: int, reward: float, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> tuple[int, int]:  # fmt: skip
    """reg: slot of the best, whether the pass is over."""
    if reg[1] > 0.0 or n[slot] < fair_share(T, K):
        return slot, KEEP
    if s[slot] / n[slot] > s[int(reg[0])] / n[int(reg[0])]:
        reg[0] = float(slot)
    best = int(reg[0])
    if i < K:
        return 1 - best, NEXT
    reg[1] = 1.0
    return best, KEEP


def _calm_single_pass(
    slot: int, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> tuple[int, int]:  # fmt: skip
    if reg[1] > 0.0:
        return FOREVER, FOREVER
    left = int(max(0.0, fair_share(T, K) - n[slot] - 1.0))
    return left, left


def pulls_of_pass(p: float, B: float, T: float, K: int) -> float:
    """b_p of MPSE."""
    beta = 2.0 ** (B - p) * (2.0**p - 1.0) / (2.0 ** (B + 1.0) - 1.0)
    return math.pow(max(1.0, T * B / K), 2.0 * beta)


def _mpse(
    slot: int, reward: float, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> tuple[int, int]:  # fmt: skip
    """reg: the champion's slot, the arm that came up last, whether all passes are over."""
    champion = int(reg[0])
    if reg[2] > 0.0:
        return champion, KEEP
    came = i > reg[1]
    reg[1] = i
    passes, c = p[0], p[1]
    if not (came and slot == champion):  # not the champion itself that came by
        x, y = 1 - champion, champion
        m0, m1 = s[y] / n[y], s[x] / n[x]
        r0, r1 = math.sqrt(c * math.log(T) / n[y]), math.sqrt(c * math.log(T) / n[x])
        apart = m1 + r1 < m0 - r0 or m0 + r0 < m1 - r1
        lap = 1.0 + (i - 1) // K
        if not apart and min(n[x], n[y]) < pulls_of_pass(lap, passes, T, K):
            return (x if n[x] <= n[y] else y), KEEP
        if m1 > m0:
            champion = x
            reg[0] = float(x)
    if i < passes * K:
        return 1 - champion, NEXT
    reg[2] = 1.0
    return champion, KEEP


def _calm_when_over(
    slot: int, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> tuple[int, int]:  # fmt: skip
    return (FOREVER, FOREVER) if reg[2] > 0.0 else (0, 0)


def budget_of_pass(p: float, B: float, T: float, K: int) -> float:
    """N_p/(K B) of MBSE: N_p = T^(e (1 + 1/2 + ... + 1/2^(p-1))), e = 2^B / (2^(B+1) - 1)."""
    power = 2.0**B / (2.0 ** (B + 1.0) - 1.0) * (2.0 - 2.0 ** (1.0 - p))
    return math.pow(T, power) / (K * B)


def _mbse(
    slot: int, reward: float, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> tuple[int, int]:  # fmt: skip
    """reg: slot of the highest mean, slots in use, whether all passes are over."""
    reg[1] = max(reg[1], slot + 1.0)
    used = int(reg[1])
    passes, c, M = p[0], p[1], int(p[-1])
    if reg[2] > 0.0:
        return int(reg[0]), KEEP
    if used < M and i < K:
        return used, NEXT
    best = worst = 0
    bar = -math.inf  # the highest lower end of an interval
    for j in range(used):
        if s[j] / n[j] > s[best] / n[best]:
            best = j
        if s[j] / n[j] < s[worst] / n[worst]:
            worst = j
        bar = max(bar, s[j] / n[j] - math.sqrt(c * math.log(T) / n[j]))
    reg[0] = float(best)
    gone = least = -1
    for j in range(used):
        if s[j] / n[j] + math.sqrt(c * math.log(T) / n[j]) < bar:
            gone = j
        elif least < 0 or n[j] < n[least]:
            least = j
    enough = n[least] >= budget_of_pass(1.0 + (i - 1) // K, passes, T, K)
    if i < passes * K:
        if gone >= 0:
            return gone, NEXT
        if enough:
            return worst, NEXT
    elif enough:
        reg[2] = 1.0
        return best, KEEP
    return least, KEEP


def _game_of_coins(
    slot: int, reward: float, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> tuple[int, int]:  # fmt: skip
    """reg: the king's slot, its budget, the level from 0, tosses in it, the king's lead, over."""
    king = int(reg[0])
    if reg[5] > 0.0:
        return king, KEEP
    if i > 1:
        if reg[2] == 0.0 and reg[3] == 0.0:  # a newcomer brings 2 N, and the first level costs N
            reg[1] += fair_share(T, K)
        reg[3] += 1.0
        reg[4] += reward if slot == king else -reward
        tosses = fair_share(T, K) * 2.0 ** reg[2]
        if reg[3] < 2.0 * tosses:
            return (1 - king if reg[3] < tosses else king), KEEP
        reg[3] = 0.0
        lead = reg[4]
        reg[4] = 0.0
        if lead < 0.0:
            if reg[1] >= 2.0 * tosses:
                reg[1] -= 2.0 * tosses
                reg[2] += 1.0
                return 1 - king, KEEP
            king = 1 - king
            reg[0] = float(king)
            reg[1] = 0.0
        reg[2] = 0.0
    if i < K:
        return 1 - king, NEXT
    reg[5] = 1.0
    return king, KEEP


def _calm_game(
    slot: int, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> tuple[int, int]:  # fmt: skip
    if reg[5] > 0.0:
        return FOREVER, FOREVER
    if i == 1 or (reg[2] == 0.0 and reg[3] == 0.0):
        return 0, 0
    tosses = fair_share(T, K) * 2.0 ** reg[2]
    end = 2.0 * tosses if slot == int(reg[0]) else tosses
    left = int(max(0.0, end - reg[3] - 1.0))
    return left, left


def _absorb_game(
    slot: int, pulls: int, wins: int, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> None:  # fmt: skip
    if reg[5] == 0.0:
        reg[3] += pulls
        reg[4] += wins if slot == int(reg[0]) else -wins


class SinglePass(AutomatonPolicy):
    """Uniform exploration in one pass, then the best mean for ever."""

    name = "single-pass"
    title = "Single pass"
    summary = "every arm (T/K)^(2/3) times in one pass, then the one with the best mean"
    citation = "Maiti, Patil and Khan, NeurIPS 2021"
    own_memory = 2
    needs_horizon = True
    automaton = Automaton("single_pass", _single_pass, 2, credit=as_given, calm=_calm_single_pass)
    settings: ClassVar[Mapping[str, Setting]] = {"horizon": PLANNED}


class MPSE(AutomatonPolicy):
    """Multi-pass successive elimination: a champion meets every arm in each of B passes."""

    name = "mpse"
    title = "MPSE"
    summary = "a champion against every arm, in B passes of growing length"
    citation = "Li, Zhang, Wang and Li, 2023"
    own_memory = 2
    needs_horizon = True
    automaton = Automaton("mpse", _mpse, 3, credit=as_given, keeps_held=True, calm=_calm_when_over)
    settings: ClassVar[Mapping[str, Setting]] = {
        "passes": PASSES, "c": RADIUS, "horizon": PLANNED,
    }  # fmt: skip


class MBSE(AutomatonPolicy):
    """Elimination among the M arms in memory, in B passes over the stream."""

    name = "mbse"
    title = "MBSE"
    summary = "elimination among the arms in memory, in B passes of growing length"
    citation = "Agarwal, Khanna and Patil, COLT 2022"
    needs_horizon = True
    automaton = Automaton("mbse", _mbse, 3, credit=as_given, keeps_held=True, calm=_calm_when_over)
    settings: ClassVar[Mapping[str, Setting]] = {
        "passes": PASSES, "c": RADIUS, "horizon": PLANNED,
    }  # fmt: skip


class GameOfCoins(AutomatonPolicy):
    """A king with a budget defends itself against each arm of one pass, in levels."""

    name = "game-of-coins"
    title = "Game of Coins"
    summary = "a king with a budget defends itself against every arm, in one pass"
    citation = "Assadi and Wang, STOC 2020"
    own_memory = 2
    needs_horizon = True
    automaton = Automaton(
        "game_of_coins", _game_of_coins, 6,
        credit=as_given, calm=_calm_game, absorb=_absorb_game,
    )  # fmt: skip
    settings: ClassVar[Mapping[str, Setting]] = {"horizon": PLANNED}
