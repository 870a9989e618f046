"""Sweeps in this process and in executors: equal, resumed, and no failure stops the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import current_thread
from typing import Any

import pytest

import handful
from handful.errors import ClusterError, SettingError, StoreInUseError, SweepError, WriteError
from handful.simulation import Cell, Result, run_cell, simulate
from handful.sweeps import running, task
from handful.sweeps.calibration import estimate
from handful.sweeps.folder import owned
from handful.sweeps.part import Part
from handful.sweeps.running import Plan, plan
from handful.sweeps.store import Store
from tests.sweeps.small import bits, part

SPEC: dict[str, Any] = {
    "runs": 12,
    "horizon": 60,
    "engine": "python",
    "grid": [
        {"policy": ["ucb-m", "race"], "memory": [2, 3], "instance": "linear:7"},
        {"policy": "race", "memory": 2, "instance": "linear:7", "delay": 5, "record": False},
    ],
}
FAILING: dict[str, Any] = {
    **SPEC,
    "grid": [{"policy": "tests.sweeps.own_policies:Failing", "memory": 2, "instance": "linear:7"},
             *SPEC["grid"]],
}  # fmt: skip


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut cells of 12 runs of 60 pulls into parts of 3 runs."""
    monkeypatch.setattr(running, "AT_ONCE", 3.5 * part(runs=1).work)
    monkeypatch.setattr(running, "_SHARES", 1)
    monkeypatch.setattr(running, "_SHORTEST", 0.0)


def single() -> list[dict[str, Any]]:
    """What single calls of `simulate` give."""
    cells = [("ucb-m", 2, 0), ("ucb-m", 3, 0), ("race", 2, 0), ("race", 3, 0), ("race", 2, 5)]
    return [
        bits(simulate(name, "linear:7", memory=m, horizon=60, runs=12, engine="python", delay=late))
        for name, m, late in cells
    ]


def alone() -> Executor | None:
    return None


MAKERS: dict[str, Callable[[], Executor | None]] = {
    "here": alone,
    "threads": lambda: ThreadPoolExecutor(2),
    "processes": lambda: ProcessPoolExecutor(2),
}


@contextmanager
def made(kind: str) -> Iterator[Executor | None]:
    executor = MAKERS[kind]()
    try:
        yield executor
    finally:
        if executor is not None:
            executor.shutdown()


@pytest.mark.parametrize("kind", MAKERS)
def test_whatever_runs_a_sweep_it_is_what_single_calls_give(tmp_path: Path, kind: str) -> None:
    done: list[float] = []
    with made(kind) as executor:
        found = handful.sweep(
            SPEC, out=tmp_path, executor=executor, n_jobs=2,
            progress=lambda share, what: done.append(share),
        )  # fmt: skip
    assert [bits(result) for result in found.results] == single()
    assert [bits(result) for result in handful.read_sweep(tmp_path)] == single()
    assert done == sorted(done)
    assert done[-1] == pytest.approx(1.0)
    assert len(list((tmp_path / "cells").glob("*.parquet"))) == (20 if kind != "here" else 10)


def test_finished_ranges_are_never_run_again_unless_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    def counted(planned: Cell, **options: Any) -> Result:
        ran.append(f"{planned.id} {planned.run_numbers}")
        return run_cell(planned, **options)

    monkeypatch.setattr(running, "run_cell", counted)
    handful.sweep(SPEC, out=tmp_path, n_jobs=1)
    assert len(ran) == len(set(ran)) == 20
    handful.sweep(SPEC, out=tmp_path)
    assert len(ran) == 20
    more = {**SPEC, "runs": 14}
    found = handful.sweep(more, out=tmp_path)
    assert all(line.endswith("range(12, 14)") for line in ran[20:])
    assert len(ran) == 25
    assert [len(result.regret.per_run) for result in found] == [14] * 5
    handful.sweep(more, out=tmp_path, n_jobs=1, fresh=True)
    assert len(ran) == 25 + 25


@pytest.mark.parametrize("stopped", [0, 1, 13])
def test_a_stopped_sweep_is_resumed_by_whatever_runs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stopped: int
) -> None:
    ran = 0

    def interrupted(planned: Cell, **options: Any) -> Result:
        nonlocal ran
        ran += 1
        if ran > stopped:
            raise KeyboardInterrupt
        return run_cell(planned, **options)

    with monkeypatch.context() as patched:
        patched.setattr(running, "run_cell", interrupted)
        with pytest.raises(KeyboardInterrupt):
            handful.sweep(SPEC, out=tmp_path, n_jobs=1)
    assert len(list((tmp_path / "cells").glob("*.parquet"))) == stopped
    with pytest.raises(SettingError, match=r"cells are not finished, such as"):
        handful.read_sweep(tmp_path).results
    with ThreadPoolExecutor(2) as executor:
        found = handful.sweep(SPEC, out=tmp_path, executor=executor)
    assert [bits(result) for result in found.results] == single()


def test_a_warning_says_if_results_could_not_be_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(result: Result, path: Path) -> None:
        raise WriteError(f"{path.name} cannot be written: No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Result, "to_parquet", full)
        with pytest.warns(RuntimeWarning, match="not all saved: .*No space left") as warned:
            found = handful.sweep(SPEC, out=tmp_path)
    assert warned[0].filename == __file__
    assert [bits(result) for result in found] == single()
    assert handful.sweep(SPEC, out=tmp_path).results


@pytest.mark.parametrize("kind", MAKERS)
def test_a_cell_that_fails_is_named_and_stops_no_other(tmp_path: Path, kind: str) -> None:
    with made(kind) as executor, pytest.raises(SweepError) as caught:
        handful.sweep(FAILING, out=tmp_path, executor=executor)
    head, line = str(caught.value).splitlines()
    assert head == "1 of 6 cells failed:"
    assert line.startswith("  failing eta=1.0 M=2 linear:7 T=60 python, runs ")
    assert line.endswith("UnpicklableError: no 1 and no 2")
    assert [bits(result) for result in handful.read_sweep(tmp_path)] == single()


class Lost(Executor):
    """Runs some tasks at once; then it is lost, and cancels all others."""

    def __init__(self, tasks: int) -> None:
        self.tasks = tasks

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.tasks -= 1
        if self.tasks >= 0:
            future.set_result(fn(*args, **kwargs))
        else:
            future.cancel()
            future.set_running_or_notify_cancel()
        return future


def test_a_lost_executor_is_an_error_and_what_came_back_is_saved(tmp_path: Path) -> None:
    for tasks in (7, 2):
        with pytest.raises(ClusterError, match="was lost"):
            handful.sweep(SPEC, out=tmp_path, executor=Lost(tasks), n_jobs=2)
    assert len(list((tmp_path / "cells").glob("*.parquet"))) == 9
    found = handful.sweep(SPEC, out=tmp_path, executor=Lost(11), n_jobs=2)
    assert [bits(result) for result in found.results] == single()


def test_a_process_that_dies_is_a_lost_executor(tmp_path: Path) -> None:
    with ProcessPoolExecutor(1) as executor:
        executor.submit(int).result()
        for process in executor._processes.values():
            process.kill()
        with pytest.raises(ClusterError):
            handful.sweep(SPEC, out=tmp_path, executor=executor)
    assert [bits(result) for result in handful.sweep(SPEC, out=tmp_path)] == single()


def test_an_executor_that_takes_no_task_is_an_error(tmp_path: Path) -> None:
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    with pytest.raises(ClusterError, match="the executor accepts no task: RuntimeError: cannot"):
        handful.sweep(SPEC, out=tmp_path, executor=executor)
    wrong: Any = "tcp://127.0.0.1:8786"
    with pytest.raises(SettingError, match=r"is not a concurrent\.futures\.Executor"):
        handful.sweep(SPEC, out=tmp_path, executor=wrong)


def test_a_worker_with_other_sources_runs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task, "checked_sources", lambda policy: current_thread().name)
    with (
        ThreadPoolExecutor(1) as executor,
        pytest.raises(ClusterError, match=r"has other sources of .*: install the same on all"),
    ):
        handful.sweep(SPEC, out=tmp_path, executor=executor)
    assert not list((tmp_path / "cells").iterdir())


def test_one_process_at_a_time_writes_to_a_folder(tmp_path: Path) -> None:
    (tmp_path / "cells").mkdir()
    left = tmp_path / "cells" / "x.parquet.123.part"
    left.write_bytes(b"half")
    with owned(tmp_path):
        assert not left.exists(), "what a crash left is deleted"
        with pytest.raises(StoreInUseError, match="another process runs a sweep in"):
            handful.sweep(SPEC, out=tmp_path)
    handful.sweep(SPEC, out=tmp_path)


def test_a_folder_without_a_sweep_or_with_a_damaged_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"is not the folder of a sweep: it has no manifest"):
        handful.read_sweep(tmp_path)
    for text in ("{", "[]", '{"format": 1, "cells": [{}]}'):
        (tmp_path / "manifest.json").write_text(text)
        with pytest.raises(SettingError, match="Delete this file and run the sweep again"):
            handful.read_sweep(tmp_path)
    (tmp_path / "manifest.json").write_text('{"format": 99}')
    with pytest.raises(SettingError, match="newer version"):
        handful.read_sweep(tmp_path)
    handful.sweep(SPEC, out=tmp_path)
    assert repr(handful.read_sweep(tmp_path)) == f"Sweep({str(tmp_path)!r}, 5 cells)"


def test_threads_may_compile_kernels_at_once(tmp_path: Path) -> None:
    spec = {"runs": 4, "horizon": 60, "grid": [
        {"policy": ["ucb-m", "moss-m"], "memory": [2, 3], "instance": ["linear:7", "linear:8"]},
    ]}  # fmt: skip
    with ThreadPoolExecutor(8) as executor:
        found = handful.sweep(spec, out=tmp_path, executor=executor)
    for result in found:
        s = result.settings
        one = simulate(s["policy"], s["instance"], memory=s["memory"], horizon=60, runs=4)
        assert bits(one) == bits(result)
    assert len(found.results) == 8


def test_cells_are_cut_for_the_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "AT_ONCE", 1e9)
    store = Store(tmp_path)
    wholes = [part(runs=160), part(runs=160, seed=1)]
    by_workers: dict[int, Plan] = {n: plan(store, wholes, n, alone=False) for n in (1, 2, 5, 100)}
    assert [len(found.parts) for found in by_workers.values()] == [2, 2, 6, 108]
    assert len(plan(store, wholes, 1, alone=True).parts) == 2
    assert len({found.pulls for found in by_workers.values()}) == 1


def test_an_estimate_is_made_of_short_runs_of_each_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    from handful.sweeps import calibration

    def quick(planned: Cell, **_: Any) -> Result:
        found = run_cell(Part.whole(planned, "python").only(range(1)).cell, engine="python")
        pulls = planned.horizon * planned.runs
        found.settings["seconds"] = pulls * (1e-6 if planned.policy.name == "ucb-m" else 3e-6)
        return found

    monkeypatch.setattr(calibration, "run_cell", quick)
    parts = [part(runs=1000), part(runs=500, seed=1), part("race", runs=2000, horizon=600)]
    said: list[str] = []
    found = estimate(parts, 4, said.append)
    assert found.kinds == len(said) == 2
    truth = 1500 * 60 * 1e-6 + 2000 * 600 * 3e-6
    assert found.core_seconds == pytest.approx(truth)
    assert found.seconds == pytest.approx(truth / 4)
