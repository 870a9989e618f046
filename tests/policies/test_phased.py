from __future__ import annotations

import math
import random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import handful
from handful import MOSSM, TSM, UCBM, FiniteArms, PhasedPolicy, Receipt, Rule
from handful.errors import SettingError, StateError
from handful.policies.schedule import schedule
from tests import naive
from tests.helpers import choices_on, drive, new, order_of, refused, stays, tape

PHASED = [
    name
    for name, cls in handful.POLICIES.items()
    if issubclass(cls, PhasedPolicy) and not (cls.endless or cls.unbounded)
]
every_phased = pytest.mark.parametrize("name", PHASED)
steady = settings(derandomize=True, deadline=None, max_examples=40)
seeds = st.integers(0, 2**32)


@st.composite
def bounded(draw: st.DrawFn, most: int = 22) -> tuple[int, int]:
    """K arms and a memory 2 <= M < K, M at most 8."""
    K = draw(st.integers(3, most))
    return K, draw(st.integers(2, min(8, K - 1)))


# The smallest, K-1 divisible by M-1, one arm more, M = K-1, M = 2.
SIZES = [(3, 2), (10, 4), (11, 4), (6, 5), (9, 2)]


def phase_pulls(K: int, M: int, w: int) -> int:
    return -(-(K - 1) // (M - 1)) * M * (M + 2) << (w - 1)


@every_phased
@steady
@given(bounded(), seeds, st.integers(1, 1500))
@example((3, 2), 0, 500)
@example((10, 4), 0, 500)
@example((11, 4), 0, 500)
@example((6, 5), 0, 500)
def test_never_more_than_memory_arms_have_statistics(
    name: str, sizes: tuple[int, int], seed: int, T: int
) -> None:
    K, M = sizes
    policy = new(name, K, M, seed=seed)
    rewards = random.Random(seed)
    for _ in range(T):
        assert policy.select() in policy.arms_in_memory
        assert len(policy.arms_in_memory) <= M
        assert len(policy.arms_in_memory) <= len(policy._state.pulls) <= M
        assert len(policy._state.sums) == len(policy._state.arm) == len(policy._state.pulls)
        drive(policy, 1, rewards)
    assert len(policy.arms_in_memory) <= M


def check_phases(name: str, K: int, M: int, seed: int) -> None:
    h0 = -(-(K - 1) // (M - 1))
    pulls = phase_pulls(K, M, 1) + phase_pulls(K, M, 2)
    seen = stays(new(name, K, M, seed=seed), pulls, random.Random(seed))
    assert len(seen) == 2 * h0
    for w, phase in ((1, seen[:h0]), (2, seen[h0:])):
        assert {len(stay.choices) for stay in phase} == {M * (M + 2) * 2 ** (w - 1)}
        assert {arm for stay in phase for arm in stay.arms} == set(range(K))


@every_phased
@pytest.mark.parametrize(("K", "M"), SIZES)
def test_every_phase_puts_every_arm_in_memory_in_h0_sub_phases(name: str, K: int, M: int) -> None:
    for seed in range(5):
        check_phases(name, K, M, seed)


@every_phased
@steady
@given(bounded(), seeds)
def test_every_phase_of_any_size_puts_every_arm_in_memory_in_h0_sub_phases(
    name: str, sizes: tuple[int, int], seed: int
) -> None:
    check_phases(name, *sizes, seed)


@every_phased
@steady
@given(bounded(), seeds)
@example((3, 2), 0)
@example((11, 4), 0)
@example((6, 5), 0)
def test_the_most_played_arm_is_carried_over_as_the_incumbent(
    name: str, sizes: tuple[int, int], seed: int
) -> None:
    K, M = sizes
    policy = new(name, K, M, seed=seed)
    seen = stays(policy, phase_pulls(K, M, 1) + phase_pulls(K, M, 2), random.Random(seed))
    incumbents = [stay.arms[0] for stay in seen[1:]] + [policy.recommend()]
    assert incumbents == [stay.most_played for stay in seen]


@every_phased
@steady
@given(bounded(), seeds)
def test_the_challengers_of_a_phase_come_in_the_shuffled_order(
    name: str, sizes: tuple[int, int], seed: int
) -> None:
    K, M = sizes
    policy = new(name, K, M, seed=seed)
    assert isinstance(policy, PhasedPolicy)
    order = order_of(policy)
    h0 = -(-(K - 1) // (M - 1))
    seen = stays(policy, phase_pulls(K, M, 1) + phase_pulls(K, M, 2), random.Random(seed))
    assert seen[0].arms[0] == order[0]
    for phase in (seen[:h0], seen[h0:]):
        challengers = [arm for arm in order if arm != phase[0].arms[0]]
        for j, stay in enumerate(phase):
            window = challengers[j * (M - 1) : (j + 1) * (M - 1)]
            assert stay.arms == [stay.arms[0], *window]


@every_phased
@steady
@given(bounded(), seeds, st.integers(1, 1500))
def test_the_horizon_is_spent_to_the_last_pull(
    name: str, sizes: tuple[int, int], seed: int, T: int
) -> None:
    K, M = sizes
    policy = new(name, K, M, seed=seed)
    rewards = random.Random(seed)
    budgets = schedule(K, M)
    done, b = 0, next(budgets).b
    for t in range(T):
        assert policy.pulls == t
        policy.select()
        if done == b:
            done, b = 0, next(budgets).b
        # What is in memory counts exactly the pulls of the sub-phase that is under way.
        assert sum(policy._state.pulls[: policy._state.held]) == done
        drive(policy, 1, rewards)
        done += 1
    assert policy.pulls == T


@every_phased
def test_statistics_are_fresh_in_every_sub_phase(name: str) -> None:
    policy = new(name, 5, 3)
    drive(policy, 15, random.Random(0))
    assert sum(policy._state.pulls) == 15
    policy.select()
    assert policy._state.pulls == [0, 0, 0]
    assert policy._state.sums == [0.0, 0.0, 0.0]


@every_phased
def test_before_the_first_sub_phase_ends_the_most_played_arm_so_far_is_recommended(
    name: str,
) -> None:
    policy = new(name, 6, 3)
    first, second, third = policy.arms_in_memory
    assert policy.recommend() == first
    policy.update(third, 0.0)
    assert policy.recommend() == third
    policy.update(second, 1.0)
    policy.update(second, 1.0)
    assert policy.recommend() == second


@every_phased
def test_within_a_sub_phase_the_incumbent_stays_recommended(name: str) -> None:
    policy = new(name, 6, 3)
    drive(policy, 15, random.Random(0))
    best = policy.recommend()
    policy.select()
    incumbent, challenger = policy.arms_in_memory[:2]
    assert incumbent == best
    for _ in range(14):
        policy.update(challenger, 1.0)
        assert policy.recommend() == incumbent
    policy.update(challenger, 1.0)
    assert policy.recommend() == challenger


@pytest.mark.parametrize("coins", [True, False], ids=["coins", "any numbers"])
@pytest.mark.parametrize("eta", [1.0, 0.2, 0.0])
@steady
@given(bounded(), seeds, st.integers(1, 600))
@example((3, 2), 0, 600)
@example((11, 4), 0, 600)
@example((6, 5), 0, 600)
def test_ucb_m_makes_the_choices_of_its_naive_twin(
    coins: bool, eta: float, sizes: tuple[int, int], seed: int, T: int
) -> None:
    K, M = sizes
    policy = UCBM(K, M, eta=eta, seed=seed)
    reward = tape(K, seed, coins)
    twin = naive.algorithm_1(order_of(policy), M, T, naive.ucb1_score(eta), reward)
    assert choices_on(policy, T, reward) == twin.choices


@pytest.mark.parametrize("coins", [True, False], ids=["coins", "any numbers"])
@steady
@given(bounded(), seeds, st.integers(1, 600))
@example((3, 2), 0, 600)
@example((11, 4), 0, 600)
@example((6, 5), 0, 600)
def test_moss_m_makes_the_choices_of_its_naive_twin(
    coins: bool, sizes: tuple[int, int], seed: int, T: int
) -> None:
    K, M = sizes
    policy = MOSSM(K, M, seed=seed)
    reward = tape(K, seed, coins)
    twin = naive.algorithm_1(order_of(policy), M, T, naive.moss_score, reward)
    assert choices_on(policy, T, reward) == twin.choices


@pytest.mark.parametrize("cls", [UCBM, MOSSM])
@pytest.mark.parametrize(("K", "M"), SIZES)
def test_the_memory_holds_what_the_naive_twin_holds(
    cls: type[PhasedPolicy], K: int, M: int
) -> None:
    policy = cls(K, M, seed=3)
    reward = tape(K, 3)
    score = naive.ucb1_score(1.0) if cls is UCBM else naive.moss_score
    twin = naive.algorithm_1(order_of(policy), M, 900, score, reward)
    held = []
    for t in range(900):
        arm = policy.select()
        if not any(policy._state.pulls[: policy._state.held]):
            held.append(policy.arms_in_memory)
        policy.update(arm, reward(t, arm))
    assert held == twin.memories


all_fit = st.integers(1, 8).flatmap(lambda K: st.tuples(st.just(K), st.integers(max(2, K), 12)))


@pytest.mark.parametrize("eta", [1.0, 0.2])
@steady
@given(all_fit, seeds, st.booleans())
def test_ucb_m_with_room_for_all_arms_is_textbook_ucb1(
    eta: float, sizes: tuple[int, int], seed: int, coins: bool
) -> None:
    K, M = sizes
    policy = UCBM(K, M, eta=eta, seed=seed)
    reward = tape(K, seed, coins)
    assert choices_on(policy, 300, reward) == naive.ucb1(order_of(policy), 300, reward, eta)


@pytest.mark.parametrize("horizon", [None, 100, 300, 10**6])
@steady
@given(all_fit, seeds, st.booleans())
def test_moss_m_with_room_for_all_arms_is_textbook_moss(
    horizon: int | None, sizes: tuple[int, int], seed: int, coins: bool
) -> None:
    K, M = sizes
    policy = MOSSM(K, M, horizon=horizon, seed=seed)
    reward = tape(K, seed, coins)
    assert choices_on(policy, 300, reward) == naive.moss(order_of(policy), 300, reward, horizon)


@every_phased
@steady
@given(all_fit, seeds)
def test_arms_that_all_fit_are_never_forgotten(
    name: str, sizes: tuple[int, int], seed: int
) -> None:
    K, M = sizes
    policy = new(name, K, M, seed=seed)
    choices = drive(policy, 200, random.Random(seed))
    assert sorted(policy.arms_in_memory) == list(range(K))
    assert policy._state.pulls == [choices.count(arm) for arm in policy.arms_in_memory]
    assert choices.count(policy.recommend()) == max(policy._state.pulls)
    assert policy.pulls == 200


def test_thompson_credits_trials_so_that_sums_are_integers() -> None:
    policy = TSM(4, 4, seed=5)
    for _ in range(200):
        policy.update(policy.select(), 0.37)
    assert all(total == int(total) for total in policy._state.sums)
    assert 0 < sum(policy._state.sums) < 200


@every_phased
def test_a_good_arm_among_bad_ones_is_found(name: str) -> None:
    policy = new(name, 30, 4)
    for _ in range(4000):
        arm = policy.select()
        policy.update(arm, 1.0 if arm == 17 else 0.0)
    assert policy.recommend() == 17


@every_phased
def test_the_last_arm_of_the_shuffled_order_is_tried_in_the_first_phase(name: str) -> None:
    # The printed pseudo-code never tries it when the last window is short.
    for seed in range(20):
        policy = new(name, 11, 4, seed=seed)
        assert isinstance(policy, PhasedPolicy)
        last = order_of(policy)[-1]
        assert last in drive(policy, phase_pulls(11, 4, 1), random.Random(seed))


def test_another_seed_is_another_order() -> None:
    assert len({UCBM(20, 2, seed=seed).select() for seed in range(200)}) == 20


def test_a_rule_of_ones_own_makes_a_policy() -> None:
    class TakingTurns(PhasedPolicy):
        name = "turns"
        rule = Rule("turns", score=lambda n, s, now: -float(n))

    policy = TakingTurns(5, 3, seed=1)
    (stay,) = stays(policy, 15, random.Random(0))
    assert stay.choices == 5 * stay.arms
    assert TakingTurns.from_bytes(policy.to_bytes(), arms=5).select() == policy.select()


def test_without_a_seed_every_policy_has_an_order_of_its_own() -> None:
    # About 2^62 arms: that two first arms agree among ten has probability 45 / 2^62.
    assert len({UCBM(2**62 - 1, 2).select() for _ in range(10)}) == 10


HUGE = pytest.param(10**400, id="more than a float holds")


@pytest.mark.parametrize("eta", [-1, -0.001, math.nan, math.inf, -math.inf, HUGE])
def test_an_eta_that_cannot_work_is_refused(eta: float) -> None:
    with refused(SettingError, ValueError, f"eta={eta!r}", "eta >= 0"):
        UCBM(5, 2, eta=eta)


@pytest.mark.parametrize("eta", [True, "1", [1.0], 1j])
def test_an_eta_that_is_not_a_number_is_refused(eta: Any) -> None:
    with refused(SettingError, ValueError, f"eta={eta!r}", "not a number"):
        UCBM(5, 2, eta=eta)


@pytest.mark.parametrize("horizon", [0, -1, 2.5, math.nan, math.inf, HUGE])
def test_a_horizon_that_cannot_be_is_refused(horizon: Any) -> None:
    with refused(SettingError, ValueError, f"horizon={horizon!r}", "an integer T >= 1"):
        MOSSM(5, 5, horizon=horizon)


def test_settings_are_saved() -> None:
    assert "eta=0.2" in repr(UCBM(5, 2, eta=0.2, seed=0).clone())
    assert "horizon=500" in repr(MOSSM(5, 2, horizon=500, seed=0).clone())
    assert "horizon" not in repr(MOSSM(5, 2, seed=0).clone())


@pytest.mark.parametrize("horizon", [None, 50])
def test_a_restored_moss_knows_its_horizon(horizon: int | None) -> None:
    policy = MOSSM(3, 3, horizon=horizon, seed=1)
    drive(policy, 20, random.Random(1))
    twin = policy.clone()
    assert drive(policy, 100, random.Random(2)) == drive(twin, 100, random.Random(2))


def test_repr_says_where_in_the_schedule_the_policy_is() -> None:
    policy = UCBM(5, 3, seed=1)
    assert "phase 1, sub-phase 1 of 2, reward 0 of 15" in repr(policy)
    drive(policy, 15 + 15 + 7, random.Random(0))
    assert "phase 2, sub-phase 1 of 2, reward 7 of 30" in repr(policy)
    assert "all arms in memory" in repr(UCBM(3, 3, seed=1))


@pytest.mark.parametrize("arms", [10**12, 2**62 - 1, FiniteArms(lambda i: f"p{i}", n=2**62 - 1)])
@every_phased
def test_a_huge_set_of_arms_is_played_like_a_small_one(name: str, arms: Any) -> None:
    policy = new(name, arms, 4)
    choices = drive(policy, 24 * 30, random.Random(0))
    # 30 sub-phases: an incumbent and 3 challengers each, none of them twice.
    assert len(set(choices)) == 1 + 30 * 3
    assert policy.pulls == 720


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"sub_phase": 4}, id="a sub-phase after the last"),
        pytest.param({"sub_phase": 0}, id="a sub-phase before the first"),
        pytest.param({"phase": 65}, id="a phase after the end of time"),
        pytest.param({"phase": 0}, id="a phase before the first"),
        pytest.param({"done": 15}, id="more rewards than the arms have"),
        pytest.param({"done": 15, "pulls": [5, 5, 5]}, id="more rewards than came"),
        pytest.param({"done": 1}, id="rewards that no arm has"),
        pytest.param({"origin": 7}, id="a phase that started with no arm"),
    ],
)
def test_a_place_in_the_schedule_that_cannot_be_is_refused(change: dict[str, Any]) -> None:
    policy = UCBM(7, 3, seed=1)
    UCBM.from_bytes(policy.to_bytes(), arms=7)
    for field, value in change.items():
        setattr(policy._state, field, value)
    with refused(StateError, ValueError, "saved"):
        UCBM.from_bytes(policy.to_bytes(), arms=7)


def test_rewards_beyond_the_budget_of_a_sub_phase_can_be_saved() -> None:
    # The first sub-phase has 15 pulls; 40 decisions of it are open at once.
    policy = UCBM(7, 3, seed=1)
    tickets = [policy.decide().ticket for _ in range(40)]
    for ticket in tickets:
        assert policy.reward(ticket, 1.0) is Receipt.CREDITED
    twin = UCBM.from_bytes(policy.to_bytes(), arms=7)
    assert "sub-phase 1 of 3, reward 40 of 15" in repr(twin)
    assert drive(twin, 60, random.Random(1)) == drive(policy, 60, random.Random(1))


def test_a_memory_without_one_of_the_arms_that_all_fit_is_refused() -> None:
    policy = UCBM(3, 3, seed=1)
    policy._state.held = 2
    with refused(StateError, ValueError, "does not hold the arms"):
        UCBM.from_bytes(policy.to_bytes(), arms=3)
