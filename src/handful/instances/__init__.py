"""Instances: simulated worlds, by name.

    linear:K            K means from 0.99 down to 0.01             the paper's B_L:K
    power:K:ALPHA       means that fall like (i/K)^ALPHA           the paper's B_ALPHA:K
    bernoulli:P,P,...   the means as listed
    beta:A:B:MU_STAR    endless arms, means MU_STAR x Beta(A, B)   the paper's I1, I2, I3, I4

`linear:K:MU_STAR` and `power:K:ALPHA:MU_STAR` are scaled so that the first mean is MU_STAR. After a
plus comes a reward distribution other than Bernoulli: `linear:100+beta`, `+uniform`, `+constant`,
`+truncnorm:0.1`.

`data:FILE?arm=COLUMN&reward=COLUMN` resamples the rewards in a file, and `from_data` those in a
frame: see `data.py`.

Kinds of instances are registered in `catalogue.py`, reward distributions in `distributions.py`.
"""

from __future__ import annotations

from handful.instances.base import Instance
from handful.instances.catalogue import instance
from handful.instances.data import from_data

__all__ = ["Instance", "from_data", "instance"]
