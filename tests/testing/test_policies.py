"""The shipped checks accept a sound policy of one's own, and each of them can fail."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import Any, Self

import pytest

import handful
from handful import Decision, Policy, Receipt, State
from handful.core.rng import uniform
from handful.core.slots import admit, most_pulled
from handful.core.state import Int
from handful.errors import ContractError, HandfulError
from handful.policies.settings import unit_reward
from handful.testing import Check, Make, all_checks, checks


class GreedyState(State):
    """The two arms that were best so far, and how many came up."""

    tried: Int


class Greedy(Policy):
    """Of the last two arms, the one with the higher mean; each 20th decision, the next arm."""

    name = "greedy"
    State = GreedyState
    own_memory = 2

    @staticmethod
    def start(state: GreedyState, p: Any) -> None:
        state.tried = 1
        admit(state, 0, 0)

    @staticmethod
    def propose(state: GreedyState, p: Any) -> int:
        if state.clock % 20 == 19:
            arm = state.tried % p.K
            state.tried += 1
            if arm not in state.arm[: state.held]:
                worse = 0 if most_pulled(state) == 1 else 1
                admit(state, worse, arm)
                return worse
        best = 0
        for slot in range(state.held):
            if state.pulls[slot] == 0:
                return slot
            if state.sums[slot] / state.pulls[slot] > state.sums[best] / state.pulls[best]:
                best = slot
        return best


# One broken policy for each check.


class Twice(Greedy):
    @staticmethod
    def propose(state: GreedyState, p: Any) -> int:
        admit(state, 1, state.arm[0])
        return 1


class Dice(Greedy):
    @staticmethod
    def propose(state: GreedyState, p: Any) -> int:
        admit(state, 0, random.randrange(p.K))
        return 0


class Restless(Greedy):
    def select(self) -> Any:
        self._state.pending = -1
        return super().select()


class Forgetful(Greedy):
    def to_bytes(self) -> bytes:
        twin = self.clone()
        twin._state.tried = 1  # type: ignore[attr-defined]
        return Policy.to_bytes(twin)


class Hasty(Greedy):
    def update(self, arm: Any, reward: float) -> None:
        self._state.refused += 1
        super().update(arm, reward)


class Generous(Greedy):
    def reward(self, ticket: int, reward: float) -> Receipt:
        super().reward(ticket, reward)
        return Receipt.CREDITED


class Lossy(Greedy):
    def reward(self, ticket: int, reward: float) -> Receipt:
        unit_reward(reward, self._rescale)
        self._state.forgotten += 1
        return Receipt.FORGOTTEN


class Clocked(Greedy):
    @staticmethod
    def observe(state: GreedyState, slot: int, reward: float, p: Any) -> None:
        Greedy.observe(state, slot, reward, p)
        state.clock += 1


class Deaf(Greedy):
    @staticmethod
    def observe(state: GreedyState, slot: int, reward: float, p: Any) -> None:
        pass


class Shared(Greedy):
    def clone(self) -> Self:
        return self


class Stubborn(Greedy):
    def reset(self) -> None:
        pass


class Explorer(Greedy):
    @staticmethod
    def recommend_arm(state: GreedyState, p: Any) -> int:
        return state.arm[int(uniform(state.rng) * state.held)]


class Boastful(Greedy):
    def __repr__(self) -> str:
        return "the best policy"


class Unscaled(Greedy):
    def update(self, arm: Any, reward: float) -> None:
        super().update(arm, reward if self._rescale is None else sum(self._rescale) / 2.0)


class Shouting(Greedy):
    def select(self) -> Any:
        arm = super().select()
        return arm.upper() if isinstance(arm, str) else arm

    def update(self, arm: Any, reward: float) -> None:
        super().update(super().select(), reward)


class Contrary(Greedy):
    def reward(self, ticket: int, reward: float) -> Receipt:
        return super().reward(ticket, 1.0 - reward)


class Copying(Greedy):
    def decide(self, n: int | None = None, allowed: Any = None) -> Any:
        if n is None:
            return super().decide(allowed=allowed)
        return [super().decide(allowed=allowed)] * n


class Careless(Greedy):
    def drop(self, ticket: int) -> Receipt:
        return Receipt.DROPPED


class Unanswered(Greedy):
    def _make(self, arms: Any, memory: int, rewards: Any, values: dict[str, float]) -> None:
        super()._make(arms, memory, rewards._replace(default=float("nan")), values)


class Hoarder(Greedy):
    def to_bytes(self) -> bytes:
        return super().to_bytes() + bytes(self.decisions)


class Attached(Greedy):
    @staticmethod
    def withdraw(state: GreedyState, slot: int, p: Any) -> bool:
        return True

    @staticmethod
    def resized(state: GreedyState, before: int, p: Any) -> bool:
        return True


class Promising(Greedy):
    @staticmethod
    def news_within(state: GreedyState, p: Any) -> int | None:
        return 10


class Wilful(Greedy):
    def decide(self, n: int | None = None, allowed: Any = None) -> Any:
        return super().decide() if n is None else super().decide(n)


class Drifting(Greedy):
    """Uses a list of its module, which cannot be compiled."""

    @staticmethod
    def propose(state: GreedyState, p: Any) -> int:
        SEEN.append(0)
        return 0


SEEN: list[int] = []

BROKEN: dict[str, type[Policy]] = {
    "memory_bound": Twice,
    "same_seed_same_choices": Dice,
    "select_is_stable": Restless,
    "restored_goes_on": Forgetful,
    "refused_input_changes_nothing": Hasty,
    "tickets": Generous,
    "late_rewards_in_any_order": Lossy,
    "clock_counts_decisions": Clocked,
    "rewards_of_other_arms": Deaf,
    "clone_is_independent": Shared,
    "reset": Stubborn,
    "recommend_never_explores": Explorer,
    "stats": Boastful,
    "rescale": Unscaled,
    "labels": Shouting,
    "no_delay": Contrary,
    "many_at_once": Copying,
    "missing_rewards": Careless,
    "default_reward": Unanswered,
    "size_in_flight": Hoarder,
    "changing_arms": Attached,
    "new_arms_come_up": Promising,
    "allowed_arms": Wilful,
}
PLAIN = [check for check in checks(Greedy) if check.__name__ != "compiled_equals_python"]


@pytest.mark.parametrize("check", PLAIN)
def test_a_sound_policy_of_ones_own_passes(check: Check) -> None:
    check()


@pytest.mark.parametrize(("name", "cls"), BROKEN.items())
def test_a_check_fails_for_a_policy_that_breaks_it(name: str, cls: type[Policy]) -> None:
    (check,) = (check for check in checks(cls) if check.__name__ == name)
    with pytest.raises(ContractError, match=f"^greedy, check {name}: ") as caught:
        check()
    assert isinstance(caught.value, AssertionError)


class Obliging(Greedy):
    def add_arms(self, labels: Any) -> None:
        pass


def test_a_policy_whose_arms_cannot_change_must_say_so() -> None:
    function = dict(all_checks())["changing_arms"]
    function(Make(Greedy, arms=7))
    function(Make(handful.POLICIES["cover"]))
    with pytest.raises(ContractError, match="an arm added to arms that cannot change"):
        function(Make(Obliging, arms=7))


def test_a_policy_whose_kernel_differs_or_cannot_be_made_fails() -> None:
    function = dict(all_checks())["compiled_equals_python"]
    function(Make(Greedy))
    with pytest.raises(ContractError):
        function(Make(Drifting))


def test_each_check_has_a_policy_that_fails_it() -> None:
    assert [*BROKEN, "compiled_equals_python"] == [name for name, _ in all_checks()]


def test_check_policy_runs_them_all_and_stops_at_the_first_that_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ran = []
    named = [lambda make, i=i: ran.append((i, make.cls)) for i in range(3)]
    for i, function in enumerate(named):
        function.__name__ = f"check_{i}"
    monkeypatch.setattr("handful.testing.policies.CHECKS", tuple(named))
    handful.testing.check_policy(Greedy)
    assert ran == [(0, Greedy), (1, Greedy), (2, Greedy)]


def test_checks_have_the_names_that_pytest_shows() -> None:
    assert [check.__name__ for check in checks(Greedy)] == [name for name, _ in all_checks()]
    assert repr(checks(Greedy)[0]) == "<check memory_bound of greedy>"


def test_arms_memory_and_settings_are_passed_on() -> None:
    made = Make(handful.UCBM, arms=5, memory=4, eta=0.25)()
    assert (made.n_arms, made.memory, made._values) == (5, 4, {"eta": 0.25})
    assert isinstance(made.decide(), Decision)


def test_it_needs_neither_pytest_nor_any_third_party_package() -> None:
    code = (
        "import sys, handful.testing as t, handful\n"
        "[c() for c in t.checks(handful.Race) if c.__name__ != 'compiled_equals_python']\n"
        "print(*{'pytest', 'numpy', 'numba', 'hypothesis'} & set(sys.modules))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert run.stdout.split() == []


def test_a_failed_check_is_an_error_of_ours() -> None:
    assert issubclass(ContractError, HandfulError)
