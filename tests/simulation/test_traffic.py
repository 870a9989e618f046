"""Late and lost rewards and drifting means: definitions, and the two engines to the same bits."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from handful.core.rng import uniform
from handful.core.shuffle import arm_at
from handful.core.slots import admit, credit
from handful.core.state import Floats, Int, State
from handful.core.tickets import Receipt
from handful.errors import RuleError, SettingError
from handful.instances.drift import change, change_time
from handful.instances.traffic import Traffic
from handful.policies import Policy
from handful.policies.race import Race
from handful.simulation import (
    Result,
    compare,
    compiled,
    engines,
    plan,
    read_parquet,
    simulate,
    write_csv,
    write_parquet,
)
from handful.simulation.kernels.block import Block
from handful.simulation.kinds import IN_TRAFFIC, PHASES, RECORDS, kind_for
from handful.simulation.outcome import Outcome, joined
from handful.simulation.plan import Cell
from handful.simulation.reference import simulate_run
from handful.simulation.seeds import delay_stream, drift_stream
from tests.helpers import refused
from tests.simulation.agree import assert_engines_agree, assert_same


class Peeks(State):
    """How many arms have come, and the true mean of those in memory."""

    tried: Int
    true_mean: Floats


class Peeking(Policy):
    """A policy of one's own that is given the true means: pulls an arm until its mean is low."""

    name = "peeking"
    any_arms = True
    clairvoyant = True
    State = Peeks

    @staticmethod
    def start(state: Peeks, p: Any) -> None:
        admit(state, 0, 0 if p.endless else arm_at(0, p.K, state.key))

    @staticmethod
    def propose(state: Peeks, p: Any) -> int:
        slot = state.tried % min(p.M, p.K)
        low = state.true_mean[slot] < 0.6 and state.pulls[slot] > 2
        if low or state.pulls[slot] > 40:
            state.tried += 1
            slot = state.tried % min(p.M, p.K)
            place = state.tried % p.K
            arm = place if p.endless else arm_at(place, p.K, state.key)
            taken = False
            for other in range(state.held):
                taken = taken or (state.arm[other] == arm and other != slot)
            if not taken:
                admit(state, slot, arm)
        return slot if slot < state.held else 0

    @staticmethod
    def observe(state: Peeks, slot: int, reward: float, p: Any) -> None:
        credit(state, slot, reward * state.true_mean[slot])


FLOWS: list[dict[str, Any]] = [
    {"delay": 1},
    {"delay": 23},
    {"delay": "geometric:12", "lost": 0.2},
    {"delay": "batch:50"},
    {"lost": 0.5},
    {"delay": 3, "clicks_only": 40},
    {"delay": "geometric:30", "clicks_only": 20, "lost": 0.1},
]
DRIFTS: list[dict[str, Any]] = [
    {"drift": "falls"},
    {"drift": "rises:0.995", "delay": 7},
    {"drift": "swap:5", "delay": "batch:20", "lost": 0.1},
    {"drift": "walk:0.1"},
]
POLICIES: list[tuple[str | type[Policy], str]] = [
    ("race", "linear:9"),
    ("ucb-m", "linear:9"),
    ("ts-m", "linear:9"),
    ("k-failure", "I4"),
    (Peeking, "linear:9"),
]
"""Of each kind; k-failure, with one arm in hand, is for endless arms only."""


def planned(policy: str | type[Policy], world: str, T: int = 1500, **given: Any) -> Cell:
    memory = None if policy == "k-failure" else 3
    given = {"runs": 2, "seed": 5, **given}
    return plan.cell(policy, world, memory, T, **given)


# The engines.


@pytest.mark.parametrize(("policy", "world"), POLICIES)
def test_the_engines_make_the_same_choices(policy: str | type[Policy], world: str) -> None:
    endless = world == "I4"
    seen = set()
    for index, given in enumerate(FLOWS if endless else FLOWS + DRIFTS):
        for rewards in ("", "+truncnorm:0.2"):
            cell = planned(policy, world + rewards, tape=index % 2 == 0, **given)
            assert engines.choose(cell, "auto") == "compiled"
            assert kind_for(cell) is IN_TRAFFIC
            seen.add(assert_engines_agree(cell).regret.tobytes())
    # With clicks only, a click counts when its window ends, however late it comes within it.
    different = 2 * (len(FLOWS) if endless else len(FLOWS + DRIFTS))
    assert different - 1 <= len(seen) <= different


def test_race_with_room_for_all_arms_is_imed_in_traffic_too() -> None:
    cell = plan.cell("race", "linear:4", 4, 800, runs=2, delay=20)
    assert engines.as_run(cell).policy is not Race
    assert engines.as_run(cell).id == cell.id
    assert_engines_agree(cell)


def test_the_choices_change_with_the_traffic() -> None:
    kwargs: dict[str, Any] = {"memory": 3, "horizon": 2000, "runs": 20, "engine": "compiled"}
    late, plain = (simulate("race", "linear:9", delay=delay, **kwargs) for delay in (50, 0))
    assert late.regret.mean > 2 * plain.regret.mean


@pytest.mark.parametrize("tape", [False, True])
@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_no_delay_is_no_traffic(engine: str, tape: bool) -> None:
    """With a delay of 0, also by the code for traffic, the choices are those without it."""
    plain = planned("race", "linear:9", tape=tape)
    assert planned("race", "linear:9", tape=tape, delay=0, lost=0.0) == plain
    at_once = replace(plain, traffic=Traffic(), known_as=plain.id)
    assert kind_for(at_once) is IN_TRAFFIC
    assert_same(run(at_once, engine), run(plain, "python"))


def run(cell: Cell, engine: str) -> Outcome:
    grid = plan.log_grid(cell.horizon)
    if engine == "compiled":
        return compiled.simulate_runs(cell, grid, n_jobs=1)
    return joined([simulate_run(cell, number, grid) for number in cell.run_numbers])


@pytest.mark.parametrize("engine", ["python", "compiled"])
@pytest.mark.parametrize("tape", [False, True])
def test_ranges_of_runs_together_are_the_whole(engine: str, tape: bool) -> None:
    kwargs: dict[str, Any] = {
        "memory": 3, "horizon": 700, "engine": engine, "tape": tape, "delay": "geometric:9",
        "lost": 0.1, "drift": "swap:4",
    }  # fmt: skip
    whole = simulate("race", "linear:9", runs=7, **kwargs).curve.per_run
    parts = [
        simulate("race", "linear:9", runs=part, **kwargs).curve.per_run
        for part in (range(0, 1), range(1, 5), range(5, 7))
    ]
    assert np.concatenate(parts).tobytes() == whole.tobytes()
    assert len(set(whole[:, -1].tolist())) == 7


def test_an_interrupted_run_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = planned("race", "linear:9", T=10**9, runs=1, delay=20)

    def interrupt(pulls: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compiled.simulate_runs(cell, plan.log_grid(10**9), 1, interrupt)


# The order of delivery, by the definition, with plain lists.


class Watched(Race):
    """Race that records its decisions, and which rewards it was given after which."""

    name = "race"  # a subclass in tests only: cells know it as race
    log: ClassVar[list[Any]]

    def decide(self, n: Any = None, allowed: Any = None) -> Any:
        decision = super().decide()
        self.log.append(("decision", decision.arm, decision.ticket))
        return decision

    def reward(self, ticket: int, reward: float) -> Receipt:
        self.log.append(("reward", ticket, reward))
        return super().reward(ticket, reward)


def watched(cell: Cell, number: int = 0) -> list[Any]:
    """What happened in a run of the python engine, in order."""
    log: list[Any] = []
    policy = type("Watched", (Watched,), {"log": log})
    simulate_run(replace(cell, policy=policy, known_as=cell.id), number, [cell.horizon])
    return log


def delays_by_definition(cell: Cell, rewards: list[float]) -> list[int | None]:
    """The delay of each decision from 1 on; None if its reward is lost."""
    given = cell.traffic.settings if cell.traffic else {}
    rng = delay_stream(cell.seed, cell.id, 0, cell.tape)
    kind, _, number = str(given.get("delay", "0")).rpartition(":")
    delays: list[int | None] = []
    for t in range(1, cell.horizon + 1):
        lost = "lost" in given and uniform(rng) < float(given["lost"])
        if kind == "geometric":
            # At least k with probability q^k.
            u, q, delay = uniform(rng) + 2.0**-53, float(number) / (float(number) + 1.0), 0
            while u <= q ** (delay + 1):
                delay += 1
        elif kind == "batch":
            delay = next(d for d in range(int(number)) if (t + d) % int(number) == 0)
        else:
            delay = int(number)
        silent = "clicks_only" in given and rewards[t - 1] == 0.0
        delays.append(None if lost or silent else delay)
    return delays


@pytest.mark.parametrize("given", FLOWS)
def test_rewards_are_delivered_by_the_definition(given: dict[str, Any]) -> None:
    cell = planned("race", "linear:9+uniform", T=400, runs=1, **given)
    if "clicks_only" in given:
        cell = planned("race", "linear:9", T=400, runs=1, **given)
    log = watched(cell)
    tickets = [event[2] for event in log if event[0] == "decision"]
    assert len(tickets) == len(set(tickets)) == 400
    value = {event[1]: event[2] for event in log if event[0] == "reward"}
    if "clicks_only" in given:
        assert set(value.values()) == {1.0}
    # A reward that was never delivered is not known; then it was lost or came too late, or was 0.
    rewards = [value.get(ticket, 1.0) for ticket in tickets]
    delays = delays_by_definition(cell, rewards)
    expected = []
    for t in range(1, 401):
        expected.append(("decision", tickets[t - 1]))
        for d in range(1, t + 1):  # in the order of the decisions
            delay = delays[d - 1]
            if delay is not None and d + delay == t:
                expected.append(("reward", tickets[d - 1]))
    got = [(e[0], e[2] if e[0] == "decision" else e[1]) for e in log]
    if "clicks_only" in given:
        unknown = {ticket for ticket in tickets if ticket not in value}
        expected = [e for e in expected if e[0] == "decision" or e[1] not in unknown]
    assert got == expected
    assert len([e for e in got if e[0] == "reward"]) > 150


def test_on_a_tape_delays_and_losses_are_those_of_all_policies() -> None:
    def lost(policy: str, tape: bool) -> list[int]:
        cell = planned(policy, "linear:9", T=300, tape=tape, delay="geometric:3", lost=0.3)
        rng = delay_stream(cell.seed, cell.id, 0, cell.tape)
        return [int(uniform(rng) < 0.3) for _ in range(300)]

    assert lost("race", True) == lost("ucb-m", True)
    assert lost("race", False) != lost("ucb-m", False)


def test_a_policy_is_given_the_window_and_no_zeros() -> None:
    """With clicks at once, every decision is answered in the end: by a click, or by 0."""
    cell = planned("race", "linear:9", T=400, runs=1, clicks_only=30)
    policies: list[Policy] = []
    log: list[Any] = []

    class Kept(Watched):
        def __init__(self, *given: Any, **settings: Any) -> None:
            super().__init__(*given, **settings)
            policies.append(self)

    Kept.log = log
    simulate_run(replace(cell, policy=Kept, known_as=cell.id), 0, [400])
    (policy,) = policies
    assert (policy._window, policy._default) == (30, 0.0)
    stats = policy.stats()
    clicks = sum(event[0] == "reward" for event in log)
    assert clicks > 50
    assert stats.lost == 0
    assert stats.rewards > clicks
    assert stats.rewards + stats.forgotten + sum(arm.in_flight for arm in stats) <= 400


@pytest.mark.parametrize(("delay", "expired"), [("geometric:100", True), (20, False)])
def test_clicks_after_the_window_have_expired(delay: str | int, expired: bool) -> None:
    cell = planned("race", "linear:9", T=400, runs=1, delay=delay, clicks_only=20)
    became: list[Receipt] = []

    class Kept(Watched):
        def reward(self, ticket: int, reward: float) -> Receipt:
            became.append(super().reward(ticket, reward))
            return became[-1]

    Kept.log = []
    simulate_run(replace(cell, policy=Kept, known_as=cell.id), 0, [400])
    assert Receipt.CREDITED in became
    assert (Receipt.EXPIRED in became) is expired


# Regret against the best mean of the moment.


def means_by_definition(cell: Cell) -> list[list[float]]:
    """The means at each decision."""
    assert cell.traffic is not None
    assert cell.traffic.drift is not None
    drift, world = cell.traffic.drift, cell.instance
    means = [world.mean(arm) for arm in range(world.n_arms)]
    low, high = min(means), max(means)
    rng = drift_stream(cell.seed, cell.id, 0, cell.tape)
    times = [change_time(drift.kind, drift.number, cell.horizon, k) for k in range(1, 100)]
    found = []
    for t in range(cell.horizon):
        for _ in range(times.count(t)):
            change(drift.kind, drift.number, low, high, means, rng)
        found.append(list(means))
    return found


@pytest.mark.parametrize("drift", ["falls", "rises:0.995", "swap:5", "walk:0.1"])
def test_regret_is_exact_and_against_the_best_mean_of_the_moment(drift: str) -> None:
    cell = planned("race", "linear:9", T=1234, runs=1, drift=drift, delay=2)
    arms = [event[1] for event in watched(cell) if event[0] == "decision"]
    means = means_by_definition(cell)
    total = Fraction(0)
    regret = []
    for arm, now in zip(arms, means, strict=True):
        total += Fraction(max(now) - now[arm])
        regret.append(float(total))
    grid = plan.log_grid(1234)
    expected = [regret[t - 1] for t in grid]
    for engine in ("python", "compiled"):
        assert run(cell, engine).regret[0].tolist() == expected
    assert means[0] != means[-1]
    pulls = run(cell, "compiled").pulls
    assert pulls is not None
    assert pulls[0].tolist() == np.bincount(arms, minlength=9).tolist()


# Plans and results.


def test_the_id_of_a_cell_has_its_traffic_only_when_given() -> None:
    plain = planned("race", "linear:9")
    assert plain.id == "race watch=1.0 every=0.0 M=3 linear:9"
    assert set(plain.how_run()) == {"horizon", "runs", "first_run", "seed", "tape", "record"}
    busy = planned(
        "race", "linear:9", delay="geometric:200", lost=0.2, drift="swap:5", clicks_only=300
    )
    suffix = "delay=geometric:200 lost=0.2 clicks_only=300 drift=swap:5"
    assert busy.id == f"{plain.id} {suffix}"
    assert busy.how_run()["delay"] == "geometric:200"


def test_engines_that_cannot_are_refused() -> None:
    cell = planned("race", "linear:9", delay=20)
    with refused(SettingError, ValueError, "delay=20", "pull by pull"):
        engines.choose(cell, "skip")
    recorded = planned("race", "linear:9", delay=20, record=True)
    assert engines.choose(recorded, "auto") == "python"
    with refused(SettingError, ValueError, "engine='python'"):
        engines.choose(recorded, "compiled")
    plain = planned("ucb-m", "linear:9")
    assert kind_for(plain) is PHASES
    assert kind_for(planned("race", "linear:9")) is RECORDS


def test_stays_are_recorded_in_traffic() -> None:
    for policy in ("race", "ucb-m"):
        result = simulate(policy, "linear:9", memory=2, horizon=600, runs=1, delay=30, record=True)
        assert result.settings["engine"] == "python"
        assert result.stays is not None
        assert int(result.stays[0].pulls.sum()) == 600


def small(policy: str = "random", **given: Any) -> Result:
    memory = None if policy == "random" else 2
    return simulate(
        policy, "linear:4", memory=memory, horizon=40, runs=2, engine="python", tape=True, **given
    )


def test_results_know_their_traffic(tmp_path: Path) -> None:
    busy, plain = small(delay=3, lost=0.25, drift="swap:2"), small()
    words = "delay=3 lost=0.25 drift=swap:2"
    assert (busy.traffic, plain.traffic) == (words, "")
    assert busy.world == f"linear:4 {words}"
    assert words in repr(busy)
    assert words in busy._repr_html_()
    assert busy.to_dict()["drift"] == "swap:2"
    assert "traffic" not in plain.to_polars().columns
    assert set(busy.to_polars()["traffic"]) == {words}
    write_parquet([plain, busy], tmp_path / "x.parquet")
    again = read_parquet(tmp_path / "x.parquet")
    assert [result.settings for result in again] == [plain.settings, busy.settings]
    write_csv([plain, busy], tmp_path / "x.csv")
    lines = (tmp_path / "x.csv").read_text().splitlines()
    assert "traffic" in lines[0].split(",")
    assert len({line.count(",") for line in lines}) == 1
    write_csv([plain], tmp_path / "y.csv")
    assert "traffic" not in (tmp_path / "y.csv").read_text()


def test_quantile_regret_is_not_for_drift() -> None:
    with refused(SettingError, ValueError, "drift=falls"):
        small(drift="falls").quantile_regret(0.5)


def test_only_runs_in_the_same_traffic_are_compared() -> None:
    late = small(delay=3)
    for other in (small(), small(delay=4)):
        with refused(SettingError, ValueError, "differ in their delay"):
            compare(late, other)
    with refused(SettingError, ValueError, "differ in their drift"):
        compare(small(drift="falls"), small(drift="swap:2"))
    same = compare(late, small("ucb-m", delay=3))
    assert same.to_dict()["delay"] == "3"
    found = compare(
        "random", "random", "linear:4", horizon=40, runs=3, engine="python", delay=2, lost=0.1
    )
    assert found.difference.per_run.tolist() == [0.0] * 3
    assert "delay=2 lost=0.1" in repr(found)


# A wrong policy, by the kernel's source as Python runs it.


class Lost(Policy):
    """Proposes a slot that is not in use, after some decisions."""

    name = "lost"

    @staticmethod
    def start(state: State, p: Any) -> None:
        admit(state, 0, 0)

    @staticmethod
    def propose(state: State, p: Any) -> int:
        return 0 if state.clock < 5 else 1


def test_a_wrong_slot_is_refused_in_every_engine() -> None:
    cell = planned(Lost, "linear:9", T=50, runs=1, delay=2)
    with pytest.raises(RuleError, match="after 5 decisions"):
        simulate_run(cell, 0, [50])
    kernel: Any = IN_TRAFFIC.kernel(cell, IN_TRAFFIC.build(cell, skipping=False))
    batch = compiled._batch(cell, [50], range(1))
    with np.errstate(over="ignore"), pytest.raises(RuleError, match="after 5 decisions"):
        IN_TRAFFIC.start(cell, kernel.py_func, 1)(Block(0, 1, 1), batch)


def test_the_first_pulls_are_checked_with_rewards_that_arrive_in_time() -> None:
    busy = Traffic(delay=10**5, clicks_only=10**6)
    short = busy.shortened(300)
    assert (short.delay, short.clicks_only) == (75, 75)
    assert math.isclose(Traffic(delay=3).shortened(300).delay, 3)
