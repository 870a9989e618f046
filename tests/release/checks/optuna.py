"""A study in memory and one in SQLite, which another sampler goes on with."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import optuna

from handful.adapters.optuna import HandfulSampler

SPACE: dict[str, Any] = {
    "x": [1, 2, 3],
    "rate": optuna.distributions.FloatDistribution(0.1, 1.0, step=0.1),
}


def objective(trial: optuna.Trial) -> float:
    """Return a value that depends on both parameters."""
    x = trial.suggest_categorical("x", [1, 2, 3])
    return trial.suggest_float("rate", 0.1, 1.0, step=0.1) * x / 3


def main() -> None:
    """Check this environment."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        for storage in (None, f"sqlite:///{Path(folder, 'study.db').as_posix()}"):
            study = optuna.create_study(
                study_name="study", storage=storage, direction="maximize",
                sampler=HandfulSampler(SPACE, memory=3, seed=1),
            )  # fmt: skip
            study.optimize(objective, n_trials=10)
            study.sampler = HandfulSampler(SPACE, memory=3, seed=1)
            study.optimize(objective, n_trials=5)
            assert study.sampler.bandit(study).pulls == 15
            study._storage.remove_session()
    print("two studies of 15 trials")


if __name__ == "__main__":
    main()
