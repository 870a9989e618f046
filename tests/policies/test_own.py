"""A policy of one's own with a mistake in it: every mistake has an error that says what to do."""

from __future__ import annotations

import pickle
import threading
from typing import Any, ClassVar

import pytest

import handful
from handful.errors import ContractError, RuleError, SettingError
from handful.own import Int, Setting, admit
from handful.testing import check_policy


class Sound(handful.Policy):
    name = "sound"

    @staticmethod
    def start(state: Any, p: Any) -> None:
        admit(state, 0, 0)

    @staticmethod
    def propose(state: Any, p: Any) -> int:
        return 0


class Silent(Sound):
    name = "silent"
    propose = handful.Policy.propose


class Outside(Sound):
    name = "outside"

    @staticmethod
    def propose(state: Any, p: Any) -> int:
        return 7


class Below(Sound):
    name = "below"

    @staticmethod
    def propose(state: Any, p: Any) -> int:
        return -1


class Nothing(Sound):
    name = "nothing"

    @staticmethod
    def propose(state: Any, p: Any) -> Any:
        return None


class Empty(Sound):
    name = "empty"
    start = handful.Policy.start


class OtherArm(Sound):
    name = "other-arm"

    @staticmethod
    def start(state: Any, p: Any) -> None:
        admit(state, 0, 99)


MISTAKES = [
    (Silent, NotImplementedError, "defines no propose"),
    (Outside, RuleError, "proposed slot 7 after 0 decisions, and slots 0 to 0 are in use"),
    (Below, RuleError, "proposed slot -1"),
    (Nothing, RuleError, "proposed slot None"),
    (Empty, RuleError, "no slot is in use"),
    (OtherArm, RuleError, "proposed arm 99 .* the arms are 0 to 4"),
]


@pytest.mark.parametrize("method", ["select", "decide"])
@pytest.mark.parametrize("arms", [5, list("abcde")])
@pytest.mark.parametrize(("cls", "error", "said"), MISTAKES)
def test_a_mistake_online_is_an_error_that_names_it(
    cls: type[handful.Policy], error: type[Exception], said: str, arms: Any, method: str
) -> None:
    policy = cls(arms, memory=2, seed=1)
    with pytest.raises(error, match=said):
        getattr(policy, method)()
    assert policy.decisions == 0


@pytest.mark.parametrize(("cls", "error", "said"), MISTAKES)
def test_the_shipped_checks_name_it_too(
    cls: type[handful.Policy], error: type[Exception], said: str
) -> None:
    with pytest.raises(ContractError, match=f"{cls.name}, check .*raised {error.__name__}: "):
        check_policy(cls)


def test_a_field_of_a_plain_type_is_refused() -> None:
    class Plain(handful.State):
        count: int

    class Counts(Sound):
        name = "counts"
        State = Plain

    with pytest.raises(SettingError, match=r"count: int in the record Plain .*Int, Count"):
        Counts(5, memory=2)


def test_parameters_follow_from_the_settings() -> None:
    class Tuned(Sound):
        name = "tuned"
        settings: ClassVar = {"length": Setting(20.0, "pulls", lambda x: x >= 1.0, "length >= 1")}

    p = Tuned(5, memory=2, length=3)._p
    assert (p.K, p.M, p.endless, p.length) == (5, 2, False, 3.0)
    assert type(Tuned(6, memory=2)._p) is type(p)
    assert pickle.loads(pickle.dumps(p)) == p


def test_what_is_needed_is_in_one_module_and_listed() -> None:
    import handful.own

    for name in handful.own.__all__:
        assert getattr(handful.own, name) is not None
    assert handful.own.Int is Int


@pytest.mark.parametrize(
    ("ticket", "said"),
    [(handful.Decision("a", 3), r"give decision\.ticket"), ("12", r"give int\(ticket\)")],
)
def test_what_is_not_a_ticket_says_what_to_give(ticket: Any, said: str) -> None:
    with pytest.raises(SettingError, match=said):
        handful.Race(5, memory=2).reward(ticket, 1.0)


def test_arms_in_memory_are_read_between_decisions_not_within_one() -> None:
    # Without the lock a quarter of the reads met a memory that was being filled.
    policy = handful.UCBM(60, memory=6, seed=1)
    done = threading.Event()

    def pull() -> None:
        while not done.is_set():
            policy.reward(policy.decide().ticket, 1.0)

    writers = [threading.Thread(target=pull) for _ in range(2)]
    for writer in writers:
        writer.start()
    sizes = {len(policy.arms_in_memory) for _ in range(3000)}
    done.set()
    for writer in writers:
        writer.join()
    assert min(sizes) >= 5
