"""A policy as a function of bytes: its choices are the policy's own; a stream processor runs it."""

from __future__ import annotations

import copy
import json
import pickle
import random
import sys
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import handful
from handful.adapters.streaming import (
    CHANGED,
    FORMAT,
    HEAD,
    Add,
    Decide,
    Drop,
    Event,
    Remove,
    Reward,
    Step,
    event_of,
)
from handful.errors import (
    HandfulError,
    NewerStateError,
    OtherArmsError,
    RewardError,
    SettingError,
    StateError,
)
from tests.adapters.golden import write

ARMS = [f"offer {i}" for i in range(12)]


def any_events(seed: int, steps: int) -> list[Any]:
    """What happens to a bandit: functions from its open decisions to an event."""
    rng = random.Random(seed)
    events: list[Any] = []
    born = iter(range(10**6))
    for _ in range(steps):
        kind = rng.choices(
            ["decide", "many", "reward", "drop", "add", "remove"], [9, 1, 9, 1, 1, 1]
        )
        events.append((kind[0], rng.random(), f"new {next(born)}"))
    return events


@pytest.mark.parametrize("name", ["race", "ucb-m"])
def test_its_choices_are_those_of_the_policy(name: str) -> None:
    step = Step(ARMS, name, 3, seed=5)
    alone = handful.policy(name, ARMS, 3, seed=5)
    state: bytes | None = None
    waiting: list[int] = []
    labels = list(ARMS)
    changed = 0
    for kind, number, new in any_events(1, 600):
        event: Event
        expected: Any
        if kind == "decide":
            allowed = labels[:4] if number < 0.2 else None
            event, expected = Decide(allowed=allowed), alone.decide(allowed=allowed)
            waiting.append(expected.ticket)
        elif kind == "many":
            event, expected = Decide(3), alone.decide(3)
            waiting += [decision.ticket for decision in expected]
        elif kind == "add":
            labels.append(new)
            alone.add_arms([new])
            event, expected = Add([new]), len(labels)
        elif kind == "remove" and len(labels) > 4:
            gone = labels.pop(int(number * len(labels)))
            alone.remove_arms([gone])
            event, expected = Remove([gone]), len(labels)
        elif kind == "remove" or not waiting:
            continue
        else:
            ticket = waiting.pop(int(number * len(waiting)))
            if kind == "reward":
                event, expected = Reward(ticket, number), alone.reward(ticket, number)
            else:
                event, expected = Drop(ticket), alone.drop(ticket)
        before = state
        state, result = step(state, event)
        assert result == expected
        assert step(before, event) == (state, result)  # a pure function
        assert step.policy(state).arms == alone.arms == labels
        assert state.endswith(alone.to_bytes())
        changed += state.startswith(CHANGED)
    assert changed > 200


def test_a_state_whose_arms_are_as_they_were_is_that_of_the_policy() -> None:
    step, alone = Step(ARMS, memory=3, seed=5), handful.Race(ARMS, 3, seed=5)
    state, decision = step(None, Decide())
    assert decision == alone.decide()
    assert state == alone.to_bytes()
    state, _ = step(state, Add(["new"]))
    assert state.startswith(CHANGED)
    assert len(state) < len(alone.to_bytes()) + 30
    state, _ = step(state, Remove(["new"]))
    assert not state.startswith(CHANGED)
    assert handful.from_bytes(state, ARMS).n_arms == 12


def test_keys_decide_with_different_numbers() -> None:
    step = Step(1_000, memory=3, seed=5)
    arms = {key: step(None, Decide(key=key))[1].arm for key in range(50)}  # type: ignore[union-attr]
    assert len(set(arms.values())) > 40
    again = Step(1_000, memory=3, seed=5)
    assert arms == {key: again(None, Decide(key=key))[1].arm for key in range(50)}  # type: ignore[union-attr]
    assert step(None, Decide())[1] == handful.Race(1_000, 3, seed=5).decide()


def test_arms_without_end() -> None:
    step, alone = Step(str, memory=2, seed=1), handful.Race(str, 2, seed=1)
    state = None
    for _ in range(60):
        decision = alone.decide()
        state, result = step(state, Decide())
        assert result == decision
        state, receipt = step(state, Reward(decision.ticket, 0.0))
        assert receipt == alone.reward(decision.ticket, 0.0)
    one_by_one: list[Any] = [
        iter(ARMS), handful.Reservoir(iter(ARMS)), handful.PostedArms(ARMS),
        handful.Proposed(None, ARMS),
    ]  # fmt: skip
    for arms in one_by_one:
        with pytest.raises(SettingError, match="each arm only once"):
            Step(arms, memory=2)


def numbered(index: int) -> str:
    return f"offer {index}"


@pytest.mark.parametrize(
    "arms",
    [handful.FiniteArms(numbered, n=10**12), handful.FiniteArms(ARMS), handful.Reservoir(numbered)],
    ids=["a function", "a list", "endless"],
)
def test_arms_may_be_an_object_of_handful(arms: Any) -> None:
    step, alone = Step(arms, memory=2, seed=1), handful.Race(arms, 2, seed=1)
    state = None
    for _ in range(30):
        decision = alone.decide()
        state, result = step(state, Decide())
        assert result == decision
        alone.reward(decision.ticket, 0.0)
        state, _ = step(state, Reward(decision.ticket, 0.0))


@pytest.mark.parametrize("twin_of", [lambda step: pickle.loads(pickle.dumps(step)), copy.deepcopy])
def test_it_can_be_sent_to_workers(twin_of: Any) -> None:
    step = Step(ARMS, memory=3, seed=5)
    state, _ = step(None, Add(["new"]))
    state, _ = step(state, Decide())
    twin = twin_of(step)
    assert twin(state, Decide()) == step(state, Decide())


def test_only_labels_that_come_back_from_json_are_added() -> None:
    first: list[Any] = [("a", 1), ("b", 2), "c", 1]
    step = Step(first, memory=2, seed=5)
    state, _ = step(None, Decide())
    for label in (("d", 3), b"d", frozenset("d")):
        with pytest.raises(SettingError, match="strings and numbers only"):
            step(state, Add([label]))
    state, _ = step(state, Add(["d", 5, 0.5]))
    state, n_arms = step(state, Remove([("a", 1), 1]))
    assert n_arms == 5
    state, _ = step(state, Add([1.0]))  # which equals 1, and is another label
    state, _ = step(state, Decide())
    labels: list[Any] = step.policy(state).arms  # type: ignore[assignment]
    assert [*map(repr, labels)] == ["('b', 2)", "'c'", "'d'", "5", "0.5", "1.0"]


def test_a_state_of_a_release_goes_on_as_it_did() -> None:
    wanted = json.loads(write.NEXT.read_text(encoding="utf-8"))
    state, tickets = write.STATE.read_bytes(), wanted.pop("tickets")
    assert state.startswith(CHANGED)
    assert write.what_follows(state, tickets) == wanted
    assert len(write.saved()[0]) == len(state)


def test_messages_are_events() -> None:
    assert event_of({"type": "decide"}) == Decide()
    assert event_of({"type": "decide", "n": 2, "allowed": ["a"]}) == Decide(2, ["a"])
    assert event_of({"type": "reward", "ticket": 5, "reward": 0.5}) == Reward(5, 0.5)
    assert event_of({"type": "drop", "ticket": 5, "key": "x"}) == Drop(5, key="x")
    assert event_of({"type": "add", "arms": ["a"]}) == Add(["a"])
    assert event_of({"type": "remove", "arms": ["a"]}) == Remove(["a"])
    step = Step(ARMS, seed=5, memory=3)
    assert step(None, {"type": "decide"}) == step(None, Decide())
    with pytest.raises(SettingError, match="type 'decid': give one of decide, reward"):
        step(None, {"type": "decid"})
    with pytest.raises(SettingError, match="reward"):
        step(None, {"type": "reward", "ticket": 5})


def test_what_cannot_be_is_refused() -> None:
    step = Step(ARMS, memory=3, seed=5)
    state, decision = step(None, Decide())
    assert isinstance(decision, handful.Decision)
    kept = bytes(state)
    with pytest.raises(RewardError):
        step(state, Reward(decision.ticket, 2.0))
    with pytest.raises(SettingError):
        step(state, Add([ARMS[0]]))
    assert state == kept
    with pytest.raises(OtherArmsError):
        Step(ARMS[:-1], memory=3)(state, Decide())
    changed, _ = step(state, Add(["new"]))
    for damaged in (state[:-1], b"nonsense", CHANGED, changed[:12], changed[:-1]):
        with pytest.raises(StateError):
            step(damaged, Decide())
    for place in range(len(changed)):
        flipped = bytearray(changed)
        flipped[place] ^= 0x41
        with pytest.raises(HandfulError):
            step(bytes(flipped), Decide())
    with pytest.raises(SettingError, match="memory"):
        Step(ARMS, memory=0)
    with pytest.raises(SettingError, match="seed=None"):
        Step(ARMS, memory=3, seed=None)  # type: ignore[arg-type]
    for nothing in (None, "decide", 5, [{"type": "decide"}]):
        with pytest.raises(SettingError, match="is no event"):
            step(state, nothing)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="type"):
        step(state, {"type": ["decide"]})
    for key in (True, ["a"], b"a"):
        with pytest.raises(SettingError, match="key"):
            step(None, Decide(key=key))  # type: ignore[arg-type]
    with pytest.raises(StateError, match="a state is bytes"):
        step("state", Decide())  # type: ignore[arg-type]
    with pytest.raises(OtherArmsError, match="cannot change"):
        Step(12, memory=3, seed=5)(changed, Decide())


FORGED = (
    '[[0],["offer 1"]]', '[[0],"x"]', "[0,1]", "5", "[[],[{}]]", "[[[1]],[]]", '[[],{"a":1}]',
    "[" * 100_000, str([[*range(12)], []]),
)  # fmt: skip


@pytest.mark.parametrize("text", FORGED, ids=lambda text: text[:20])
def test_a_forged_state_is_refused(text: str) -> None:
    step = Step(ARMS, memory=3, seed=5)
    state, _ = step(None, Decide())
    forged = HEAD.pack(CHANGED, FORMAT, len(text)) + text.encode() + state
    with pytest.raises(StateError, match="cannot be read"):
        step(forged, Decide())
    with pytest.raises(NewerStateError, match="upgrade"):
        step(HEAD.pack(CHANGED, FORMAT + 1, len(text)) + text.encode() + state, Decide())


bytewax = pytest.mark.skipif(
    sys.version_info >= (3, 13), reason="Bytewax 0.21 has no wheel for Python 3.13 and newer"
)


def _stream() -> tuple[list[tuple[str, Event]], dict[str, list[Any]]]:
    """The events of three bandits, interleaved, and what the policy itself makes of them."""
    rng = random.Random(3)
    alone = {key: Step(ARMS, memory=3, seed=5) for key in ("u", "v", "w")}
    states: dict[str, bytes | None] = dict.fromkeys(alone)
    waiting: dict[str, list[int]] = {key: [] for key in alone}
    events: list[tuple[str, Event]] = []
    results: dict[str, list[Any]] = {key: [] for key in alone}
    for _ in range(200):
        key = rng.choice(sorted(alone))
        event: Event = Decide(key=key)
        if waiting[key] and rng.random() < 0.5:
            event = Reward(waiting[key].pop(0), rng.random(), key=key)
        states[key], result = alone[key](states[key], event)
        if isinstance(result, handful.Decision):
            waiting[key].append(result.ticket)
        events.append((key, event))
        results[key].append(result)
    return events, results


@bytewax
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_bytewax_runs_it_and_goes_on_from_its_snapshots(tmp_path: Path) -> None:
    op, testing, recovery = (
        import_module(f"bytewax.{name}") for name in ("operators", "testing", "recovery")
    )
    events, expected = _stream()
    halfway: list[Any] = [*events[:100], testing.TestingSource.ABORT(), *events[100:]]
    out: list[tuple[str, Any]] = []
    flow = import_module("bytewax.dataflow").Dataflow("bandits")
    stream = op.input("events", flow, testing.TestingSource(halfway))
    decided = op.stateful_map("decide", stream, Step(ARMS, memory=3, seed=5))
    op.output("out", decided, testing.TestingSink(out))

    recovery.init_db_dir(tmp_path, 1)
    snapshots = recovery.RecoveryConfig(str(tmp_path))
    testing.run_main(flow, epoch_interval=timedelta(0), recovery_config=snapshots)
    before = len(out)
    assert 0 < before < len(events)
    testing.run_main(
        flow, epoch_interval=timedelta(0), recovery_config=snapshots
    )  # after the crash
    # What came after the last snapshot is seen twice, with the same results.
    for key, results in expected.items():
        first = [result for k, result in out[:before] if k == key]
        second = [result for k, result in out[before:] if k == key]
        assert first == results[: len(first)]
        assert second == results[len(results) - len(second) :]
        assert len(first) + len(second) >= len(results)
