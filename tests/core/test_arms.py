from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from handful.core.arms import MAX_ARMS, FiniteArms
from handful.errors import OtherArmsError, SettingError, StateError
from tests.helpers import refused


class Colour(enum.Enum):
    RED = 1
    GREEN = 2


def prompt(index: int) -> str:
    return f"prompt-{index}"


def test_a_number_labels_arms_by_their_index() -> None:
    arms = FiniteArms(10**12)
    assert arms.n == 10**12
    assert arms.label(123456789) == 123456789


@pytest.mark.parametrize("K", [1, 2, MAX_ARMS])
def test_from_one_arm_up_to_2_to_the_63_are_allowed(K: int) -> None:
    assert FiniteArms(K).n == K
    assert FiniteArms(prompt, n=K).label(K - 1) == f"prompt-{K - 1}"


@pytest.mark.parametrize(
    "labels",
    [
        ["red", "green", "blue"],
        ("red", "green", "blue"),
        {"red": 1, "green": 2, "blue": 3},
        iter(["red", "green", "blue"]),
        np.array(["red", "green", "blue"]),
    ],
)
def test_labels_come_from_anything_that_has_an_order(labels: Any) -> None:
    arms = FiniteArms(labels)
    assert [arms.label(i) for i in range(arms.n)] == ["red", "green", "blue"]


def test_labels_may_be_of_mixed_kinds() -> None:
    labels = [None, 0, "0", (0, "a"), 2.5, b"x", Colour.RED]
    arms = FiniteArms(labels)
    assert arms.n == 7
    assert [arms.slot_of(label, range(7)) for label in labels] == list(range(7))
    assert all(arms.knows(label) for label in labels)


def test_a_list_that_changes_later_does_not_change_the_arms() -> None:
    labels = ["red", "green"]
    arms = FiniteArms(labels)
    labels.append("blue")
    assert arms.n == 2


@pytest.mark.parametrize(
    ("given", "n"), [(range(5), 5), (range(3, 20, 4), 5), (range(9, 0, -2), 5), (range(7, 8), 1)]
)
def test_a_range_labels_arms_by_its_numbers(given: range, n: int) -> None:
    arms = FiniteArms(given)
    assert arms.n == n
    assert [arms.label(i) for i in range(n)] == list(given)
    assert all(arms.knows(label) for label in given)
    assert not arms.knows(1000)


def test_a_range_longer_than_a_machine_word_counts_is_taken() -> None:
    arms = FiniteArms(range(2**63))
    assert arms.n == 2**63
    assert arms.label(2**63 - 1) == 2**63 - 1


def test_a_function_is_asked_for_one_label_at_a_time() -> None:
    asked: list[int] = []

    def label(index: int) -> str:
        asked.append(index)
        return prompt(index)

    arms = FiniteArms(label, n=10**12)
    assert asked == []
    assert arms.label(10**11) == "prompt-100000000000"
    assert arms.slot_of("prompt-7", [3, 7]) == 1
    assert asked == [10**11, 3, 7]


def test_of_leaves_arms_as_they_are() -> None:
    arms = FiniteArms(3)
    assert FiniteArms.of(arms) is arms
    assert FiniteArms.of(3).n == 3
    assert FiniteArms.of(["a"]).label(0) == "a"


@pytest.mark.parametrize("K", [0, -1, -(10**30), MAX_ARMS + 1])
def test_fewer_than_one_arm_or_too_many_are_refused(K: int) -> None:
    with refused(SettingError, ValueError, str(K), "at least 1"):
        FiniteArms(K)
    with refused(SettingError, ValueError, str(K), "at least 1"):
        FiniteArms(prompt, n=K)


@pytest.mark.parametrize("given", [True, False, 3.0, 2.5, float("nan"), None, 3j, object()])
def test_what_is_not_a_whole_number_of_arms_is_refused(given: Any) -> None:
    with refused(SettingError, ValueError, repr(given)):
        FiniteArms(given)
    if given is not None:
        with refused(SettingError, ValueError, repr(given)):
            FiniteArms(prompt, n=given)


@pytest.mark.parametrize("empty", [[], (), {}, range(0), range(5, 5), range(5, 3), iter([])])
def test_no_labels_at_all_are_refused(empty: Any) -> None:
    with refused(SettingError, ValueError, "at least 1"):
        FiniteArms(empty)


@pytest.mark.parametrize("twice", ["red", 7, None, ("a", 1), Colour.RED])
def test_a_repeated_label_is_refused(twice: Any) -> None:
    with refused(SettingError, ValueError, repr(twice), "twice"):
        FiniteArms([twice, "other", twice])


@pytest.mark.parametrize("label", [[1, 2], {"a": 1}, {1}, ([1],)])
def test_an_unhashable_label_is_refused(label: Any) -> None:
    with refused(SettingError, ValueError, repr(label), "hashable"):
        FiniteArms(["fine", label])


@pytest.mark.parametrize("text", ["red", "", b"red"])
def test_one_text_is_not_a_list_of_labels(text: Any) -> None:
    with refused(SettingError, ValueError, repr(text), "one text"):
        FiniteArms(text)


@pytest.mark.parametrize("labels", [{"a", "b"}, frozenset({"a", "b"}), set[str]()])
def test_a_set_is_refused_for_its_lack_of_order(labels: Any) -> None:
    with refused(SettingError, ValueError, "set", "sorted"):
        FiniteArms(labels)


def test_a_function_without_the_number_of_arms_is_refused() -> None:
    with refused(SettingError, ValueError, "n="):
        FiniteArms(prompt)
    no_number: Any = prompt
    with refused(SettingError, ValueError, "n="):
        FiniteArms.of(no_number)


@pytest.mark.parametrize("arms", [5, ["a", "b"], range(3)])
def test_a_number_of_arms_beside_labels_is_refused(arms: Any) -> None:
    with refused(SettingError, ValueError, "n="):
        FiniteArms(arms, n=2)


def test_arms_given_by_number_know_exactly_their_indices() -> None:
    arms = FiniteArms(10)
    assert arms.knows(0)
    assert arms.knows(9)
    assert not any(arms.knows(label) for label in (-1, 10, "0", None, 2.5, (0,)))


@pytest.mark.parametrize("arms", [FiniteArms(5), FiniteArms(range(5)), FiniteArms([0, 1, 2, 3, 4])])
def test_a_truth_value_is_not_the_label_1(arms: FiniteArms) -> None:
    assert arms.slot_of(True, [0, 1, 2]) is None
    assert not arms.knows(True)


@pytest.mark.parametrize("arms", [FiniteArms(5), FiniteArms(range(5)), FiniteArms([0, 1, 2, 3, 4])])
def test_a_numpy_integer_is_the_label_of_its_value(arms: FiniteArms) -> None:
    assert arms.slot_of(np.int64(2), [0, 2]) == 1
    assert arms.knows(np.int64(2))


def test_labels_know_themselves_and_nothing_else() -> None:
    arms = FiniteArms(["red", "green", 3])
    assert arms.knows("red")
    assert arms.knows(3)
    assert not any(arms.knows(label) for label in ("blue", 4, None, "3", ["red"], np.zeros(3)))


def test_a_function_cannot_tell_which_labels_it_would_give() -> None:
    assert not FiniteArms(prompt, n=10).knows("prompt-3")


def test_an_arm_is_looked_for_only_among_the_few_given() -> None:
    arms = FiniteArms(["red", "green", "blue"])
    assert arms.slot_of("blue", [2, 0]) == 0
    assert arms.slot_of("red", [2, 0]) == 1
    assert arms.slot_of("green", [2, 0]) is None
    assert arms.slot_of("green", []) is None
    assert arms.slot_of(np.array(["red", "green"]), [0, 1]) is None


def test_a_label_that_equals_nothing_is_found_by_identity() -> None:
    nan = float("nan")
    assert FiniteArms([0.5, nan]).slot_of(nan, [0, 1]) == 1


DIFFERENT: list[Callable[[], FiniteArms]] = [
    lambda: FiniteArms(2),
    lambda: FiniteArms(3),
    lambda: FiniteArms([0, 1]),
    lambda: FiniteArms(["0", "1"]),
    lambda: FiniteArms(["1", "0"]),
    lambda: FiniteArms(["01"]),
    lambda: FiniteArms(["0", "1", "2"]),
    lambda: FiniteArms([b"0", b"1"]),
    lambda: FiniteArms(["a\x1fstr:'b'"]),
    lambda: FiniteArms(["a", "b"]),
    lambda: FiniteArms([(0, 1)]),
    lambda: FiniteArms(prompt, n=2),
    lambda: FiniteArms(prompt, n=3),
    lambda: FiniteArms(lambda i: f"text-{i}", n=2),
    lambda: FiniteArms(prompt, n=10**12),
    lambda: FiniteArms(lambda i: f"text-{i}", n=10**12),
]


def test_fingerprints_tell_arms_from_other_arms() -> None:
    assert len({make().fingerprint() for make in DIFFERENT}) == len(DIFFERENT)


@pytest.mark.parametrize("make", DIFFERENT)
def test_the_same_arms_have_the_same_fingerprint(make: Callable[[], FiniteArms]) -> None:
    assert make().fingerprint() == make().fingerprint()


def test_one_label_changed_among_many_changes_the_fingerprint() -> None:
    labels = [f"arm {i}" for i in range(1000)]
    changed = [*labels[:500], "another", *labels[501:]]
    assert FiniteArms(labels).fingerprint() != FiniteArms(changed).fingerprint()


def test_fingerprints_are_the_same_in_every_process_and_version() -> None:
    assert FiniteArms(10).fingerprint() == 13219356226708749515
    assert FiniteArms(["a", "b"]).fingerprint() == 12488238362971816910
    assert FiniteArms(lambda i: f"p{i}", n=10**12).fingerprint() == 9419257620563259194


@pytest.mark.parametrize("K", [1, 2, 15, 16, 17, 31, 1000, 10**12, MAX_ARMS])
def test_a_function_is_asked_for_few_labels_and_the_ends_are_among_them(K: int) -> None:
    asked: list[int] = []

    def label(index: int) -> int:
        asked.append(index)
        return index

    FiniteArms(label, n=K).fingerprint()
    assert len(asked) <= 17
    assert {0, K - 1} <= set(asked)
    assert all(0 <= index < K for index in asked)


def test_a_label_without_a_text_of_its_own_cannot_be_fingerprinted() -> None:
    with refused(StateError, ValueError, "<object object at", "__repr__"):
        FiniteArms([object(), object()]).fingerprint()


def test_the_same_arms_pass_for_themselves() -> None:
    arms = FiniteArms(["a", "b"])
    FiniteArms(["a", "b"]).check_fingerprint(arms.fingerprint(), arms.n)


def test_another_number_of_arms_is_named_in_the_refusal() -> None:
    arms = FiniteArms(["a", "b"])
    with refused(OtherArmsError, ValueError, "2 arms", "3"):
        FiniteArms(["a", "b", "c"]).check_fingerprint(arms.fingerprint(), arms.n)


def test_as_many_other_arms_are_refused() -> None:
    arms = FiniteArms(["a", "b"])
    with refused(OtherArmsError, ValueError, "2 other arms", "same order"):
        FiniteArms(["b", "a"]).check_fingerprint(arms.fingerprint(), arms.n)


@pytest.mark.parametrize(
    ("arms", "text"),
    [
        (FiniteArms(7), "FiniteArms(7)"),
        (FiniteArms(["a", "b"]), "FiniteArms(['a', 'b'], n=2)"),
        (FiniteArms(["a", "b", "c", "d"]), "FiniteArms(['a', 'b', 'c', ...], n=4)"),
        (FiniteArms(range(9)), "FiniteArms([0, 1, 2, ...], n=9)"),
    ],
)
def test_repr_shows_the_first_labels_and_the_number(arms: FiniteArms, text: str) -> None:
    assert repr(arms) == text


def test_repr_of_a_function_names_it() -> None:
    assert "prompt" in repr(FiniteArms(prompt, n=10**12))
    assert "n=1000000000000" in repr(FiniteArms(prompt, n=10**12))
