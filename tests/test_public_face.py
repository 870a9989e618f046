from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import handful

SOURCE = Path(handful.__file__).parent.parent

PUBLIC = [
    "MOSSM",
    "POLICIES",
    "QMOSSM",
    "QTSM",
    "QUCBM",
    "TSM",
    "UCBM",
    "ArmStats",
    "Comparison",
    "Decision",
    "Evaluation",
    "FiniteArms",
    "Fleet",
    "HandfulError",
    "Log",
    "Moment",
    "PhasedPolicy",
    "Policy",
    "PooledPolicy",
    "PostedArms",
    "Proposed",
    "Race",
    "Receipt",
    "Replay",
    "Reservoir",
    "Result",
    "Rule",
    "ShardedFleet",
    "State",
    "Sweep",
    "__version__",
    "compare",
    "evaluate",
    "from_bytes",
    "from_data",
    "policy",
    "read_log",
    "read_sweep",
    "replay",
    "simulate",
    "sweep",
]


def python(code: str, *flags: str) -> list[str]:
    """The words that a new process prints."""
    run = subprocess.run(
        [sys.executable, *flags, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(SOURCE)},
    )
    return run.stdout.split()


def test_the_public_names_are_these() -> None:
    assert handful.__all__ == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(handful, name) is not None


def test_everything_can_be_imported_by_its_name() -> None:
    names: dict[str, Any] = {}
    exec("from handful import *", names)
    assert set(PUBLIC) <= set(names)


def test_simulate_is_a_function_every_time_that_it_is_asked_for() -> None:
    code = (
        "import handful\n"
        "print(callable(handful.simulate), callable(handful.simulate))\n"
        "import handful.simulation.plan\n"
        "from handful import simulate\n"
        "print(callable(handful.simulate), callable(simulate))"
    )
    assert python(code) == ["True"] * 4


def test_replay_is_a_function_even_if_its_package_is_imported() -> None:
    code = (
        "import handful.evaluation.replaying\n"
        "from handful import replay\n"
        "print(callable(handful.replay), callable(replay))"
    )
    assert python(code) == ["True"] * 2


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="wibble"):
        handful.__getattr__("wibble")


def test_importing_handful_loads_no_third_party_package_and_no_simulator() -> None:
    code = (
        "import sys\n"
        "before = set(sys.modules)\n"
        "import handful\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(*sorted(new - set(sys.stdlib_module_names)))\n"
        "print(*sorted(n for n in sys.modules if n.startswith('handful.simulation')))"
    )
    assert python(code) == ["handful"]


def test_the_whole_online_path_works_where_no_package_is_installed() -> None:
    # -S: no site-packages at all.
    code = (
        "import handful\n"
        "for name, cls in handful.POLICIES.items():\n"
        "    arms = str if cls.endless else ['a', 'b', 'c'][: cls.own_arms]\n"
        "    memory = None if cls.own_memory or cls.unbounded else 2\n"
        "    plan = {'horizon': 99} if 'horizon' in cls.settings else {}\n"
        "    p = handful.policy(name, arms=arms, memory=memory, seed=1, **plan)\n"
        "    p.reveal(lambda arm: 0.5)\n"
        "    for _ in range(50): p.update(p.select(), 0.5)\n"
        "    open = [p.decide().ticket for _ in range(9)]\n"
        "    for ticket in reversed(open): p.reward(ticket, 0.5)\n"
        "    p = handful.from_bytes(p.clone().to_bytes(), arms=arms)\n"
        "    p.recommend(), repr(p), p._repr_html_(), p.stats().to_dicts(), p.reset()\n"
        "    print(name)"
    )
    assert python(code, "-S") == list(handful.POLICIES)


def test_the_version_is_that_of_the_installed_package() -> None:
    assert handful.__version__ == version("handful")


def test_the_package_says_that_it_is_typed() -> None:
    assert files("handful").joinpath("py.typed").is_file()


def test_every_public_thing_has_a_docstring() -> None:
    for name in PUBLIC:
        thing = getattr(handful, name)
        if callable(thing):
            assert thing.__doc__, name


def test_policies_are_known_by_their_own_names() -> None:
    assert set(handful.POLICIES) >= {"ucb-m", "ts-m", "moss-m"}
    assert all(cls.name == name for name, cls in handful.POLICIES.items())
