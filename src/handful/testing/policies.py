"""The contract of policies: what every policy must do.

A check is a function `check_...(make)`. It makes the policies that it needs by `make()`, calls
their public methods with random rewards of fixed seeds, and raises `ContractError` if a policy
violates the contract. A check also reads the record, but never changes it. `traffic.py` has the
checks of missing rewards, changing arms and allowed subsets.
"""

from __future__ import annotations

import copy
import enum
import math
import random
from collections.abc import Callable, Iterator
from typing import Any

from handful.core.state import NO_SLOT, fields
from handful.core.tickets import Decision, Receipt
from handful.errors import (
    ContractError,
    EngineError,
    ForgottenArmError,
    RewardError,
    SettingError,
    UnknownArmError,
)
from handful.policies.base import Policy
from handful.testing import traffic
from handful.testing.contract import Check, expect, expect_equal, expect_error
from handful.testing.driving import STEPS, MixedLoad, busy, play, reward_from
from handful.testing.ledger import Ledger
from handful.testing.make import HORIZON, Make, number_of

BAD_REWARDS: tuple[Any, ...] = (
    math.nan, math.inf, -math.inf, -0.1, 1.1, "1", b"1", None, [], 10**400,
)  # fmt: skip
BAD_TICKETS: tuple[Any, ...] = ("7", None, 0.5, True)


class _Colour(enum.Enum):
    RED = 1
    GREEN = 2


LABELS: dict[str, list[Any]] = {
    "texts": [f"headline {i}" for i in range(11)],
    "long texts": ["x" * 1000 + str(i) for i in range(11)],
    "negative integers": [-i - 1 for i in range(11)],
    "large integers": [10**20 + i for i in range(11)],
    "floats": [i / 8 for i in range(11)],
    "bytes": [bytes([i]) for i in range(11)],
    "tuples": [(i, "x") for i in range(11)],
    "mixed": [None, *_Colour, "0", 0, (0,), True, b"0", 0.5, frozenset({0}), ""],
}


def check_memory_bound(make: Make) -> None:
    """Check that at most `memory` arms have statistics, each once, the chosen arm among them."""
    policy = make()
    traffic = MixedLoad()
    for _ in range(2 * STEPS):
        answer = traffic.step(policy)
        held = policy.arms_in_memory
        expect(
            len(held) <= policy.memory,
            f"{len(held)} arms have statistics, and memory={policy.memory}",
        )
        expect_equal(len(set(policy._state.arm[: len(held)])), len(held), "different arms held")
        if isinstance(answer, Decision):
            expect(answer.arm in held, f"the chosen arm {answer.arm!r} is not in memory")
        if not make.cls.unbounded:
            for name, kind in fields(type(policy._state)).items():
                if kind.per_slot:
                    size = len(getattr(policy._state, name))
                    expect(size <= policy.memory, f"the field {name} has {size} slots")
            size = len(policy.to_bytes())
            expect(
                size <= 8 * policy.memory_words,
                f"{size} bytes of state, and memory_words={policy.memory_words}",
            )


def check_same_seed_same_choices(make: Make) -> None:
    """Check that choices depend on the seed and the rewards, on nothing else."""
    first, second = make(seed=5), make(seed=5)
    expect_equal(play(first, STEPS), play(second, STEPS), "choices with the same seed")
    expect(first.to_bytes() == second.to_bytes(), "the same seed and rewards left other bytes")


def check_select_is_stable(make: Make) -> None:
    """Check that, until the next update, `select` returns the same arm and changes nothing."""
    policy = make()
    rng = random.Random(1)
    for _ in range(STEPS):
        arm = policy.select()
        before = policy.to_bytes()
        expect_equal(policy.select(), arm, "the arm selected again")
        expect(policy.to_bytes() == before, "a second select changed the policy")
        policy.update(arm, reward_from(rng))


def check_restored_goes_on(make: Make) -> None:
    """Check that a policy saved and restored before every step does what it does otherwise.

    Open decisions and a pending one survive.
    """
    policy, stopped = make(), make()
    theirs, mine = MixedLoad(), MixedLoad()
    for _ in range(STEPS):
        before = stopped.to_bytes()
        stopped = make.restored(stopped)
        expect(stopped.to_bytes() == before, "a restored policy has other bytes")
        expect_equal(mine.step(stopped), theirs.step(policy), "what a restored policy does")
    expect(stopped.to_bytes() == policy.to_bytes(), "a restored policy ended with other bytes")
    expect_equal(stopped.recommend(), policy.recommend(), "what a restored policy recommends")


def check_refused_input_changes_nothing(make: Make) -> None:
    """Check that an impossible reward or arm is an error, and not a bit of the state changes."""
    policy = busy(make)
    ticket = policy.decide().ticket
    for pending in (True, False):
        if not pending:
            policy.update(policy.select(), 1.0)
        arm = policy.arms_in_memory[0]
        before = policy.to_bytes()
        for reward in BAD_REWARDS:
            with expect_error(RewardError, f"update with the reward {reward!r:.20}"):
                policy.update(arm, reward)
            with expect_error(RewardError, f"the ticket's reward {reward!r:.20}"):
                policy.reward(ticket, reward)
        for unknown in ("no such arm", object(), float("nan"), -1, []):
            with expect_error((UnknownArmError, ForgottenArmError), f"the arm {unknown!r}"):
                policy.update(unknown, 1.0)
        for number in BAD_TICKETS:
            with expect_error(SettingError, f"the ticket {number!r}"):
                policy.reward(number, 1.0)
        expect(policy.to_bytes() == before, "refused input changed the policy")


def check_tickets(make: Make) -> None:
    """Check the receipts of rewards that are late, lost, doubled, unknown and out of order."""
    for seed in range(3):
        policy = make(seed=seed)
        ledger = Ledger(policy)
        rng = random.Random(seed)
        tickets: list[int] = []
        for _ in range(2 * STEPS):
            action = rng.random()
            if action < 0.4 or not tickets:
                tickets.append(ledger.decide())
            elif action < 0.75:
                recent = rng.randrange(max(0, len(tickets) - 40), len(tickets))
                ledger.reward(tickets[recent], reward_from(rng))
            elif action < 0.85:
                ledger.reward(rng.choice(tickets), reward_from(rng))
            elif action < 0.9:
                ledger.reward(rng.choice(tickets) ^ 1 << rng.randrange(60), reward_from(rng))
            else:
                policy.update(policy.select(), reward_from(rng))
        ledger.check_totals()


def check_late_rewards_in_any_order(make: Make) -> None:
    """Check that a hundred decisions may be open at once, and be rewarded last to first."""
    policy = make()
    ledger = Ledger(policy)
    tickets = [ledger.decide() for _ in range(100)]
    for ticket in reversed(tickets):
        ledger.reward(ticket, 1.0)
    expect(ledger.counts[Receipt.CREDITED] > 0, "no reward of a hundred was credited")
    expect_equal(policy.pulls, ledger.counts[Receipt.CREDITED], "rewards credited")
    ledger.check_totals()


def check_clock_counts_decisions(make: Make) -> None:
    """Check that `decisions` grows by one with each decision only, and `pulls` with each credit."""
    policy = make()
    traffic = MixedLoad()
    for _ in range(STEPS):
        decisions, pulls = policy.decisions, policy.pulls
        waiting = policy._state.pending != NO_SLOT
        answer = traffic.step(policy)
        if isinstance(answer, Decision):
            expect_equal(policy.decisions, decisions + 1, "decisions after decide")
        elif isinstance(answer, Receipt):
            expect_equal(policy.decisions, decisions, "decisions after a reward")
            credited = answer is Receipt.CREDITED
            expect_equal(policy.pulls, pulls + credited, f"pulls after a reward {answer}")
        elif answer in policy.arms_in_memory:
            expect_equal(policy.decisions, decisions + (not waiting), "decisions after select")
        expect(policy.pulls <= policy.decisions, "more rewards were credited than decisions made")


def check_rewards_of_other_arms(make: Make) -> None:
    """Check that any arm in memory may be rewarded, whichever was selected, also if restored."""
    policy = make()
    rng = random.Random(2)
    for step in range(STEPS):
        if step % 3:
            policy.select()
        arm = rng.choice(policy.arms_in_memory)
        slot = policy.arms_in_memory.index(arm)
        pulls = policy._state.pulls[slot]
        policy = make.restored(policy)
        policy.update(arm, reward_from(rng))
        expect_equal(policy._state.pulls[slot], pulls + 1, f"pulls of {arm!r} after its reward")
        expect(policy.arms_in_memory[slot] == arm, "an update changed which arms are in memory")


def check_clone_is_independent(make: Make) -> None:
    """Check that a clone continues identically, and that neither changes the other."""
    policy = busy(make)
    before = policy.to_bytes()
    for twin in (policy.clone(), copy.copy(policy), copy.deepcopy(policy)):
        expect(twin.to_bytes() == before, "a clone has other bytes")
        play(twin, 20)
        twin.reset()
        expect(policy.to_bytes() == before, "what a clone did changed the original")
    twin = policy.clone()
    expect_equal(play(twin, STEPS), play(policy, STEPS), "choices of a clone")


def check_reset(make: Make) -> None:
    """Check that a policy is as it was when new after `reset`."""
    policy = busy(make)
    policy.reset()
    fresh = make()
    expect(policy.to_bytes() == fresh.to_bytes(), "a policy that was reset is not like a new one")
    expect_equal(play(policy, STEPS), play(fresh, STEPS), "choices after a reset")


def check_recommend_never_explores(make: Make) -> None:
    """Check that `recommend` changes nothing, names an arm, and the same until the next reward."""
    policy = make()
    traffic = MixedLoad()
    for _ in range(STEPS):
        before = policy.to_bytes()
        arm = policy.recommend()
        expect_equal(policy.recommend(), arm, "the recommended arm asked for again")
        expect(policy.to_bytes() == before, "recommend changed the policy")
        if not make.cls.recalls:
            expect(arm in policy.arms_in_memory, f"the recommended arm {arm!r} is not in memory")
        traffic.step(policy)


def check_stats(make: Make) -> None:
    """Check that `stats` changes nothing and agrees with the record, also before any reward."""
    policy = make()
    traffic = MixedLoad()
    for step in range(STEPS):
        if step % 10 == 0:
            before = policy.to_bytes()
            stats = policy.stats()
            expect(repr(policy) == str(stats), "repr is not the text of stats")
            expect(policy.to_bytes() == before, "stats changed the policy")
            expect_equal([arm.arm for arm in stats], policy.arms_in_memory, "the arms of stats")
            expect(sum(arm.recommended for arm in stats) <= 1, "two arms are recommended")
            for arm in stats:
                sensible = arm.pulls == 0 or 0.0 <= arm.low <= arm.mean <= arm.high <= 1.0
                expect(sensible, f"{arm} has a mean outside its interval")
        traffic.step(policy)


def check_rescale(make: Make) -> None:
    """Check that rescaled rewards of another range lead to the same choices."""
    plain, scaled = make(), make(rescale=(-2.0, 2.0))
    rng = random.Random(4)
    for _ in range(STEPS):
        reward = rng.choice((0.0, 1.0, rng.randrange(65) / 64))
        arm = plain.select()
        expect_equal(scaled.select(), arm, "the choice with rescaled rewards")
        plain.update(arm, reward)
        scaled.update(arm, 4.0 * reward - 2.0)
    with expect_error(RewardError, "a reward outside the range"):
        scaled.update(scaled.select(), 2.5)


def check_labels(make: Make) -> None:
    """Check that labels of any kind come back as they were given, and change nothing but names."""
    count = make.cls.own_arms or len(LABELS["texts"])
    numbers = play(make(arms=number_of if make.cls.endless else count), 50)
    for name, labels in LABELS.items():
        arms = _endless(labels) if make.cls.endless else labels[:count]
        policy = make(arms=arms)
        for number, label in zip(numbers, play(policy, len(numbers)), strict=True):
            expect_equal(label, labels[number % len(labels)], f"{name}: the choice of arm {number}")
        twin = make.restored(policy, arms=arms)
        expect_equal(play(twin, 20, seed=1), play(policy, 20, seed=1), f"{name}: once restored")


def _endless(labels: list[Any]) -> Callable[[int], Any]:
    """Return endless arms whose labels repeat: each is an arm of its own all the same."""
    return lambda index: labels[index % len(labels)]


def check_compiled_equals_python(make: Make) -> None:
    """Check that the compiled engine makes the choices of the policy itself, to the last bit.

    Nothing is checked where the simulator is not installed, or where only the python engine can
    run the policy.
    """
    try:
        from handful.simulation import simulate
    except ImportError:
        return
    settings = {key: value for key, value in make.settings.items() if key != "horizon"}
    for instance in _instances(make.cls):

        def regret(engine: str, instance: str = instance) -> Any:
            result = simulate(
                make.cls, instance, memory=make.memory, horizon=HORIZON, runs=2, engine=engine,
                n_jobs=1, **settings,
            )  # fmt: skip
            return result.curve.per_run.tolist()

        slow = regret("python")
        try:
            fast = regret("compiled")
        except SettingError:
            continue
        except EngineError as error:
            raise ContractError(str(error)) from error
        expect(fast == slow, f"on {instance} the engines differ")


def _instances(cls: type[Policy]) -> tuple[str, ...]:
    if cls.endless:
        return "I1", "I2+beta"
    if cls.own_arms:
        return (f"linear:{cls.own_arms}",)
    return "linear:11", "linear:11+beta"


CHECKS: tuple[Callable[[Make], None], ...] = (
    check_memory_bound,
    check_same_seed_same_choices,
    check_select_is_stable,
    check_restored_goes_on,
    check_refused_input_changes_nothing,
    check_tickets,
    check_late_rewards_in_any_order,
    check_clock_counts_decisions,
    check_rewards_of_other_arms,
    check_clone_is_independent,
    check_reset,
    check_recommend_never_explores,
    check_stats,
    check_rescale,
    check_labels,
    traffic.check_no_delay,
    traffic.check_many_at_once,
    traffic.check_missing_rewards,
    traffic.check_default_reward,
    traffic.check_size_in_flight,
    traffic.check_changing_arms,
    traffic.check_new_arms_come_up,
    traffic.check_allowed_arms,
    check_compiled_equals_python,
)
"""All checks of policies. A new one is a function above, or in `traffic`, and a line here."""


def all_checks() -> Iterator[tuple[str, Callable[[Make], None]]]:
    """Yield the name of each check and the check itself, a function of a `Make`."""
    for check in CHECKS:
        yield check.__name__.removeprefix("check_"), check


def checks(
    cls: type[Policy], arms: Any = None, memory: int | None = None, **settings: Any
) -> list[Check]:
    """Return all checks of a policy, each to be called without arguments; see `Make`.

    >>> import handful
    >>> first, *_ = checks(handful.Race, memory=2)
    >>> first
    <check memory_bound of race>
    >>> first()
    """
    make = Make(cls, arms, memory, **settings)
    return [Check(name, function, make) for name, function in all_checks()]


def check_policy(
    cls: type[Policy], arms: Any = None, memory: int | None = None, **settings: Any
) -> None:
    """Run all checks of a policy; raise `ContractError` at the first that fails; see `Make`."""
    for check in checks(cls, arms, memory, **settings):
        check()
