"""What every policy must do, whatever its idea: a policy in the registry is checked by being there.

The checks use a policy through its public face, by name, on a number of arms or on labels. This
file is on choices, settings and the memory bound; `test_rewards` on rewards, `test_saved` on bytes,
`test_stats` on how a policy is shown, `test_names` on names.
"""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import handful
from handful import FiniteArms
from handful.core.state import fields
from handful.errors import (
    SettingError,
    UnknownNameError,
)
from tests.helpers import drive, new, plan, refused, untouched
from tests.policies.checked import (
    CHECKED,
    KINDS,
    arm_counts,
    every_policy,
    every_policy_and_kind,
    memories,
    mid_way,
    prompt,
    seeds,
    steady,
)


@every_policy_and_kind
def test_select_gives_back_the_users_own_labels(name: str, kind: str) -> None:
    policy = new(name, KINDS[kind](), 3)
    arms = FiniteArms.of(KINDS[kind]())
    drive(policy, 60, random.Random(0))
    chosen = policy.select()
    labels = [arms.label(index) for index in policy._state.arm[: policy._state.held]]
    assert policy.arms_in_memory == labels
    assert chosen in labels
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
        before = policy.arms_in_memory
        assert policy.recommend() in before
        chosen = policy.select()
        held = policy.arms_in_memory
        assert 1 <= len(held) <= min(K, M)
        assert len(set(held)) == len(held)
        assert chosen in held
        assert policy.recommend() in held
        assert policy.pulls == t
        drive(policy, 1, rewards)
        assert policy.arms_in_memory == held
    assert (policy.n_arms, policy.memory) == (K, M)


@every_policy
def test_statistics_live_in_the_arm_memory_only(name: str) -> None:
    # Nothing that a policy holds grows with the pulls: there is no list of arms beside the memory.
    policy = new(name, 10**12, 4)

    def sizes() -> dict[str, int]:
        parts = dict(vars(policy))
        parts |= {field: getattr(policy._state, field) for field in fields(type(policy._state))}
        return {key: len(part) for key, part in parts.items() if hasattr(part, "__len__")}

    drive(policy, 100, random.Random(0))
    before = sizes()
    drive(policy, 500, random.Random(1))
    assert sizes() == before
    assert before["arm"] == 4


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
        policy.stats().to_dicts().clear()
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
@pytest.mark.parametrize("memory", [1, 0, -3])
def test_a_memory_too_small_to_compare_arms_is_refused(name: str, memory: int) -> None:
    with refused(SettingError, ValueError, f"memory={memory} ", "memory >= 2"):
        new(name, 9, memory)


@every_policy
@pytest.mark.parametrize("memory", [True, 2.0, "2"])
def test_a_memory_that_is_not_an_integer_is_refused(name: str, memory: Any) -> None:
    with refused(SettingError, ValueError, f"memory={memory!r} "):
        new(name, 9, memory)


@every_policy
@pytest.mark.parametrize(
    ("arms", "mention"),
    [
        (0, "arms=0"),
        (-1, "arms=-1"),
        (2**62, f"arms={2**62}"),
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
def test_a_seed_that_is_not_an_integer_is_refused(name: str, seed: Any) -> None:
    with refused(SettingError, ValueError, f"seed={seed!r}"):
        new(name, 9, 3, seed=seed)


@every_policy
@pytest.mark.parametrize("setting", ["etta", "wibble"])
def test_an_unknown_setting_is_refused_by_name(name: str, setting: str) -> None:
    with refused(UnknownNameError, ValueError, repr(setting), name):
        new(name, 9, 3, **{setting: 1.0})


@pytest.mark.parametrize(
    ("given", "near"), [("ucbm", "ucb-m"), ("UCBM", "ucb-m"), ("mosm", "moss-m"), ("tsm", "ts-m")]
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
