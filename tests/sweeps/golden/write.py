"""Write the golden files of results: `python -m tests.sweeps.golden.write`.

`sweep-1` is the folder of a sweep, with its manifest and its partitions; `result-1.parquet` is what
`to_parquet` writes, with the stays of arms in memory. `results.json` has the numbers that are in
them. They are written once for each version of a format and never again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import handful
from handful.simulation import Result
from handful.simulation.result_files import write_parquet

FOLDER = Path(__file__).parent
SWEEP = FOLDER / "sweep-1"
RESULT = FOLDER / "result-1.parquet"
NUMBERS = FOLDER / "results.json"
SPEC = """
runs = 6
horizon = 200
seed = 3

[[grid]]
policy = ["ucb-m", "race:watch=0"]
memory = 2
instance = "linear:7"
engine = "python"

[[grid]]
policy = "race"
memory = 3
instance = "beta:0.5:2.0:1.0"
engine = "python"
delay = "geometric:5"
lost = 0.1
"""


def numbers(result: Result) -> dict[str, Any]:
    """Return what a later version must find in a result."""
    stays = [
        {name: array.tolist() for name, array in vars(stay).items()} for stay in result.stays or []
    ]
    settings = result.settings
    return {
        "label": result.label,
        "cell": {key: settings[key] for key in ("id", "policy", "memory", "instance", "horizon")},
        "version": settings["version"],
        "t": result.curve.t.tolist(),
        "regret": result.curve.per_run.tolist(),
        "pulls": None if result.pulls is None else result.pulls.tolist(),
        "stays": stays,
    }


def main() -> None:
    """Write the files that are not there."""
    found: dict[str, Any] = json.loads(NUMBERS.read_text()) if NUMBERS.exists() else {}
    if not SWEEP.exists():
        spec = FOLDER / "spec.toml"
        spec.write_text(SPEC)
        handful.sweep(str(spec), out=str(SWEEP))
        spec.unlink()
        for left in [*SWEEP.glob("*.owner"), *SWEEP.glob("sweep*lock")]:
            left.unlink()
        found["sweep-1"] = [numbers(result) for result in handful.read_sweep(SWEEP).results]
    if not RESULT.exists():
        settings: dict[str, Any] = {"horizon": 150, "runs": 3, "engine": "python", "record": True}
        results = [
            handful.simulate("race", "linear:5", memory=2, **settings),
            handful.simulate("ucb-m", "linear:5", memory=3, delay=4, **settings),
        ]
        write_parquet(results, RESULT)
        found["result-1"] = [numbers(result) for result in results]
    NUMBERS.write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
