"""Who takes turns how often, which lines of growth end, which goals follow; nothing is timed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from benchmarks import suites
from benchmarks.contest import OURS, Contestant, Job, Row, contest
from benchmarks.goals import judged
from benchmarks.suites import (
    BY_HORIZON,
    LINEAR,
    PEERS,
    POWER,
    QUICK,
    TEXTBOOK,
    Bench,
    C,
    Sizes,
    contests,
    growth,
    textbook,
)

JOB = Job(TEXTBOOK, "ucb-m", LINEAR, 2, 1000)
MILLION = 10**6


def contestant(
    seconds: Callable[[int], float], log: list[str], by: str = OURS, job: Job = JOB, runs: int = 2
) -> Contestant:
    def turn(number: int) -> tuple[float, str]:
        log.append(by)
        return seconds(number), "somehow"

    return Contestant(job, by, runs, turn)


def test_contestants_take_turns_and_the_best_counts() -> None:
    log: list[str] = []
    a = contestant(lambda n: [3.0, 1.0, 2.0][n], log, "a")
    b = contestant(lambda n: 0.5, log, "b")
    rows = contest([a, b], rounds=3, enough=100.0)
    assert log == ["a", "b"] * 3
    assert [row.seconds for row in rows] == [1.0, 0.5]
    assert rows[0].pulls == 2000
    assert rows[0].ns_per_pull == pytest.approx(1e9 / 2000)


def test_one_that_has_had_its_time_gets_no_more_turns() -> None:
    log: list[str] = []
    slow, fast = contestant(lambda n: 9.0, log, "slow"), contestant(lambda n: 0.1, log, "fast")
    rows = contest([slow, fast], rounds=3, enough=1.0)
    assert log == ["slow", "fast", "fast", "fast"]
    assert [row.turns for row in rows] == [1, 3]


@pytest.fixture
def no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every turn of handful takes a microsecond for a thousand pulls and arms in memory."""

    def ours(job: Job, runs: int) -> Contestant:
        seconds = 1e-9 * job.horizon * runs * job.memory
        return contestant(lambda n: seconds, [], job=job, runs=runs)

    monkeypatch.setattr(suites, "ours", ours)
    monkeypatch.setattr(suites, "theirs", lambda job, runs, by, *_: replace(ours(job, runs), by=by))


@pytest.mark.usefixtures("no_clock")
def test_a_line_ends_where_the_next_point_would_take_too_long() -> None:
    bench = Bench(replace(Sizes(), patience=5.0), lambda done, text: None)
    growth(bench)
    reached = [row.job.horizon for row in bench.rows if row.job.group == BY_HORIZON]
    # ucb1: 32 runs x 100 arms x 1 ns: 3.2 s at 10^6, 32 s at 10^7.
    assert reached == [10**4, 10**5, 10**6, 10**4, 10**5, 10**6, 10**7]
    said = [line for line in bench.left_out if "ucb1" in line]
    assert len(said) == 1
    assert "T = 1e+07 and more" in said[0]
    assert "32 s (--patience 5)" in said[0]


@pytest.mark.usefixtures("no_clock")
@pytest.mark.parametrize("sizes", [Sizes(), QUICK])
def test_a_progress_bar_ends_where_the_work_ends(sizes: Sizes) -> None:
    seen: list[float] = []
    bench = Bench(sizes, lambda done, text: seen.append(done))
    textbook(bench)
    growth(bench)
    assert bench.done == contests(["textbook", "growth"], sizes)
    assert seen == sorted(seen)


def test_a_longest_horizon_cuts_the_growth() -> None:
    assert Sizes().up_to(10**6).horizons == (10**4, 10**5, 10**6)
    assert Sizes().up_to(500).horizons == (500,)


def row(by: str, ns: float, group: str, policy: str, world: str, memory: int, T: int) -> Row:
    job = Job(group, policy, world, memory, T)
    return Row(job, by, "", 1, 1, 1e-9 * ns * T, T)


def test_goals_follow_from_rows_of_their_sizes() -> None:
    rows = [
        row(OURS, 2.0, TEXTBOOK, "ucb-m", LINEAR, 2, MILLION),
        row(C, 11.0, TEXTBOOK, "ucb-m", LINEAR, 2, MILLION),
        row(OURS, 9.0, TEXTBOOK, "ts-m", LINEAR, 2, MILLION),
        row(OURS, 10.0, BY_HORIZON, "ucb1", POWER, 100, MILLION),
        row(OURS, 0.1, BY_HORIZON, "ucb1", POWER, 100, 10**9),
        row(OURS, 1.0, PEERS, "ucb1", "linear:10", 10, MILLION),
        row("slow", 9000.0, PEERS, "ucb1", "linear:10", 10, 10**5),
        row("fast", 700.0, PEERS, "ucb1", "linear:10", 10, MILLION),
        replace(row("fast", 9.0, PEERS, "ucb1", "linear:10", 10, MILLION), documented=False),
    ]
    goals = {goal.line: goal for goal in judged(rows)}
    assert {line: (round(goal.measured, 6), goal.met) for line, goal in goals.items()} == {
        "UCB-M, linear:100, M = 2, against the C loop": (5.5, True),
        "time of ts-m to that of UCB-M, M = 2": (4.5, False),
        "time of UCB1, power:100:0.3, T = 10^9 to that of 10^6": (10.0, True),
        "UCB1, K = 10, against the fastest peer's loop or runner": (700.0, True),
    }
    small = [replace(r, job=replace(r.job, horizon=10**4)) for r in rows[:5]]
    assert judged(small) == []
