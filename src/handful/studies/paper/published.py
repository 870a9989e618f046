"""The paper's printed numbers: its Tables 1 and 2.

Regret / 10^5 after 10^6 pulls on I1, I2, I3, I4: mean and one standard error of 20 runs.

Roy Chaudhuri and Kalyanakrishnan, "Regret minimisation in multi-armed bandits using bounded arm
memory", AAAI 2020 (arXiv 1901.08387). They are used for comparison only. The paper's figures are
printed without numbers.
"""

from __future__ import annotations

UNIT = 1e5
INSTANCES = ("I1", "I2", "I3", "I4")

Numbers = tuple[tuple[float, float], ...]
"""(mean, standard error) on each of `INSTANCES`."""

_EXISTING: dict[tuple[str, int], Numbers] = {
    ("Non-stationary policy", 1): ((3.58, 0.4), (1.11, 0.2), (1.64, 0.2), (0.79, 0.1)),
    ("sqrt(T)-run", 2): ((6.18, 0.5), (1.11, 0.4), (4.18, 0.3), (2.03, 0.3)),
    ("sqrt(T) ln T-learning", 2): ((6.32, 0.4), (0.69, 0.3), (4.38, 0.2), (2.15, 0.3)),
    ("Non-recalling sqrt(T)-run", 1): ((5.35, 0.5), (0.03, 0.004), (4.56, 0.001), (2.55, 0.001)),
}

TABLE_1: dict[tuple[str, int], Numbers] = {
    **_EXISTING,
    ("QUCB-M", 2): ((1.84, 0.17), (0.41, 0.02), (1.29, 0.10), (0.49, 0.02)),
    ("QUCB-M", 10): ((1.98, 0.16), (0.59, 0.02), (1.49, 0.09), (0.63, 0.01)),
    ("QUCB-M (eta=0.2)", 2): ((2.00, 0.20), (0.32, 0.05), (1.41, 0.10), (0.69, 0.04)),
    ("QUCB-M (eta=0.2)", 10): ((1.71, 0.16), (0.16, 0.02), (1.16, 0.09), (0.30, 0.02)),
    ("QTS-M", 2): ((1.77, 0.17), (0.32, 0.04), (1.23, 0.09), (0.40, 0.02)),
    ("QTS-M", 10): ((1.91, 0.16), (0.18, 0.03), (1.14, 0.10), (0.30, 0.02)),
    ("QMoss-M", 2): ((1.74, 0.17), (0.31, 0.02), (1.20, 0.10), (0.39, 0.02)),
    ("QMoss-M", 10): ((1.69, 0.15), (0.25, 0.02), (1.13, 0.09), (0.30, 0.010)),
}
"""alpha = 0.347"""

TABLE_2: dict[tuple[str, int], Numbers] = {
    **_EXISTING,
    ("QUCB-M", 2): ((3.69, 0.34), (0.74, 0.11), (2.27, 0.21), (0.51, 0.07)),
    ("QUCB-M", 10): ((4.26, 0.37), (0.91, 0.19), (2.65, 0.22), (0.63, 0.11)),
    ("QUCB-M (eta=0.2)", 2): ((3.67, 0.35), (0.72, 0.12), (2.21, 0.21), (0.55, 0.08)),
    ("QUCB-M (eta=0.2)", 10): ((4.15, 0.36), (0.79, 0.19), (2.51, 0.22), (0.54, 0.11)),
    ("QTS-M", 2): ((3.14, 0.39), (0.62, 0.07), (1.97, 0.19), (0.44, 0.07)),
    ("QTS-M", 10): ((3.88, 0.35), (0.67, 0.13), (2.49, 0.23), (0.45, 0.06)),
    ("QMoss-M", 2): ((3.64, 0.34), (0.70, 0.11), (2.21, 0.21), (0.46, 0.07)),
    ("QMoss-M", 10): ((4.16, 0.36), (0.80, 0.19), (2.53, 0.22), (0.52, 0.11)),
}
"""alpha = 0.205"""
