"""Cover's rule for two arms: two bits that follow from rewards, all else from the clock; M = 2.

Cover, "A note on the two-armed bandit problem with finite memory", Information and Control 12,
1968: test blocks and trial blocks take turns and grow. In a trial block the favourite is pulled. In
a test block both arms are tried in turn for runs of successes, and the favourite changes only when
the other arm makes a whole run. As runs grow longer, those of the better arm are more and more of
all runs, and the share of its pulls goes to 1. This says nothing of a finite time.

The lengths are ours. In block k = 1, 2, ...

    test     k! times: k pulls of one arm, k pulls of the other; k successes out of k make an arm
             the favourite
    trial    (k + 2) (test pulls of block k + 1) pulls of the favourite

With means p > q, p^k of the tries of the better arm are runs, and k! p^k grows without bound, so
runs are seen however small p is; the last of them is of the worse arm with a probability of the
order of (q/p)^k, whose sum is finite. A trial block is longer than the next test block by a factor
that grows, so tests cost a share of pulls that goes to 0.

Rewards in (0, 1) count as Bernoulli trials.
"""

from __future__ import annotations

from collections.abc import Sequence

from handful.policies.automaton import KEEP, NEXT, Automaton, AutomatonPolicy, Registers


def pulls_of_test(k: int) -> int:
    """2 k k!, the pulls of the k-th test block."""
    pulls = 2 * k
    for j in range(2, k + 1):
        pulls *= j
    return pulls


def _blocks(
    slot: int, reward: float, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> tuple[int, int]:  # fmt: skip
    """reg: favourite, whether this try has failed, blocks done, pulls in this block."""
    k = int(reg[2]) + 1
    done = int(reg[3]) + 1
    test = pulls_of_test(k)
    if done <= test:
        if reward == 0.0:
            reg[1] = 1.0
        if done % k == 0:
            if reg[1] == 0.0:
                reg[0] = float(slot)
            reg[1] = 0.0
    elif done == test + (k + 2) * pulls_of_test(k + 1):
        k += 1
        done = 0
        test = pulls_of_test(k)
    reg[2] = k - 1.0
    reg[3] = float(done)
    if done >= test:
        return int(reg[0]), KEEP
    slot = (done // k) % 2
    # The second arm enters memory with its first pull.
    return slot, NEXT if slot >= i else KEEP


def _calm(
    slot: int, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> tuple[int, int]:  # fmt: skip
    """Until the end of a trial block."""
    k = int(reg[2]) + 1
    test = pulls_of_test(k)
    done = int(reg[3])
    if done < test:
        return 0, 0
    return test + (k + 2) * pulls_of_test(k + 1) - done - 1, 0


def _absorb(
    slot: int, pulls: int, wins: int, i: int, K: int, n: Sequence[int], s: Sequence[float],
    reg: Registers, T: float, p: Sequence[float],
) -> None:  # fmt: skip
    reg[3] += pulls


class Cover(AutomatonPolicy):
    """Test blocks and trial blocks of growing length; a run of successes makes a favourite."""

    name = "cover"
    title = "Cover"
    summary = "two arms: tests for runs of k successes, and ever longer trials of the favourite"
    citation = "Cover, Information and Control 12, 1968; the lengths of blocks are ours"
    own_memory = 2
    own_arms = 2
    automaton = Automaton("blocks", _blocks, 4, calm=_calm, absorb=_absorb)
