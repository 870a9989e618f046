from __future__ import annotations

import math

import pytest

from handful.core.divergence import kl
from handful.rules import KL_UCB
from tests.rules.scoring import score


def test_the_score_is_the_upper_end_at_ln_t_over_n() -> None:
    u = score(KL_UCB, 10, 4.0, t=100)
    assert 10 * kl(0.4, u) == pytest.approx(math.log(100), rel=1e-9)
    assert u > 0.4
