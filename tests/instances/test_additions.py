"""A distribution and an instance are added to a copy of the package, as CONTRIBUTING.md says.

Each edit below is one place that a newcomer touches: at most three for a distribution and three for
an instance. The copy then simulates them with the policy itself and with compiled kernels.
"""

from __future__ import annotations

import json

import pytest

from tests.additions import Edit, copy_with, run_in

pytestmark = pytest.mark.xdist_group("additions")

DISTRIBUTION = (
    Edit(
        "instances/distributions.py",
        "def draw(",
        '''TWO_POINT = _register(Distribution("two-point", default_spread=0.1, max_spread=0.5))


def _two_point(mean: float, spread: float, rng: Generator) -> float:
    """Draw mean - w or mean + w with probability 1/2 each, where w <= spread stays in [0, 1]."""
    w = min(spread, mean, 1.0 - mean)
    return mean + w if uniform(rng) < 0.5 else mean - w


''',
    ),
    Edit(
        "instances/distributions.py",
        "    if code == UNIFORM:",
        "    if code == TWO_POINT:\n        return _two_point(mean, spread, rng)\n",
    ),
)
INSTANCE = (
    Edit("instances/means.py", "TOP = 0.99", "STEP = 4\n"),
    Edit(
        "instances/means.py",
        "    if i == 0:",
        "    if kind == STEP:\n        return top if float(i) < alpha * float(K) else 0.5 * top\n",
    ),
    Edit(
        "instances/catalogue.py",
        "def _distribution(",
        """@_kind("step", "step:K:SHARE[:MU_STAR]", 2, 3)
def _step(spec: str, arguments: list[str]) -> Instance:
    n, share = _arms(spec, arguments[0]), _number(spec, arguments[1])
    if not 0.0 < share < 1.0:
        raise SettingError(f"instance {spec!r}: SHARE={share:g} must be between 0 and 1")
    top, scaled = _top(spec, arguments[2:])
    return Instance(f"step:{n}:{share!r}{scaled}", n, means.STEP, a=share, top=top)


""",
    ),
)

SCRIPT = """
import json, sys
import handful
from handful.errors import HandfulError
from handful.instances import instance

def refusal(spec):
    try:
        instance(spec)
    except HandfulError as error:
        return str(error)

world = instance("step:10:0.3+two-point:0.2")
regrets = {
    engine: handful.simulate(
        "ucb-m", world, memory=3, horizon=500, runs=3, seed=1, engine=engine
    ).regret.per_run.tolist()
    for engine in ("python", "compiled")
}
print(json.dumps({
    "file": handful.__file__,
    "name": instance("step:10:.3+two-point").name,
    "means": [world.mean(arm) for arm in range(10)],
    "best": world.best_mean,
    "refusals": [refusal("step:10:2"), refusal("step:10"), refusal("step:9:.1+two-point:0.9"),
                 refusal("stepp:10:.3"), refusal("linear:9+two_point")],
    "regrets": regrets,
}))
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    home = tmp_path_factory.mktemp("added")
    copy = copy_with((*DISTRIBUTION, *INSTANCE), home)
    printed: dict[str, object] = json.loads(run_in(home, "-c", SCRIPT))
    assert printed["file"] == str(copy / "__init__.py")
    return printed


def test_each_takes_at_most_three_edits() -> None:
    assert len(DISTRIBUTION) <= 3
    assert len(INSTANCE) <= 3


def test_their_names_are_read(report: dict[str, object]) -> None:
    assert report["name"] == "step:10:0.3+two-point:0.1"
    assert report["means"] == [0.99] * 3 + [0.495] * 7
    assert report["best"] == 0.99


def test_their_wrong_names_are_refused(report: dict[str, object]) -> None:
    assert report["refusals"] == [
        "instance 'step:10:2': SHARE=2 must be between 0 and 1",
        "instance 'step:10' is not of the form step:K:SHARE[:MU_STAR]",
        "instance 'step:9:.1+two-point:0.9': two-point:0.9 must be at least 0.001 and at most 0.5",
        "there is no instance 'stepp': did you mean step?",
        "there is no reward distribution 'two_point': did you mean two-point?",
    ]


def test_the_compiled_engine_runs_them_to_the_same_numbers(report: dict[str, object]) -> None:
    regrets = report["regrets"]
    assert isinstance(regrets, dict)
    assert regrets["python"] == regrets["compiled"]
    assert min(regrets["python"]) > 0.0
