"""Thompson sampling by tables, while arms have few pulls: tables, choices."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import betainc

from handful.compiling.jit import family, kernel
from handful.core.rng import stream
from handful.simulation.kernels import few_pulls, posteriors
from handful.simulation.kernels.block import PULLS, Luck, Memory, Scratch, Space, space
from handful.simulation.kernels.few_pulls import CELLS, LONGEST
from handful.simulation.kernels.lanes import WIDTH
from tests.fit import LEVEL, follows
from tests.posteriors import Record, win_probabilities, wins_fit
from tests.simulation.agree import TRIALS
from tests.simulation.test_thompson import exact_h, exact_probability


def room_for(m: int, lanes: int, seed: int) -> tuple[Space, Luck]:
    room = space(m, lanes)
    for lane in range(lanes):
        for words, name in ((room.choices, "choices"), (room.rewards, "rewards")):
            words[lane], words[lanes + lane] = stream(name, seed, lane)
    return room, Luck(room.choices, room.rewards, room.tape, False, TRIALS)


# Two arms.


def records() -> list[tuple[int, int, int, int]]:
    """Failures and successes of two arms, fewer than 8 in all."""
    few = range(PULLS)
    return [
        (f0, s0, f1, s1)
        for f0 in few for s0 in few for f1 in few for s1 in few
        if f0 + s0 + f1 + s1 < PULLS
    ]  # fmt: skip


def test_the_probability_of_the_second_arm_for_every_record() -> None:
    assert len(records()) == 330
    assert (np.asarray(few_pulls.probability_table()) > 0).sum() == 330
    for f0, s0, f1, s1 in records():
        exact = exact_probability(1 + s1, 1 + f1, 1 + s0, 1 + f0)
        stored = few_pulls.probability_table()[f0 + 8 * s0 + 64 * f1 + 512 * s1]
        assert stored == pytest.approx(float(exact), rel=1e-13)


@pytest.mark.parametrize("shapes", [(1, 1, 1, 1), (8, 1, 1, 8), (3, 5, 2, 4), (1, 9, 7, 2)])
def test_the_height_of_small_shapes(shapes: tuple[int, int, int, int]) -> None:
    assert posteriors.height(*shapes) == pytest.approx(float(exact_h(*shapes)), rel=1e-14)


def pulls_of_second(mu0: float, mu1: float) -> list[float]:
    """The probabilities of 0, ..., 8 pulls of the second arm, record by record."""
    now: dict[tuple[int, int, int, int], float] = {(0, 0, 0, 0): 1.0}
    for _ in range(PULLS):
        later: dict[tuple[int, int, int, int], float] = defaultdict(float)
        for (f0, s0, f1, s1), weight in now.items():
            q = float(exact_probability(1 + s1, 1 + f1, 1 + s0, 1 + f0))
            later[f0, s0 + 1, f1, s1] += weight * (1 - q) * mu0
            later[f0 + 1, s0, f1, s1] += weight * (1 - q) * (1 - mu0)
            later[f0, s0, f1, s1 + 1] += weight * q * mu1
            later[f0, s0, f1 + 1, s1] += weight * q * (1 - mu1)
        now = later
    probabilities = [0.0] * (PULLS + 1)
    for (_, _, f1, s1), weight in now.items():
        probabilities[f1 + s1] += weight
    return probabilities


def count_duels(
    reps: int, memory: Memory, luck: Luck, scratch: Scratch, probabilities: Any, counts: Any
) -> None:
    for _ in range(reps):
        few_pulls.short_duel(WIDTH, memory, luck, scratch.best, scratch.uniforms, probabilities)
        for lane in range(WIDTH):
            counts[memory.n[WIDTH + lane]] += 1


quick_duels = kernel(count_duels, family("test", "short_duels", count_duels))
MEANS = [(0.5, 0.5), (0.9, 0.2), (0.3, 0.7), (0.0, 1.0), (1.0, 1.0), (0.01, 0.0)]


def short_duels(mu0: float, mu1: float, wrong: float = 1.0) -> list[int]:
    room, luck = room_for(2, WIDTH, 1)
    room.memory.mus[:WIDTH] = mu0
    room.memory.mus[WIDTH:] = mu1
    counts = np.zeros(PULLS + 1, dtype=np.int64)
    probabilities = wrong * np.asarray(few_pulls.probability_table())
    quick_duels(20_000, room.memory, luck, room.scratch, probabilities, counts)
    pulls = np.asarray(room.memory.n)
    assert (pulls[:WIDTH] + pulls[WIDTH:] == PULLS).all()
    return [int(count) for count in counts]


@pytest.mark.parametrize(("mu0", "mu1"), MEANS)
def test_a_sub_phase_of_eight_pulls_has_the_distribution_of_its_records(
    mu0: float, mu1: float
) -> None:
    assert wins_fit(short_duels(mu0, mu1), pulls_of_second(mu0, mu1))


def test_probabilities_that_are_one_percent_off_would_be_seen() -> None:
    assert not wins_fit(short_duels(0.5, 0.5, wrong=1.01), pulls_of_second(0.5, 0.5))


# More arms.


def edges_of(n: int, s: int) -> np.ndarray[Any, Any]:
    rows = np.asarray(few_pulls.cell_table()).reshape(-1, CELLS + 1)
    edges: np.ndarray[Any, Any] = rows[n * (n + 1) // 2 + s]
    return edges


def test_cells_have_equal_probabilities() -> None:
    for n in range(LONGEST + 1):
        for s in range(n + 1):
            probabilities = np.diff(betainc(1 + s, 1 + n - s, edges_of(n, s)))
            assert np.abs(CELLS * probabilities - 1.0).max() < 1e-11


SHAPES = [(0, 0), (1, 0), (1, 1), (6, 2), (40, 0), (40, 40), (60, 30), (95, 1), (95, 94)]


@pytest.mark.parametrize(("n", "s"), SHAPES)
def test_draws_within_cells_are_draws_of_the_posterior(n: int, s: int) -> None:
    distribution = stats.beta(1 + s, 1 + n - s)
    edges = edges_of(n, s)
    rng: Any = stream("within", n, s)
    for cell in (0, 1, CELLS // 2, CELLS - 2, CELLS - 1):
        low, high = edges[cell], edges[cell + 1]
        sample = [few_pulls.draw_within(n, float(s), low, high, rng) for _ in range(2000)]
        assert low <= min(sample)
        assert max(sample) <= high
        # Where in its cell, by mass: uniform.
        assert follows(
            [CELLS * float(distribution.cdf(x)) - cell for x in sample], stats.uniform.cdf
        )


def small_record(index: int) -> Record:
    """Few pulls each, of 2 to 30 arms, fewer than a word is for or more."""
    dice = random.Random(index)
    m = dice.choice([2, 3, 5, 10, 11, 30])
    most = dice.choice([3, 20, LONGEST])
    pulls = [dice.randint(0, most) for _ in range(m)]
    probabilities = [dice.random() for _ in range(m)]
    sums = [
        float(sum(dice.random() < p for _ in range(n)))
        for n, p in zip(pulls, probabilities, strict=True)
    ]
    return pulls, sums


def count_picks(
    picks: int, m: int, n: Any, s: Any, memory: Memory, luck: Luck, rows: Any, cells: Any,
    wins: Any,
) -> None:  # fmt: skip
    for _ in range(picks):
        for i in range(m):
            memory.n[i] = n[i]
            memory.s[i] = s[i]
        few_pulls.pull_by_cells(1, 0, m, memory, luck, rows, cells)
        for i in range(m):
            if memory.n[i] > n[i]:
                wins[i] += 1


quick_count = kernel(count_picks, family("test", "picks_by_cells", count_picks))


def picked(record: Record, picks: int, count: Any, cells: Any = None) -> list[int]:
    pulls, sums = record
    cells = few_pulls.cell_table() if cells is None else cells
    m = len(pulls)
    room, luck = room_for(m, 1, sum(pulls))
    room.memory.mus[:] = 0.5
    wins = np.zeros(m, dtype=np.int64)
    with np.errstate(over="ignore"):
        count(
            picks, m, np.array(pulls), np.array(sums), room.memory, luck, room.scratch.slots,
            cells, wins,
        )  # fmt: skip
    return [int(w) for w in wins]


@pytest.mark.parametrize("index", range(40))
def test_an_arm_is_pulled_with_the_probability_that_its_draw_is_the_highest(index: int) -> None:
    record = small_record(index)
    assert wins_fit(picked(record, 200_000, quick_count), win_probabilities(*record)), record


def play(
    plays: int, until: int, m: int, memory: Memory, luck: Luck, rows: Any, cells: Any, out: Any
) -> None:
    for k in range(plays):
        for i in range(m):
            memory.n[i] = 0
            memory.s[i] = 0.0
        out[k, 2 * m] = few_pulls.pull_by_cells(until, 0, m, memory, luck, rows, cells)
        for i in range(m):
            out[k, i] = memory.n[i]
            out[k, m + i] = memory.s[i]


quick_play = kernel(play, family("test", "play_by_cells", play))


def played(mus: list[float], until: int, plays: int) -> np.ndarray[Any, Any]:
    """Pulls and successes of each arm after so many pulls, and the number of those, by cells."""
    m = len(mus)
    room, luck = room_for(m, 1, until)
    np.asarray(room.memory.mus)[:] = mus
    out = np.zeros((plays, 2 * m + 1))
    rows, cells = room.scratch.slots, few_pulls.cell_table()
    quick_play(plays, until, m, room.memory, luck, rows, cells, out)
    return out


@pytest.mark.parametrize(
    ("mus", "until"), [([0.2, 0.5, 0.8], 60), ([0.5] * 11, 90), ([0.05, 0.0, 1.0, 0.9], 40)]
)
def test_many_pulls_have_the_distribution_of_plain_draws(mus: list[float], until: int) -> None:
    plays, m = 4000, len(mus)
    ours = played(mus, until, plays)
    assert (ours[:, 2 * m] == until).all()
    plain = np.random.default_rng(until)
    n, s = np.zeros((plays, m), dtype=np.int64), np.zeros((plays, m), dtype=np.int64)
    every = np.arange(plays)
    for _ in range(until):
        best = plain.beta(1 + s, 1 + n - s).argmax(axis=1)
        n[every, best] += 1
        s[every, best] += plain.random(plays) < np.array(mus)[best]
    for i in range(m):
        assert stats.ks_2samp(ours[:, i], n[:, i]).pvalue > LEVEL
        assert stats.ks_2samp(ours[:, m + i], s[:, i]).pvalue > LEVEL


def test_it_stops_when_an_arm_has_had_too_many_pulls() -> None:
    ours = played([0.9, 0.1, 0.1], 10 * LONGEST, 200)
    assert (ours[:, :3].max(axis=1) == LONGEST + 1).all()
    assert (ours[:, 6] == ours[:, :3].sum(axis=1)).all()


CLOSE: Record = ([40, 30, 20], [24.0, 17.0, 10.0])


def test_the_same_in_python() -> None:
    assert wins_fit(picked(CLOSE, 10_000, count_picks), win_probabilities(*CLOSE))


def test_cells_of_other_records_would_be_seen() -> None:
    n, s = (np.array(column, dtype=np.float64) for column in np.tril_indices(LONGEST + 1))
    of_one_failure_more = posteriors.quantiles(n + 1.0, s, CELLS).ravel()
    assert not wins_fit(
        picked(CLOSE, 10_000, count_picks, of_one_failure_more), win_probabilities(*CLOSE)
    )


def test_draws_that_ignore_their_cells_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    record: Record = ([60] * 5 + [2] * 5, [59.0] * 5 + [1.0] * 5)
    right = win_probabilities(*record)
    assert wins_fit(picked(record, 10_000, count_picks), right)
    monkeypatch.setattr(few_pulls, "draw_within", lambda n, s, low, high, rng: high)
    assert not wins_fit(picked(record, 10_000, count_picks), right)
