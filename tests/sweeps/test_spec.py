"""A spec gives the cells of its grids, or an error with all of its mistakes."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from handful.errors import SettingError
from handful.simulation.plan import cell
from handful.sweeps.part import Part
from handful.sweeps.spec import read_spec

GRID: dict[str, Any] = {"policy": "ucb-m", "memory": 2, "instance": "linear:9", "horizon": 500}

TEXT = """
runs = 20
horizon = [1e3, 2_000]

[[grid]]
policy = ["ucb-m:eta=0.2", "race", "ucb"]
memory = [2, 5]
instance = ["linear:9", "power:9:0.3"]

[[grid]]
policy = "race"
memory = 3
instance = "linear:9"
horizon = 1e4
runs = 7
seed = [0, 1]
engine = "python"
tape = true
delay = ["none", 10, "geometric:5"]
lost = 0.1
churn = 1e3
"""


def test_the_cells_are_the_products_of_the_grids(tmp_path: Path) -> None:
    path = tmp_path / "spec.toml"
    path.write_text(TEXT)
    first = [
        Part.whole(cell(policy, world, memory, horizon, 20))
        for policy, memories in (("ucb-m:eta=0.2", (2, 5)), ("race", (2, 5)), ("ucb", (None,)))
        for memory, world, horizon in product(memories, ("linear:9", "power:9:0.3"), (1000, 2000))
    ]
    second = [
        Part.whole(
            cell("race", "linear:9", 3, 10_000, 7, seed, True, delay=delay, lost=0.1, churn=1000),
            "python",
        )
        for seed, delay in product((0, 1), (None, 10, "geometric:5"))
    ]
    spec = read_spec(path)
    assert [part.key for part in spec.cells] == [part.key for part in [*first, *second]]
    assert [part.cell.runs for part in spec.cells] == [20] * 20 + [7] * 6
    assert spec.text == TEXT


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"policy": "ucb-x"}, "grid 1, policy: there is no policy 'ucb-x': did you mean"),
        ({"policy": ["race", "ucb-m:eta=-1"]}, "grid 1, policy: eta=-1.0 is not allowed"),
        ({"policy": 3}, "grid 1, policy: 3 is not the name of one: give a string"),
        ({"instance": "linear"}, "grid 1, instance: "),
        ({"memory": 0}, "grid 1, memory: memory=0"),
        ({"memory": "two"}, "grid 1, memory: "),
        ({"horizon": 0}, "grid 1, horizon: horizon=0: give at least 1"),
        ({"horizon": 1.5}, "grid 1, horizon: horizon=1.5 is not an integer"),
        ({"runs": [1, 2]}, "grid 1, runs: give one value"),
        ({"runs": 0}, "grid 1, runs: runs=0"),
        ({"seed": "a"}, "grid 1, seed: seed='a' is not an integer"),
        ({"engine": "fast"}, "grid 1, engine: there is no engine 'fast'"),
        ({"tape": 1}, "grid 1, tape: 1 is neither true nor false"),
        ({"delay": "soon"}, "grid 1, delay: delay='soon': give "),
        ({"lost": 2}, "grid 1, lost: "),
        ({"drift": "up"}, "grid 1, drift: "),
        ({"churn": 0}, "grid 1, churn: churn=0"),
        ({"memory": []}, "grid 1, memory: the list is empty"),
        ({"memories": [2]}, "grid 1, memories: there is no such key: did you mean memory?"),
        ({"polcy": "race"}, "grid 1, polcy: there is no such key: did you mean policy?"),
        ({"zzz": 1}, "grid 1, zzz: there is no such key: known: policy, memory"),
        ({"eta": 0.2}, 'grid 1, eta: write a setting into the name of its policy, such as policy = '
         '"ucb-m:eta=0.2"'),
        ({"policy": "qucb-m"}, "grid 1, qucb-m on linear:9: qucb-m is for endless arms"),
        ({"policy": "ucb"}, "grid 1, memory: every policy of the grid has a memory of its own"),
        ({"churn": 500}, "grid 1, ucb-m on linear:9: churn=500: there are only 500 decisions"),
        ({"engine": "skip", "tape": True}, "grid 1, ucb-m on linear:9: the skipping engine cannot"),
        ({"policy": ["ucb-m", "UCB-M"]}, "is twice in grid 1: leave one of them out"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_table_and_key(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError) as caught:
        read_spec({"grid": [{**GRID, **changes}]})
    assert str(caught.value).startswith("the spec: ")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({}, "grid: give one or more tables [[grid]]"),
        ({"grid": {}}, "grid: give one or more tables [[grid]]"),
        ({"grid": [GRID], "grids": 1}, "at the top, grids: there is no such key: did you mean"),
        ({"grid": [{"policy": "ucb"}]}, "grid 1: instance is missing: give it here, or above"),
        ({"grid": [{**GRID, "memory": 2}, GRID]}, "is in grid 1, too: leave one of them out"),
        (
            {"grid": [{key: GRID[key] for key in GRID if key != "memory"}]},
            "grid 1: ucb-m needs memory: how many arms may have statistics?",
        ),
    ],
)
def test_a_spec_that_lacks_something_is_refused(spec: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError) as caught:
        read_spec(spec)
    assert said in str(caught.value)


def test_all_mistakes_are_named_at_once() -> None:
    spec = {
        "sed": 1,
        "grid": [
            {**GRID, "policy": ["ucb-x", "race"], "horizon": -1, "horizn": 2},
            {**GRID, "instance": "linear:0"},
        ],
    }
    with pytest.raises(SettingError) as caught:
        read_spec(spec)
    head, *lines = str(caught.value).splitlines()
    assert head == "the spec: 5 mistakes"
    assert [line.split(": ")[0].strip() for line in lines] == [
        "at the top, sed", "grid 1, policy", "grid 1, horizon", "grid 1, horizn",
        "grid 2, instance",
    ]  # fmt: skip


def test_a_file_that_is_no_spec_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    with pytest.raises(SettingError, match="cannot be read: No such file"):
        read_spec(path)
    path.write_text("runs = [")
    with pytest.raises(SettingError, match=r"x.toml is not TOML: Invalid value \(at"):
        read_spec(path)
    path.write_bytes(b"runs = '\xff'")
    with pytest.raises(SettingError, match="is not TOML"):
        read_spec(path)
