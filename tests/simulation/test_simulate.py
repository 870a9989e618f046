from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import handful
from handful.errors import EngineError, HandfulError, SettingError
from handful.policies import POLICIES
from handful.rules import Moment, Rule
from handful.rules.base import Score
from handful.simulation import cell, simulate
from handful.simulation.seeds import policy_seed


@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_progress_never_falls_and_ends_at_the_total(engine: str) -> None:
    seen: list[int] = []
    simulate("ucb-m", "linear:20", memory=3, horizon=500, runs=4, engine=engine, n_jobs=2,
             progress=seen.append)  # fmt: skip
    assert seen == sorted(seen)
    assert seen[-1] == 2000


def test_the_python_engine_gives_the_same_numbers_in_processes() -> None:
    one, two = (
        simulate("ts-m", "linear:20+beta", memory=3, horizon=400, runs=3, engine="python",
                 n_jobs=n)
        for n in (1, 2)
    )  # fmt: skip
    assert one.curve.per_run.tolist() == two.curve.per_run.tolist()


def test_a_run_can_be_replayed_by_hand_with_its_seed() -> None:
    recorded = simulate("ucb-m", "bernoulli:1.0,0.0,0.0,0.0", memory=2, horizon=300, runs=2,
                        seed=5)  # fmt: skip
    planned = cell("ucb-m", recorded.settings["instance"], 2, 300)
    policy = handful.UCBM(4, 2, seed=policy_seed(5, planned.id, 1))
    regret = 0.0
    for _ in range(300):
        arm = policy.select()
        policy.update(arm, 1.0 if arm == 0 else 0.0)
        regret += arm != 0
    assert regret == recorded.regret.per_run[1]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"memory": 1}, "memory=1"),
        ({"memory": 2.0}, "memory=2.0"),
        ({"horizon": 0}, "horizon=0"),
        ({"horizon": 1.5}, "horizon=1.5"),
        ({"horizon": float("nan")}, "horizon=nan"),
        ({"runs": 0}, "runs=0"),
        ({"seed": 1.0}, "seed=1.0"),
        ({"engine": "fast"}, "no engine 'fast'"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"policy": "ucbm"}, "did you mean ucb-m"),
        ({"policy": handful.UCBM(3, 2)}, "not a policy"),
        ({"policy": int}, "subclass of Policy"),
        ({"instance": "linear"}, "linear:K"),
        ({"instance": 5}, "not a name"),
        ({"eta": -1.0}, "eta >= 0"),
        ({"gamma": 1.0}, "no ucb-m setting 'gamma'"),
    ],
)
def test_bad_input_is_refused_before_any_work(change: dict[str, object], said: str) -> None:
    arguments: dict[str, object] = {
        "policy": "ucb-m", "instance": "linear:9", "memory": 2, "horizon": 10, "runs": 1, **change
    }  # fmt: skip
    with pytest.raises(SettingError, match=said) as caught:
        simulate(**arguments)  # type: ignore[arg-type]
    assert isinstance(caught.value, HandfulError)
    assert isinstance(caught.value, ValueError)


def test_the_compiled_engine_says_what_it_cannot_run() -> None:
    class Changed(handful.UCBM):
        name = "changed"

        def select(self) -> int:
            return int(super().select())

    with pytest.raises(SettingError, match="engine='python'"):
        simulate(Changed, "linear:9", memory=2, horizon=10, runs=1, engine="compiled")
    assert simulate(Changed, "linear:9", memory=2, horizon=10, runs=1).settings["engine"] == (
        "python"
    )


def _wraps(n: int, s: float, now: Moment) -> float:
    return float((n + now.t) * 2**62 % 1000003)  # Python's integers do not overflow, a kernel's do


def _cannot_be_compiled(n: int, s: float, now: Moment) -> float:
    return float(str(n))


@pytest.mark.parametrize(
    ("score", "said"),
    [(_wraps, "does not make the choices"), (_cannot_be_compiled, "cannot be compiled")],
)
def test_a_rule_that_kernels_cannot_follow_is_caught(score: Score, said: str) -> None:
    class Odd(handful.PhasedPolicy):
        name, title = "odd-m", "Odd-M"
        rule = Rule("odd", score)

    with pytest.raises(EngineError, match=said):
        simulate(Odd, "linear:9", memory=2, horizon=100, runs=1)
    assert simulate(Odd, "linear:9", memory=2, horizon=100, runs=1, engine="python").regret.mean > 0


def test_a_wrong_kernel_is_caught_when_it_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    from handful.simulation.kernels import phased

    right = phased.phased_kernel

    def swapped(rule: object, *flags: bool) -> Callable[..., None]:
        return right(POLICIES["ucb-m"].rule, *flags)  # type: ignore[attr-defined]

    monkeypatch.setattr(phased, "phased_kernel", swapped)
    with pytest.raises(EngineError, match="does not make the choices"):
        simulate("moss-m", "linear:9", memory=2, horizon=100, runs=1)


def test_kernels_compiled_in_two_processes_stay_apart_in_a_third(tmp_path: Path) -> None:
    code = (
        "import sys, handful\n"
        "for policy in sys.argv[1:]:\n"
        "    r = handful.simulate(policy, 'linear:10', memory=2, horizon=5000, runs=2)\n"
        "    print(r.regret.per_run.tolist())\n"
    )
    env = {"HANDFUL_CACHE_DIR": str(tmp_path), "PATH": "", "HOME": str(tmp_path)}

    def start(*policies: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", code, *policies], env=env, text=True, stdout=subprocess.PIPE
        )

    cold = [start("ucb-m"), start("moss-m")]
    first = [process.communicate()[0] for process in cold]
    third = start("moss-m", "ucb-m").communicate()[0]
    assert third == first[1] + first[0]
    assert first[0] != first[1]
    slow = [
        simulate(p, "linear:10", memory=2, horizon=5000, runs=2, engine="python")
        for p in ("ucb-m", "moss-m")
    ]
    assert first == [f"{r.regret.per_run.tolist()}\n" for r in slow]
