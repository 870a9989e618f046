from __future__ import annotations

import copy
import datetime
import enum
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import handful
from handful.core.arms import ENDLESS, FiniteArms, label_text
from handful.core.reservoir import Reservoir
from handful.errors import OtherArmsError, SettingError, StateError
from tests.helpers import refused

MOST = ENDLESS - 1


class Colour(enum.Enum):
    RED = 1
    GREEN = 2


NAMED = dict(enumerate("abc"))


def prompt(index: int) -> str:
    return f"prompt-{index}"


def test_a_number_labels_arms_by_their_index() -> None:
    arms = FiniteArms(10**12)
    assert arms.n == 10**12
    assert arms.label(123456789) == 123456789


@pytest.mark.parametrize("K", [1, 2, MOST])
def test_from_one_arm_to_just_below_2_to_the_62_are_allowed(K: int) -> None:
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
        np.array(["red", "green", "blue"], dtype=object),
        pd.Series(["red", "green", "blue"]),
        pd.Index(["red", "green", "blue"]),
        pl.Series(["red", "green", "blue"]),
        {"red": 1, "green": 2, "blue": 3}.keys(),
        {1: "red", 2: "green", 3: "blue"}.values(),
    ],
)
def test_labels_come_from_anything_that_has_an_order(labels: Any) -> None:
    arms = FiniteArms(labels)
    assert [arms.label(i) for i in range(arms.n)] == ["red", "green", "blue"]


class ArrowScalar:
    """What an Arrow array gives one by one: not the value, but something that has it."""


class ArrowArray:
    """As far as arms are concerned, what pyarrow calls an array."""

    def __init__(self, values: list[Any]) -> None:
        self._values = values

    def __iter__(self) -> Any:
        return (ArrowScalar() for _ in self._values)

    def __len__(self) -> int:
        return len(self._values)

    def to_pylist(self) -> list[Any]:
        return self._values


def test_an_arrow_array_gives_its_values() -> None:
    labels: Any = ArrowArray(["red", "green"])
    assert [FiniteArms(labels).label(i) for i in range(2)] == ["red", "green"]


def test_the_items_of_a_dict_are_labels_in_order() -> None:
    arms = FiniteArms({"red": 1, "green": 2}.items())
    assert [arms.label(0), arms.label(1)] == [("red", 1), ("green", 2)]


def from_list(labels: Any) -> FiniteArms:
    return FiniteArms(list(labels))


def from_function(labels: Any) -> FiniteArms:
    return FiniteArms(lambda i: labels[i], n=len(labels))


@pytest.mark.parametrize("make", [FiniteArms, from_list, from_function])
@pytest.mark.parametrize(
    "labels",
    [["red", "green"], [3, 5], [0.5, 2.5], [True, False]],
    ids=["str", "int", "float", "bool"],
)
def test_labels_of_numpy_come_back_as_plain_scalars_that_json_can_write(
    make: Callable[[Any], FiniteArms], labels: list[Any]
) -> None:
    arms = make(np.array(labels))
    assert [type(arms.label(i)) for i in range(2)] == [type(label) for label in labels]
    policy = handful.Race(arms, memory=2, seed=1)
    assert json.loads(json.dumps(policy.select())) in labels
    assert json.loads(json.dumps(policy.arms_in_memory)) == policy.arms_in_memory


def test_a_structured_array_gives_tuples() -> None:
    pairs = np.array([("red", 1), ("green", 2)], dtype=[("name", "U5"), ("size", "i8")])
    assert FiniteArms(pairs).label(1) == ("green", 2)


def test_a_date_of_numpy_keeps_its_unit() -> None:
    days = np.array(["2024-01-31T12:00"], dtype="datetime64[ns]")
    assert FiniteArms(days).label(0) == days[0]
    assert str(FiniteArms(days).label(0)).startswith("2024-01-31")
    assert FiniteArms([datetime.date(2024, 1, 31)]).label(0) == datetime.date(2024, 1, 31)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"headline": ["a", "b"]}),
        pl.DataFrame({"headline": ["a", "b"]}),
        pl.LazyFrame({"headline": ["a", "b"]}),
    ],
)
@pytest.mark.parametrize("make", [FiniteArms, Reservoir, lambda arms: handful.Race(arms, memory=2)])
def test_a_frame_is_refused_and_a_column_asked_for(make: Callable[[Any], Any], frame: Any) -> None:
    advice = 'frame["headline"].to_list()'
    with refused(SettingError, ValueError, type(frame).__name__, advice):
        make(frame)


def test_a_column_of_a_frame_is_taken_as_the_message_says() -> None:
    for frame in (pd.DataFrame({"headline": ["a", "b"]}), pl.DataFrame({"headline": ["a", "b"]})):
        assert FiniteArms(frame["headline"].to_list()).label(1) == "b"
        assert FiniteArms(frame["headline"]).label(1) == "b"


@pytest.mark.parametrize("array", [np.array(3), np.array([["a", "b"]]), np.zeros((2, 2))])
def test_an_array_that_is_not_one_dimensional_is_refused(array: Any) -> None:
    with refused(SettingError, ValueError, "label"):
        FiniteArms(array)


class Nameless:
    """Equal to itself alone."""


@pytest.mark.parametrize(
    "make_label",
    [
        lambda i: np.array([i, i]),
        lambda i: (i, np.array([i, i])),
        lambda i: pd.Series([i, i]),
        lambda i: Nameless(),
        lambda i: {i: object()},
    ],
    ids=["array", "tuple of array", "series", "new object", "dict of new object"],
)
def test_a_function_whose_labels_no_reward_could_match_is_refused_at_the_first(
    make_label: Callable[[int], Any],
) -> None:
    for policy in (
        handful.UCBM(FiniteArms(make_label, n=9), 2, seed=1),
        handful.QUCBM(make_label, 2, seed=1),
    ):
        with refused(SettingError, ValueError, "function from index to label", "tuples"):
            policy.select()


@pytest.mark.parametrize(
    "make_label",
    [lambda i: (i, "a"), lambda i: [i], lambda i: {"prompt": i}, lambda i: Colour.RED, NAMED.get],
)
def test_a_function_whose_labels_compare_equal_is_taken(make_label: Callable[[int], Any]) -> None:
    policy = handful.UCBM(FiniteArms(make_label, n=3), 2, seed=1)
    for _ in range(20):
        policy.update(copy.copy(policy.select()), 0.5)
    assert policy.pulls == 20


def test_a_function_is_called_twice_for_its_first_label_at_most() -> None:
    asked: list[int] = []

    def label(index: int) -> tuple[int, str]:
        asked.append(index)
        return (index, "a")

    arms = FiniteArms(label, n=10)
    assert [arms.label(3), arms.label(4), arms.label(3)] == [(3, "a"), (4, "a"), (3, "a")]
    assert asked == [3, 3, 4, 3]


def test_a_comparison_that_cannot_be_decided_is_not_equality() -> None:
    class Tensor:
        def __eq__(self, other: object) -> Any:
            raise RuntimeError("the truth value of a tensor is ambiguous")

        __hash__ = None  # type: ignore[assignment]

    assert FiniteArms(2).slot_of(Tensor(), [0, 1]) is None


def test_finite_arms_are_shared_by_clones() -> None:
    arms = FiniteArms(["red", "green"])
    arms.keep_only([0])
    arms.restart()
    assert arms.clone() is arms
    assert [arms.label(0), arms.label(1)] == ["red", "green"]


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


def test_the_longest_range_is_taken() -> None:
    arms = FiniteArms(range(1, ENDLESS))
    assert arms.n == MOST
    assert arms.label(MOST - 1) == MOST


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


@pytest.mark.parametrize("K", [0, -1, -(10**30), ENDLESS, 2**63])
def test_fewer_than_one_arm_or_too_many_are_refused(K: int) -> None:
    with refused(SettingError, ValueError, str(K), "at least 1"):
        FiniteArms(K)
    with refused(SettingError, ValueError, str(K), "at least 1"):
        FiniteArms(prompt, n=K)


@pytest.mark.parametrize("given", [True, False, 3.0, 2.5, float("nan"), None, 3j, object()])
def test_what_is_not_an_integer_number_of_arms_is_refused(given: Any) -> None:
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
def test_one_string_is_not_a_list_of_labels(text: Any) -> None:
    with refused(SettingError, ValueError, repr(text), "one string"):
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


def test_a_fingerprint_is_computed_once() -> None:
    asked: list[int] = []

    def label(index: int) -> str:
        asked.append(index)
        return prompt(index)

    arms = FiniteArms(label, n=1000)
    first = arms.fingerprint()
    calls = len(asked)
    assert arms.fingerprint() == first
    arms.check_fingerprint(first, 1000)
    assert len(asked) == calls > 0


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("a", b"\x1fstr:'a'"),
        (np.str_("a"), b"\x1fstr:'a'"),
        (np.int64(7), b"\x1fint:7"),
        (np.array([7]), b"\x1fint:7"),
        (np.array([7, 8]), b"\x1fndarray:array([7, 8])"),
        (2.5, b"\x1ffloat:2.5"),
        (None, b"\x1fNoneType:None"),
        ((0, "a"), b"\x1ftuple:(0, 'a')"),
        (frozenset({"b", "a"}), b"\x1ffrozenset:[\"'a'\", \"'b'\"]"),
        (b" at 0x1", b"\x1fbytes:b' at 0x1'"),
    ],
)
def test_a_label_as_text(label: Any, text: bytes) -> None:
    assert label_text(label) == text


def test_fingerprints_are_the_same_in_every_process_and_version() -> None:
    assert FiniteArms(10).fingerprint() == 13219356226708749515
    assert FiniteArms(["a", "b"]).fingerprint() == 12488238362971816910
    assert FiniteArms(lambda i: f"p{i}", n=10**12).fingerprint() == 9419257620563259194


@pytest.mark.parametrize("K", [1, 2, 15, 16, 17, 31, 1000, 10**12, MOST])
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


def test_endless_arms_are_named_in_the_refusal() -> None:
    saved = Reservoir(prompt)
    with refused(OtherArmsError, ValueError, "endless arms", "2 were given"):
        FiniteArms(["a", "b"]).check_fingerprint(saved.fingerprint(), saved.n)


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


def test_the_indices_of_a_frozenset_are_looked_up_once_and_of_another_again() -> None:
    arms = FiniteArms(["a", "b", "c"])
    some = frozenset(["c", "a", "nothing"])
    found = arms.indices_of(some)
    found.append(7)
    assert arms.indices_of(some) == [0, 2]
    assert arms.indices_of(frozenset(["b"])) == [1]
    assert arms.indices_of(some) == [0, 2]
    assert FiniteArms.with_labels(["c"]).indices_of(some) == [0]
