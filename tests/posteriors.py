"""Thompson sampling's probabilities by quadrature, its plain draws, and records to try them on."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
from scipy import stats

from handful.core.rng import stream
from handful.rules import THOMPSON, chooser
from tests.fit import LEVEL
from tests.rules.scoring import memory_of

Record = tuple[list[int], list[float]]


def random_record(index: int) -> Record:
    """Statistics such as a memory of 2 to 30 arms has: few pulls or many, close or far apart."""
    dice = random.Random(index)
    m = dice.choice([2, 2, 3, 5, 10, 30])
    centre, spread = dice.random(), 10 ** dice.uniform(-3, 0)
    pulls, sums = [], []
    for _ in range(m):
        n = int(10 ** dice.uniform(-0.3, 5))
        p = min(1.0, max(0.0, centre + spread * dice.uniform(-1, 1)))
        pulls.append(n)
        sums.append(float(sum(dice.random() < p for _ in range(n)) if n < 100 else round(n * p)))
    return pulls, sums


def win_probabilities(pulls: list[int], sums: list[float]) -> list[float]:
    """P(X_i > all others) by quadrature, in steps that no posterior is narrower than."""
    posteriors = [stats.beta(1 + s, 1 + n - s) for n, s in zip(pulls, sums, strict=True)]
    edges = sorted(
        {0.0, 1.0, *(float(p.ppf(x)) for p in posteriors for x in np.linspace(1e-6, 1 - 1e-6, 9))}
    )
    fine = np.unique(np.concatenate([np.linspace(a, b, 129) for a, b in pairwise(edges)]))
    cdfs = np.array([p.cdf(fine) for p in posteriors])
    probabilities = []
    for i, posterior in enumerate(posteriors):
        others = np.prod(np.delete(cdfs, i, axis=0), axis=0)
        probabilities.append(float(np.trapezoid(posterior.pdf(fine) * others, fine)))
    return probabilities


def python_choices(record: Record, draws: int) -> list[int]:
    """How often the rule, a plain draw for each arm, chooses each slot."""
    choose = chooser(THOMPSON)
    state = memory_of(*record, stream("choices", len(record[0]), sum(record[0])))
    wins = [0] * len(record[0])
    for _ in range(draws):
        wins[choose(state, 0, 0, 0.0)] += 1
    return wins


def wins_fit(counts: list[int], probabilities: list[float]) -> bool:
    """Chi-square, cells with less than 5 expected wins taken together."""
    total = sum(counts)
    assert abs(sum(probabilities) - 1) < 1e-4
    pairs = [
        (c, p * total / sum(probabilities)) for c, p in zip(counts, probabilities, strict=True)
    ]
    large = [(c, e) for c, e in pairs if e >= 5]
    rest = (sum(c for c, e in pairs if e < 5), sum(e for _, e in pairs if e < 5))
    if rest[1] >= 5:
        large.append(rest)
    elif rest[0] > 5 + 12:  # P(Poisson(5) > 17) < LEVEL
        return False
    if len(large) < 2:
        return True
    observed, expected = (np.array(column, dtype=float) for column in zip(*large, strict=True))
    return (
        float(stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue) > LEVEL
    )
