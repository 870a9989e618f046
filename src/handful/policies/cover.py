"""Cover's two-armed rule: two bits depend on rewards, everything else on time; M = 2.

Cover, "A note on the two-armed bandit problem with finite memory", Information and Control 12,
1968: test blocks and trial blocks take turns and grow. In a trial block the favourite is pulled. In
a test block both arms are tried in turn for runs of successes, and the favourite changes only when
the other arm makes a complete run. As runs grow longer, an increasing share of them is the better
arm's, and the share of its pulls tends to 1. This asymptotic result implies nothing for a finite
time.

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

from handful.core.state import Int, Slot, Small
from handful.errors import StateError
from handful.policies.definition import Parameters
from handful.policies.hand import (
    HandPolicy,
    HandState,
    check_hand,
    refuse_unless_counted,
    refuse_unless_flag,
    toss,
)

_LAST_BLOCK = 17
"""No run is long enough to end this block: it has more than 2^53 pulls."""


class Blocks(HandState):
    """The favourite, and the place in the blocks."""

    favourite: Slot
    failed: Small
    """1 if this try of an arm has had a failure."""
    blocks: Small
    """Blocks done."""
    done: Int
    """Pulls in this block."""


def pulls_of_test(k: int) -> int:
    """Return 2 k k!, the pulls of the k-th test block."""
    pulls = 2 * k
    for j in range(2, k + 1):
        pulls *= j
    return pulls


class Cover(HandPolicy):
    """Test blocks and trial blocks of growing length; a run of successes makes a favourite."""

    name = "cover"
    title = "Cover"
    summary = "two arms: tests for runs of k successes, and ever longer trials of the favourite"
    citation = "Cover, Information and Control 12, 1968; the lengths of blocks are ours"
    own_memory = 2
    own_arms = 2
    State = Blocks

    @staticmethod
    def observe(state: Blocks, slot: int, reward: float, p: Parameters) -> None:
        """Count a pull of the block; in a test, a try without a failure makes a favourite."""
        success = toss(state, slot, reward)
        if slot != state.hand:
            return
        k = state.blocks + 1
        done = state.done + 1
        test = pulls_of_test(k)
        if done <= test:
            if not success:
                state.failed = 1
            if done % k == 0:
                if not state.failed:
                    state.favourite = slot
                state.failed = 0
        elif done == test + (k + 2) * pulls_of_test(k + 1):
            k += 1
            done = 0
            test = pulls_of_test(k)
        state.blocks = k - 1
        state.done = done
        state.hand = state.favourite if done >= test else (done // k) % 2
        # The second arm enters memory with its first pull.
        state.up_next = 1 if state.hand >= state.tried else 0

    @staticmethod
    def recommend_arm(state: Blocks, p: Parameters) -> int:
        """Return the favourite."""
        return state.arm[state.favourite]

    @staticmethod
    def calm(state: Blocks, slot: int, p: Parameters) -> tuple[int, int]:
        """Return how many further pulls belong to this trial block, and 0."""
        k = state.blocks + 1
        test = pulls_of_test(k)
        if state.done < test:
            return 0, 0
        return test + (k + 2) * pulls_of_test(k + 1) - state.done - 1, 0

    @staticmethod
    def absorb(state: Blocks, slot: int, pulls: int, wins: int, p: Parameters) -> None:
        """Count the pulls in the block."""
        state.done += pulls

    @staticmethod
    def check(state: Blocks, p: Parameters) -> None:
        """Refuse a place that no block has."""
        check_hand(state, p)
        refuse_unless_flag(state.failed)
        refuse_unless_counted(state, state.done)
        if state.tried != state.held or state.up_next != (state.hand >= state.held):
            raise StateError("the saved policy has tried an arm that its memory does not have")
        if not 0 <= state.blocks < _LAST_BLOCK:
            raise StateError(f"the saved policy cannot be in block {state.blocks + 1}")
        if state.favourite >= state.held:
            raise StateError("the saved favourite is not in memory")
