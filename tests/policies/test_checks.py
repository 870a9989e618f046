"""What every policy must do, whatever its idea: a policy in the registry is checked by being there.

The checks use a policy through its public face, by name, on a number of arms or on labels.
"""

from __future__ import annotations

import enum
import math
import random
import subprocess
import sys
from binascii import crc32
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from struct import pack
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import handful
from handful import FiniteArms, HandfulError
from handful.errors import (
    ForgottenArmError,
    NewerStateError,
    OtherArmsError,
    RewardError,
    SettingError,
    StateError,
    UnknownArmError,
    UnknownNameError,
)
from handful.policies import Policy
from tests.helpers import drive, new, plan, random_reward, refused, untouched

# Policies on finite sets that take a memory bound; test_endless.py has the others.
CHECKED = [
    name
    for name, cls in handful.POLICIES.items()
    if not (cls.endless or cls.unbounded or cls.own_memory)
]
every_policy = pytest.mark.parametrize("name", sorted(CHECKED))


def most_bytes(name: str, M: int) -> int:
    """What a saved policy may take: 8 bytes more for each register of an automaton."""
    machine = getattr(handful.POLICIES[name], "automaton", None)
    return 128 + 40 * M + 8 * (machine.registers if machine else 0)


steady = settings(derandomize=True, deadline=None, max_examples=40)
arm_counts = st.integers(1, 40) | st.sampled_from([10**12, 2**63 - 1, 2**63])
memories = st.integers(2, 10)
seeds = st.integers(-(2**70), 2**70)


class Colour(enum.Enum):
    RED = 1
    GREEN = 2
    BLUE = 3
    GOLD = 4


def prompt(index: int) -> str:
    return f"prompt-{index}"


KINDS: dict[str, Callable[[], Any]] = {
    "a number": lambda: 12,
    "one arm": lambda: 1,
    "two arms": lambda: 2,
    "texts": lambda: ["red", "green", "blue", "gold"],
    "a tuple of texts": lambda: ("red", "green", "blue", "gold"),
    "a dict": lambda: {"red": 1, "green": 2, "blue": 3, "gold": 4},
    "an iterator": lambda: iter(["red", "green", "blue", "gold"]),
    "a range": lambda: range(5, 29, 2),
    "whole numbers": lambda: [10, 20, 30, 40],
    "negative numbers": lambda: [-1, -2, -3],
    "other numbers": lambda: [0.5, 2.5, 1e300],
    "tuples": lambda: [(i, "x") for i in range(6)],
    "bytes": lambda: [b"a", b"b", b"c"],
    "members of an enum": lambda: list(Colour),
    "labels of mixed kinds": lambda: [None, 0, "0", (0,), Colour.RED],
    "long texts": lambda: ["x" * 1000 + str(i) for i in range(4)],
    "an array of numbers": lambda: np.arange(7),
    "a function": lambda: FiniteArms(prompt, n=10**12),
    "arms made before": lambda: FiniteArms(["red", "green", "blue"]),
}


def finite(name: str, kind: str) -> bool:
    """An iterator is a finite set to most policies; to those for any arms it is endless."""
    return not (handful.POLICIES[name].any_arms and kind == "an iterator")


every_policy_and_kind = pytest.mark.parametrize(
    ("name", "kind"),
    [(name, kind) for name in sorted(CHECKED) for kind in KINDS if finite(name, kind)],
)


@every_policy_and_kind
def test_select_gives_back_the_users_own_labels(name: str, kind: str) -> None:
    policy = new(name, KINDS[kind](), 3)
    arms = FiniteArms.of(KINDS[kind]())
    drive(policy, 60, random.Random(0))
    labels = [arms.label(index) for index in policy._memory.arms]
    assert policy.arms_in_memory == labels
    assert policy.select() in labels
    assert policy.recommend() in labels


@every_policy_and_kind
def test_labels_of_any_kind_are_saved_restored_and_shown(name: str, kind: str) -> None:
    policy = new(name, KINDS[kind](), 3)
    drive(policy, 60, random.Random(0))
    twin = handful.from_bytes(policy.to_bytes(), arms=KINDS[kind]())
    assert repr(twin) == repr(policy)
    assert drive(twin, 60, random.Random(1)) == drive(policy, 60, random.Random(1))


@every_policy
def test_labels_change_nothing_but_the_names_of_arms(name: str) -> None:
    labels = [f"arm {i}" for i in range(15)]
    by_number = drive(new(name, 15, 4), 500, random.Random(0))
    by_label = drive(new(name, labels, 4), 500, random.Random(0))
    assert by_label == [labels[index] for index in by_number]


@every_policy
@steady
@given(arm_counts, memories, seeds, st.integers(0, 300))
def test_the_memory_bound_holds_at_every_pull(
    name: str, K: int, M: int, seed: int, pulls: int
) -> None:
    policy = new(name, K, M, seed=seed)
    rewards = random.Random(seed)
    for t in range(pulls):
        held = policy.arms_in_memory
        assert 1 <= len(held) <= min(K, M)
        assert len(set(held)) == len(held)
        assert policy.select() in held
        assert policy.recommend() in held
        assert policy.pulls == t
        drive(policy, 1, rewards)
    assert (policy.n_arms, policy.memory) == (K, M)


@every_policy
def test_statistics_live_in_the_arm_memory_only(name: str) -> None:
    # Nothing that a policy holds grows with the pulls: there is no list of arms beside the memory.
    policy = new(name, 10**12, 4)

    def sizes() -> dict[str, int]:
        return {key: len(held) for key, held in vars(policy).items() if hasattr(held, "__len__")}

    drive(policy, 100, random.Random(0))
    before = sizes()
    drive(policy, 500, random.Random(1))
    assert sizes() == before


@every_policy
def test_until_the_next_update_the_same_arm_is_selected(name: str) -> None:
    policy = new(name, 9, 3)
    for _ in range(60):
        arm = policy.select()
        with untouched(policy):
            assert [policy.select() for _ in range(3)] == [arm] * 3
        policy.update(arm, 0.5)


@every_policy
def test_looking_changes_nothing(name: str) -> None:
    policy = new(name, 9, 3)
    drive(policy, 40, random.Random(0))
    with untouched(policy):
        policy.recommend()
        policy.arms_in_memory.clear()
        policy.clone()
        policy._repr_html_()
        assert repr(policy) == repr(policy)
        assert policy.memory_words == policy.memory_words


@every_policy
def test_the_same_seed_makes_the_same_choices(name: str) -> None:
    one, other = new(name, 30, 4, seed=5), new(name, 30, 4, seed=5)
    assert drive(one, 400, random.Random(0)) == drive(other, 400, random.Random(0))
    assert one.to_bytes() == other.to_bytes()


@every_policy
def test_another_seed_makes_other_choices(name: str) -> None:
    played = {tuple(drive(new(name, 30, 4, seed=s), 50, random.Random(0))) for s in range(10)}
    assert len(played) == 10


@every_policy
@steady
@given(arm_counts, memories, seeds, st.integers(0, 400), st.booleans(), st.integers(1, 100))
@example(3, 2, 0, 16, False, 60)
@example(3, 2, 0, 15, True, 60)
@example(2**63, 10, 0, 119, True, 60)
def test_a_restored_policy_goes_on_exactly_where_it_was(
    name: str, K: int, M: int, seed: int, pulls: int, selected: bool, further: int
) -> None:
    policy = new(name, K, M, seed=seed)
    drive(policy, pulls, random.Random(seed))
    if selected:
        policy.select()
    blob = policy.to_bytes()
    twin = handful.from_bytes(blob, arms=K)
    assert type(twin) is type(policy)
    assert twin.to_bytes() == blob
    assert drive(twin, further, random.Random(1)) == drive(policy, further, random.Random(1))
    assert twin.to_bytes() == policy.to_bytes()
    assert twin.recommend() == policy.recommend()


@every_policy
def test_a_policy_saved_and_restored_at_every_step_plays_as_if_never_stopped(name: str) -> None:
    policy, rewards, again = new(name, 11, 3), random.Random(7), random.Random(7)
    stopped = new(name, 11, 3)
    for _ in range(300):
        stopped = handful.from_bytes(stopped.to_bytes(), arms=11)
        arm = stopped.select()
        stopped = handful.from_bytes(stopped.to_bytes(), arms=11)
        stopped.update(arm, random_reward(rewards))
        assert drive(policy, 1, again) == [arm]
    assert stopped.to_bytes() == policy.to_bytes()


@every_policy
def test_a_reward_after_a_restore_needs_no_select_before_it(name: str) -> None:
    policy = new(name, 11, 3)
    arm = policy.select()
    twin = handful.from_bytes(policy.to_bytes(), arms=11)
    for each in (policy, twin):
        each.update(arm, 1.0)
    assert twin.to_bytes() == policy.to_bytes()


@every_policy
def test_a_policy_saved_in_another_process_goes_on_here(name: str) -> None:
    code = (
        "import random, sys, handful\n"
        f"plan = {plan(name)}\n"
        f"p = handful.policy({name!r}, arms=['a', 'b', 'c', 'd'], memory=2, seed=3, **plan)\n"
        "r = random.Random(4)\n"
        "for _ in range(45): p.update(p.select(), r.random())\n"
        "p.select()\n"
        "print(p.to_bytes().hex())"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={}
    )
    policy = new(name, ["a", "b", "c", "d"], 2, seed=3)
    rewards = random.Random(4)
    for _ in range(45):
        policy.update(policy.select(), rewards.random())
    policy.select()
    assert bytes.fromhex(run.stdout) == policy.to_bytes()


BAD_REWARDS: list[Any] = [
    math.nan,
    math.inf,
    -math.inf,
    -1e-9,
    math.nextafter(1, 2),
    -1,
    2,
    -(5e-324),
    Decimal("1.5"),
    np.float64("nan"),
]
NO_NUMBERS: list[Any] = [None, "0.5", b"1", "one", [0.5], (1,), {}, 1j, object(), np.zeros(2)]


def mid_way(name: str, arms: Any, selected: bool, memory: int = 3, **settings: Any) -> Policy:
    policy = new(name, arms, memory, **settings)
    drive(policy, 47, random.Random(0))
    if selected:
        policy.select()
    return policy


selected_or_not = pytest.mark.parametrize("selected", [True, False], ids=["selected", "before"])


@every_policy
@selected_or_not
@pytest.mark.parametrize("reward", BAD_REWARDS, ids=repr)
def test_a_reward_out_of_range_is_refused_and_changes_nothing(
    name: str, selected: bool, reward: Any
) -> None:
    policy = mid_way(name, 9, selected)
    with untouched(policy), refused(RewardError, ValueError, repr(reward), "[0, 1]", "rescale"):
        policy.update(policy.arms_in_memory[0], reward)


@every_policy
@selected_or_not
@pytest.mark.parametrize("reward", NO_NUMBERS, ids=lambda reward: type(reward).__name__)
def test_a_reward_that_is_not_a_number_is_refused_and_changes_nothing(
    name: str, selected: bool, reward: Any
) -> None:
    policy = mid_way(name, 9, selected)
    with untouched(policy), refused(RewardError, ValueError, repr(reward)):
        policy.update(policy.arms_in_memory[0], reward)


@every_policy
def test_a_reward_too_large_for_a_float_is_refused(name: str) -> None:
    policy = mid_way(name, 9, True)
    with untouched(policy), refused(RewardError, ValueError, "not a finite number"):
        policy.update(policy.select(), 10**400)


@every_policy
@steady
@given(st.floats() | st.integers(), seeds)
def test_a_refused_reward_leaves_no_trace_in_later_choices(
    name: str, reward: float, seed: int
) -> None:
    policy, spared = new(name, 9, 3, seed=seed), new(name, 9, 3, seed=seed)
    for each in (policy, spared):
        drive(each, 20, random.Random(seed))
        each.select()
    if not 0 <= reward <= 1:
        with untouched(policy), refused(RewardError, ValueError):
            policy.update(policy.select(), reward)
    assert drive(policy, 60, random.Random(1)) == drive(spared, 60, random.Random(1))


@every_policy
@pytest.mark.parametrize(
    "reward",
    [0, 1, 0.0, 1.0, -0.0, 0.3, True, False, Fraction(1, 3), Decimal("0.3"), np.float32(1)],
)
def test_any_number_between_0_and_1_is_a_reward(name: str, reward: Any) -> None:
    policy = new(name, 9, 3)
    policy.update(policy.select(), reward)
    assert policy.pulls == 1


STRANGERS: list[Any] = [-1, 12, 2**70, "0", None, 0.5, (0,), True, [0], np.zeros(3), object()]


@every_policy
@selected_or_not
def test_an_arm_that_was_never_given_is_refused_and_changes_nothing(
    name: str, selected: bool
) -> None:
    policy = mid_way(name, 12, selected)
    for arm in STRANGERS:
        with untouched(policy), refused(UnknownArmError, LookupError, "in memory are"):
            policy.update(arm, 0.5)


@every_policy_and_kind
def test_a_stranger_is_refused_by_arms_of_every_kind(name: str, kind: str) -> None:
    none = "none" if kind == "labels of mixed kinds" else None
    policy = mid_way(name, KINDS[kind](), selected=True)
    error = ForgottenArmError if "function" in kind else UnknownArmError
    for stranger in ("purple", 99, none, 1.5, (0, 0), ["red"], True):
        with untouched(policy), refused(error, LookupError, repr(stranger)):
            policy.update(stranger, 0.5)


FORGETTING: dict[str, tuple[Any, list[Any]]] = {
    "a number": (12, list(range(12))),
    "a huge number": (10**12, [0, 10**11, 10**12 - 1]),
    "texts": (list("abcdefghijkl"), list("abcdefghijkl")),
    "a range": (range(0, 36, 3), list(range(0, 36, 3))),
    "tuples": ([(i,) for i in range(12)], [(i,) for i in range(12)]),
}


@every_policy
@selected_or_not
@pytest.mark.parametrize("kind", FORGETTING)
def test_a_known_arm_that_is_not_in_memory_is_refused_and_changes_nothing(
    name: str, selected: bool, kind: str
) -> None:
    arms, labels = FORGETTING[kind]
    policy = mid_way(name, arms, selected)
    forgotten = [label for label in labels if label not in policy.arms_in_memory]
    assert forgotten
    for arm in forgotten:
        with untouched(policy), refused(ForgottenArmError, LookupError, repr(arm), "not in memory"):
            policy.update(arm, 0.5)


@every_policy
def test_a_function_cannot_tell_a_forgotten_arm_from_a_stranger(name: str) -> None:
    policy = mid_way(name, FiniteArms(prompt, n=10**12), selected=True)
    for arm in ("prompt-5", "prompt-x"):
        with untouched(policy), refused(ForgottenArmError, LookupError, repr(arm), "cannot be"):
            policy.update(arm, 0.5)


@every_policy
def test_any_arm_in_memory_may_be_rewarded(name: str) -> None:
    policy = new(name, 9, 3)
    for t in range(100):
        arms = policy.arms_in_memory
        policy.update(arms[t % len(arms)], 0.5)
        assert policy.pulls == t + 1


@every_policy
def test_a_reward_counts_for_the_arm_that_it_is_given_for(name: str) -> None:
    policy = new(name, 3, 3)
    for arm, times in ((0, 5), (1, 2), (2, 9)):
        for _ in range(times):
            policy.update(arm, 1.0)
    pulls = dict(zip(policy.arms_in_memory, policy._memory.pulls, strict=True))
    assert pulls == {0: 5, 1: 2, 2: 9}
    assert policy._memory.sums == policy._memory.pulls


@every_policy
@pytest.mark.parametrize("rescale", [(0.0, 100.0), (-5.0, 5.0), (1e300, 1.5e300), (-3, 4)])
def test_rescale_maps_rewards_to_the_unit_interval(name: str, rescale: tuple[float, float]) -> None:
    lo, hi = rescale
    scaled, plain = new(name, 9, 3, rescale=rescale), new(name, 9, 3)
    rewards = random.Random(0)
    for _ in range(200):
        reward = lo + rewards.choice((0.0, 0.25, 0.5, 1.0)) * (hi - lo)
        arm = scaled.select()
        assert plain.select() == arm
        scaled.update(arm, reward)
        plain.update(arm, (reward - lo) / (hi - lo))
    assert scaled._memory.sums == plain._memory.sums


@every_policy
def test_rescale_is_saved(name: str) -> None:
    policy = new(name, 9, 3, rescale=(-5.0, 5.0))
    twin = handful.from_bytes(policy.to_bytes(), arms=9)
    for each in (policy, twin):
        each.update(each.select(), -5.0)
    assert twin.to_bytes() == policy.to_bytes()


@every_policy
@pytest.mark.parametrize("reward", [-5.1, 5.1, math.nan, math.inf, -math.inf])
def test_a_reward_outside_of_rescale_is_refused_and_changes_nothing(
    name: str, reward: float
) -> None:
    policy = mid_way(name, 9, selected=True, rescale=(-5, 5))
    with untouched(policy), refused(RewardError, ValueError, repr(reward), "[-5, 5]"):
        policy.update(policy.select(), reward)


@every_policy
@pytest.mark.parametrize(
    "rescale",
    [
        (1, 1),
        (2, 1),
        (0, math.inf),
        (-math.inf, 0),
        (math.nan, 1),
        (0, math.nan),
        (-1e308, 1e308),
        (1,),
        (1, 2, 3),
        (),
        5,
        ("a", "b"),
        (None, 1),
        pytest.param((0, 10**400), id="more than a float holds"),
    ],
)
def test_a_rescale_that_cannot_work_is_refused(name: str, rescale: Any) -> None:
    with refused(SettingError, ValueError, f"rescale={rescale!r}"):
        new(name, 9, 3, rescale=rescale)


@every_policy
@pytest.mark.parametrize("memory", [1, 0, -3])
def test_a_memory_too_small_to_compare_arms_is_refused(name: str, memory: int) -> None:
    with refused(SettingError, ValueError, f"memory={memory} ", "memory >= 2"):
        new(name, 9, memory)


@every_policy
@pytest.mark.parametrize("memory", [True, 2.0, "2"])
def test_a_memory_that_is_not_a_whole_number_is_refused(name: str, memory: Any) -> None:
    with refused(SettingError, ValueError, f"memory={memory!r} "):
        new(name, 9, memory)


@every_policy
@pytest.mark.parametrize(
    ("arms", "mention"),
    [
        (0, "arms=0"),
        (-1, "arms=-1"),
        (2**63 + 1, f"arms={2**63 + 1}"),
        (True, "arms=True"),
        (3.0, "arms=3.0"),
        (None, "arms=None"),
        ([], "arms are empty"),
        (["a", "b", "a"], "'a' is given twice"),
        ([[1]], "the label [1]"),
        ("abc", "arms='abc'"),
        ({"a", "b"}, "arms are a set"),
    ],
)
def test_arms_that_cannot_be_are_refused(name: str, arms: Any, mention: str) -> None:
    with refused(SettingError, ValueError, mention):
        new(name, arms, 3)


@pytest.mark.parametrize("name", [n for n in sorted(CHECKED) if not handful.POLICIES[n].any_arms])
def test_a_function_without_a_number_is_refused(name: str) -> None:
    with refused(SettingError, ValueError, "n="):
        new(name, prompt, 3)


@every_policy
@pytest.mark.parametrize("seed", [True, 1.0, 1.5, "1", b"1", [1], math.nan])
def test_a_seed_that_is_not_a_whole_number_is_refused(name: str, seed: Any) -> None:
    with refused(SettingError, ValueError, f"seed={seed!r}"):
        new(name, 9, 3, seed=seed)


@every_policy
@pytest.mark.parametrize("setting", ["etta", "wibble"])
def test_an_unknown_setting_is_refused_by_name(name: str, setting: str) -> None:
    with refused(UnknownNameError, ValueError, repr(setting), name):
        new(name, 9, 3, **{setting: 1.0})


@pytest.mark.parametrize(
    ("given", "near"), [("ucbm", "ucb-m"), ("UCB-M", "ucb-m"), ("mosm", "moss-m"), ("tsm", "ts-m")]
)
def test_an_unknown_policy_is_met_with_the_nearest_names(given: str, near: str) -> None:
    with refused(UnknownNameError, ValueError, repr(given), near):
        new(given, 9, 3)


@pytest.mark.parametrize("given", ["", "zzzzzz", None, 5, [1]])
def test_a_name_near_nothing_is_met_with_all_names(given: Any) -> None:
    with refused(UnknownNameError, ValueError, *handful.POLICIES):
        new(given, 9, 3)


@every_policy
def test_a_policy_is_made_by_its_name_or_its_class(name: str) -> None:
    cls = handful.POLICIES[name]
    assert cls.name == name
    assert type(handful.policy(name, 9, 3, **plan(name))) is cls
    assert cls(9, 3, seed=1, **plan(name)).to_bytes() == new(name, 9, 3).to_bytes()


@every_policy
def test_a_policy_says_what_it_is(name: str) -> None:
    cls = handful.POLICIES[name]
    assert cls.title
    assert cls.summary
    assert cls.citation
    assert cls.__doc__


@every_policy
def test_a_clone_makes_the_same_choices(name: str) -> None:
    policy = mid_way(name, 9, selected=True)
    twin = policy.clone()
    assert type(twin) is type(policy)
    assert drive(twin, 200, random.Random(1)) == drive(policy, 200, random.Random(1))


@every_policy
def test_a_clone_and_its_original_know_nothing_of_each_other(name: str) -> None:
    policy = mid_way(name, 9, selected=True)
    twin = policy.clone()
    with untouched(policy):
        drive(twin, 100, random.Random(1))
        twin.reset()
    with untouched(twin):
        drive(policy, 100, random.Random(1))
        policy.reset()


@every_policy
@steady
@given(arm_counts, memories, seeds, st.integers(0, 200), st.booleans())
def test_a_reset_policy_is_a_new_one(
    name: str, K: int, M: int, seed: int, pulls: int, selected: bool
) -> None:
    policy = new(name, K, M, seed=seed)
    drive(policy, pulls, random.Random(seed))
    if selected:
        policy.select()
    policy.reset()
    fresh = new(name, K, M, seed=seed)
    assert policy.to_bytes() == fresh.to_bytes()
    assert repr(policy) == repr(fresh)
    assert drive(policy, 50, random.Random(1)) == drive(fresh, 50, random.Random(1))


@every_policy
def test_a_restored_policy_resets_to_a_new_one(name: str) -> None:
    policy = handful.from_bytes(mid_way(name, 9, selected=True).to_bytes(), arms=9)
    policy.reset()
    assert policy.to_bytes() == new(name, 9, 3).to_bytes()


@every_policy
@pytest.mark.parametrize("M", [2, 3, 4, 10, 50])
def test_the_state_stays_under_128_and_40_bytes_an_arm(name: str, M: int) -> None:
    for K in (1, 2, 10, 49, 50, 51, 10**6, 10**12, 2**63):
        for rescale in (None, (-5.0, 5.0)):
            policy = new(name, K, M, rescale=rescale)
            sizes = [len(policy.to_bytes())]
            for _ in range(20):
                policy.update(policy.select(), 0.5)
                sizes.append(len(policy.to_bytes()))
            assert max(sizes) <= most_bytes(name, M), (K, rescale)


@every_policy
@steady
@given(arm_counts, st.integers(2, 50), seeds, st.integers(0, 300), st.booleans())
def test_the_state_stays_small_at_any_pull(
    name: str, K: int, M: int, seed: int, pulls: int, rescaled: bool
) -> None:
    policy = new(name, K, M, seed=seed, rescale=(0.0, 1.0) if rescaled else None)
    drive(policy, pulls, random.Random(seed))
    assert len(policy.to_bytes()) <= most_bytes(name, M)


@every_policy
@pytest.mark.parametrize("setting", [(2, 8), (10, 50)])
def test_words_of_state_do_not_depend_on_the_arms_or_the_time(
    name: str, setting: tuple[int, int]
) -> None:
    memory, pulls = setting
    words = set()
    for arms in (1, 10, 10**12, ["a", "b", "c"]):
        policy = new(name, arms, memory)
        words.add(policy.memory_words)
        drive(policy, pulls, random.Random(0))
        words.add(policy.memory_words)
    assert len(words) == 1
    assert 8 * words.pop() <= most_bytes(name, memory)


@every_policy
def test_labels_are_not_in_the_bytes(name: str) -> None:
    blob = mid_way(name, ["secret one", "secret two", "secret three"], selected=True).to_bytes()
    assert b"secret" not in blob


@every_policy
@selected_or_not
def test_bytes_cut_at_any_length_are_refused(name: str, selected: bool) -> None:
    blob = mid_way(name, 9, selected).to_bytes()
    for size in range(len(blob)):
        for part in (blob[:size], blob[len(blob) - size :]):
            with refused(StateError, ValueError):
                handful.from_bytes(part, arms=9)


@every_policy
@selected_or_not
def test_any_bit_flipped_is_seen(name: str, selected: bool) -> None:
    blob = mid_way(name, 9, selected).to_bytes()
    for place in range(len(blob)):
        for bit in range(8):
            flipped = bytearray(blob)
            flipped[place] ^= 1 << bit
            with refused(StateError, ValueError):
                handful.from_bytes(bytes(flipped), arms=9)


def with_sum_mended(data: bytes | bytearray) -> bytes:
    return bytes(data[:-4]) + pack("<I", crc32(data[:-4]))


@every_policy
def test_bytes_of_a_newer_version_are_refused_as_such(name: str) -> None:
    newer = bytearray(mid_way(name, 9, selected=True).to_bytes())
    newer[4] += 1
    for load in (handful.from_bytes, handful.POLICIES[name].from_bytes):
        with refused(NewerStateError, ValueError, "format 2", "upgrade"):
            load(with_sum_mended(newer), 9)


@every_policy
@selected_or_not
@pytest.mark.parametrize("settings", [{}, {"rescale": (-5.0, 5.0)}], ids=["plain", "rescaled"])
def test_forged_bytes_are_refused_or_make_a_policy_that_works(
    name: str, selected: bool, settings: dict[str, Any]
) -> None:
    blob = mid_way(name, 9, selected, **settings).to_bytes()
    for place in range(5, len(blob) - 4):
        for value in {0, 1, 0x7F, 0x80, 0xFF, blob[place] ^ 1} - {blob[place]}:
            forged = bytearray(blob)
            forged[place] = value
            try:
                policy = handful.from_bytes(with_sum_mended(forged), arms=9)
            except HandfulError:
                continue
            assert len(policy.arms_in_memory) <= policy.memory
            assert policy.select() in policy.arms_in_memory
            repr(policy)


@every_policy
@pytest.mark.parametrize("given", [None, "text", 7, [1]])
def test_what_is_not_bytes_is_refused(name: str, given: Any) -> None:
    for load in (handful.from_bytes, handful.POLICIES[name].from_bytes):
        with refused(StateError, ValueError, type(given).__name__):
            load(given, 9)


@every_policy
@pytest.mark.parametrize(
    ("saved_with", "given"),
    [
        (9, 8),
        (9, 10**12),
        (3, ["a", "b", "c"]),
        (["a", "b", "c"], 3),
        (["a", "b", "c"], ["a", "b"]),
        (["a", "b", "c"], ["a", "c", "b"]),
        (["a", "b", "c"], ["a", "b", "d"]),
        ([0, 1, 2], ["0", "1", "2"]),
        (FiniteArms(prompt, n=99), FiniteArms(prompt, n=98)),
        (FiniteArms(prompt, n=99), FiniteArms(lambda i: f"p{i}", n=99)),
        (FiniteArms(prompt, n=99), 99),
    ],
)
def test_other_arms_are_refused(name: str, saved_with: Any, given: Any) -> None:
    blob = new(name, saved_with, 2).to_bytes()
    for load in (handful.from_bytes, handful.POLICIES[name].from_bytes):
        with refused(OtherArmsError, ValueError, str(FiniteArms.of(saved_with).n)):
            load(blob, given)


@every_policy
def test_the_state_of_another_policy_is_refused(name: str) -> None:
    blob = new(name, 9, 3).to_bytes()
    for other, cls in handful.POLICIES.items():
        if other != name:
            with refused(StateError, ValueError, repr(name), repr(other)):
                cls.from_bytes(blob, 9)


@every_policy_and_kind
def test_repr_is_a_table_of_the_arms_in_memory(name: str, kind: str) -> None:
    policy = mid_way(name, KINDS[kind](), selected=True)
    head, titles, *rows, foot = repr(policy).splitlines()
    assert head.startswith(f"{type(policy).__name__}(arms={policy.n_arms}, memory=3")
    assert titles.split() == ["arm", "in", "memory", "pulls", "mean", "share"]
    assert len(rows) == len(policy.arms_in_memory)
    assert [row[0] for row in rows].count("*") == 1
    marked = next(slot for slot, row in enumerate(rows) if row[0] == "*")
    assert policy.arms_in_memory[marked] == policy.recommend()
    assert "47 pulls" in foot
    assert f"{policy.memory_words} words" in foot


@every_policy
def test_repr_shows_pulls_means_and_shares(name: str) -> None:
    policy = new(name, ["red", "green"], 2)
    for _ in range(3):
        policy.update("red", 1.0)
    policy.update("green", 0.0)
    rows = {row.split("'")[1]: row.split()[-3:] for row in repr(policy).splitlines()[2:4]}
    assert rows == {"red": ["3", "1.0000", "75.0%"], "green": ["1", "0.0000", "25.0%"]}


@every_policy
def test_a_new_policy_can_be_shown(name: str) -> None:
    policy = new(name, ["red", "green", "blue"], 2)
    assert "0 pulls" in repr(policy)
    assert "0 pulls" in policy._repr_html_()


@every_policy
def test_a_policy_whose_labels_have_no_text_of_their_own_can_still_be_shown(name: str) -> None:
    policy = new(name, [object(), object(), object()], 2)
    assert "arm in memory" in repr(policy)
    assert "arm in memory" in policy._repr_html_()


@every_policy_and_kind
def test_a_notebook_gets_a_table_of_the_arms_in_memory(name: str, kind: str) -> None:
    policy = mid_way(name, KINDS[kind](), selected=True)
    page = policy._repr_html_()
    assert page.startswith("<table>")
    assert page.endswith("</table>")
    assert page.count("<tr>") == page.count("</tr>") == 1 + len(policy.arms_in_memory)
    assert f"{policy.memory_words} words" in page


@every_policy
def test_labels_cannot_smuggle_markup_into_a_notebook(name: str) -> None:
    class Markup:
        def __init__(self, text: str) -> None:
            self.text = text

        def __repr__(self) -> str:
            return self.text

    labels = ["<b>x</b>", "<script>alert(1)</script>", '"&<i>', Markup("<img src=x>")]
    policy = new(name, labels, 4)
    drive(policy, 100, random.Random(0))
    page = policy._repr_html_()
    for markup in ("<b>", "<script>", "<i>", "<img"):
        assert markup not in page
    assert "&lt;b&gt;" in page
    assert "&lt;img src=x&gt;" in page
    assert "&amp;" in page
