"""UCB-AIR as a kernel: the highest of many scores by a tournament.

The policy has a heap; here leaves are slots and every node is the slot that wins below it, so that
a changed score is carried to the root. Both find the first slot with the highest score.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from handful.policies import air
from handful.simulation.kernels.automaton import CHUNK
from handful.simulation.kernels.block import Memory, entry
from handful.simulation.kernels.exact import plus_all
from handful.simulation.kernels.jit import family, kernel, use
from handful.simulation.kernels.world import (
    Batch,
    Build,
    Floats,
    Ints,
    Words,
    World,
    reward_law,
)

for _function in (air.exploration, air.score, air.wants_more):
    use(_function)


def leaves(arms: int) -> int:
    """A power of two that has room for so many."""
    return 1 << max(0, arms - 1).bit_length()


@use
def _settle(tree: Ints, node: int, scores: Floats) -> None:
    """Who wins at a node; the left one in a tie."""
    left, right = tree[2 * node], tree[2 * node + 1]
    right_wins = right >= 0 and (left < 0 or scores[right] > scores[left])
    tree[node] = right if right_wins else left


@cache
def air_kernel(build: Build) -> Callable[..., None]:
    """The kernel of run r."""
    reward = reward_law(build)
    enter = entry(build)

    def run(
        r: int, beta: float, world: World, batch: Batch, memory: Memory, tree: Ints,
        state: Words, scratch: Words,
    ) -> None:  # fmt: skip
        T = batch.grid[-1]
        P = len(tree) // 2
        _, mus, centres, gaps, n, s, scores, _ = memory
        for i in range(len(tree)):
            tree[i] = -1
        state[0] = batch.rewards[r, 0]
        state[1] = batch.rewards[r, 1]
        level = air.exploration(1)
        met = 0
        t = 0
        g = 0
        while t < T:
            until = min(batch.grid[g], t + CHUNK)
            batch.progress[0] += until - t
            while t < until:
                if air.wants_more(met, t + 1, beta):
                    slot = met
                    met += 1
                    enter(slot, slot, batch.arms[r], world, memory, scratch)
                    tree[P + slot] = slot
                else:
                    slot = tree[1]
                s[slot] += reward(
                    world.law, slot, mus[slot], centres[slot], world.spread,
                    batch.on_tape, batch.tape[r], t, state,
                )  # fmt: skip
                n[slot] += 1
                t += 1
                now = air.exploration(t + 1)
                if now != level:
                    level = now
                    for other in range(met):
                        scores[other] = air.score(n[other], s[other], level)
                    for node in range(P - 1, 0, -1):
                        _settle(tree, node, scores)
                else:
                    scores[slot] = air.score(n[slot], s[slot], level)
                    node = (P + slot) >> 1
                    while node > 0:
                        _settle(tree, node, scores)
                        node >>= 1
            if t == batch.grid[g]:
                batch.regret[r, g] = plus_all(0.0, 0.0, n, gaps, 0, met, 1)[0]
                g += 1
            if batch.stop[0] != 0:
                return

    return kernel(run, family(f"air_{build.tag}", "ucb-air", air.score))
