"""UCB-AIR, the reference on endless arms: it stores every arm met, and meets ever more arms.

Wang, Audibert and Munos, "Algorithms for infinitely many-armed bandits", NeurIPS 2008: where
P(mean > mu* - x) is of order x^beta, a new arm is pulled while fewer than t^(beta/(beta+1)) have
been met (t^(beta/2) if beta < 1), t being the number of this pull; otherwise the arm with the
highest score of UCB-V,

    mean + sqrt(2 V E / n) + 3 E / n,   V = mean (1 - mean)

with an exploration E between 2 ln(10 ln t) and ln t. Ours is 2 ln(10 ln u), u the least power of
two from t on and at least 4: it changes at powers of two only, so a score changes when its arm is
pulled and at those times, and the highest is found by a tournament: a tree whose leaves are slots
and whose nodes are the slot that wins below them. V as in `rules/ucb_v.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

from handful.core.slots import admit, credit, grow
from handful.core.state import Floats, Int, Ints, State
from handful.errors import StateError
from handful.policies.base import Policy
from handful.policies.definition import UNBOUNDED
from handful.policies.settings import Setting

FIRST_BOUND = 4
"""The exploration of the first pulls is that of pull 4: ln ln t needs a larger t than 1."""


class Tournament(State):
    """Every arm met so far, with its score, and who wins."""

    bound: Int
    """u: scores hold for pulls up to this."""
    leaves: Int
    """The number of slots that the tree has room for, a power of two."""
    score: Floats
    winner: Ints
    """The slot that wins below node 1, ..., leaves - 1; -1: no arm has a reward yet."""


class Rarity(NamedTuple):
    """Parameters: how rare good arms are."""

    K: int
    M: int
    endless: bool
    beta: float


def exploration(u: int) -> float:
    """Return E for pulls up to u."""
    return 2.0 * math.log(10.0 * math.log(u))


def score_of(n: int, s: float, E: float) -> float:
    """Return the score of UCB-V with this exploration."""
    mean = s / n
    return mean + math.sqrt(2.0 * max(mean * (1.0 - mean), 0.0) * E / n) + 3.0 * E / n


def most_arms(t: int, beta: float) -> float:
    """Return how many arms may have been met before pull t of a new one: fewer than this."""
    power = beta / (beta + 1.0) if beta >= 1.0 else beta / 2.0
    return min(math.pow(t, power), float(UNBOUNDED))


def winner_at(state: Tournament, node: int) -> int:
    """Return the slot that wins at a node of the tree, or -1."""
    if node < state.leaves:
        return state.winner[node]
    slot = node - state.leaves
    return slot if slot < state.held and state.pulls[slot] > 0 else -1


def play(state: Tournament, node: int) -> None:
    """Let the winners of the two branches of a node meet; the left one wins a tie."""
    left, right = winner_at(state, 2 * node), winner_at(state, 2 * node + 1)
    right_wins = right >= 0 and (left < 0 or state.score[right] > state.score[left])
    state.winner[node] = right if right_wins else left


def play_all(state: Tournament) -> None:
    """Score every arm and play the whole tournament."""
    E = exploration(state.bound)
    for slot in range(state.held):
        if state.pulls[slot] > 0:
            state.score[slot] = score_of(state.pulls[slot], state.sums[slot], E)
    for node in range(state.leaves - 1, 0, -1):
        play(state, node)


class UCBAIR(Policy):
    """UCB-V on a growing number of endless arms, statistics of all of them."""

    name = "ucb-air"
    title = "UCB-AIR"
    summary = "UCB-V on ever more of endless arms; needs to know how rare good ones are"
    citation = "Wang, Audibert and Munos, NeurIPS 2008"
    endless = True
    unbounded = True
    State = Tournament
    Parameters = Rarity
    settings: ClassVar[Mapping[str, Setting]] = {
        "beta": Setting(
            1.0, "P(mean > best - x) ~ x^beta", lambda b: 0.0 < b <= 100.0, "a number beta > 0"
        )
    }

    @classmethod
    def slots_for(cls, horizon: int, values: dict[str, float]) -> int:
        """Return how many slots so many pulls need, in a tree of a power of two."""
        return 1 << int(most_arms(horizon, values["beta"])).bit_length()

    @staticmethod
    def start(state: Tournament, p: Rarity) -> None:
        """Meet the first arm."""
        state.bound = FIRST_BOUND
        state.leaves = 1
        admit(state, 0, 0)

    @staticmethod
    def propose(state: Tournament, p: Rarity) -> int:
        """Return a new arm's slot if fewer than allowed were met, else the winner's."""
        t = state.clock + 1
        if t > state.bound:
            while state.bound < t:
                state.bound *= 2
            play_all(state)
        if t == 1:
            return 0
        if state.held < most_arms(t, p.beta):
            admit(state, state.held, state.held)
            if state.held > state.leaves:
                state.leaves *= 2
                grow(state, state.leaves)
                play_all(state)
            return state.held - 1
        winner = winner_at(state, 1)
        return winner if winner >= 0 else state.held - 1

    @staticmethod
    def observe(state: Tournament, slot: int, reward: float, p: Rarity) -> None:
        """Score the arm anew and play its matches up to the root."""
        credit(state, slot, reward)
        E = exploration(state.bound)
        state.score[slot] = score_of(state.pulls[slot], state.sums[slot], E)
        node = (state.leaves + slot) >> 1
        while node > 0:
            play(state, node)
            node >>= 1

    @staticmethod
    def check(state: Tournament, p: Rarity) -> None:
        """Refuse arms that were not met in order, and play the tournament anew."""
        if state.arm != list(range(state.held)):
            raise StateError("the saved policy has not met its arms in order")
        if sum(state.pulls) != state.rewards or state.held > most_arms(state.clock + 1, p.beta) + 1:
            raise StateError("the saved statistics are not those of the saved number of pulls")
        latest = max(FIRST_BOUND, 1 << state.clock.bit_length())
        if not FIRST_BOUND <= state.bound <= latest or state.bound & (state.bound - 1):
            raise StateError(f"the saved scores cannot hold for pulls up to {state.bound}")
        state.leaves = 1 << (state.held - 1).bit_length()
        grow(state, state.leaves)
        play_all(state)

    @staticmethod
    def place(state: Tournament, p: Rarity) -> str:
        """Return how many arms the policy has met."""
        return f"{state.held} arms met"
