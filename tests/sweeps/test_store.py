from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

from handful.simulation import Cell, Result, run_cell
from handful.simulation.plan import cell
from handful.studies import store
from handful.studies.store import Store
from handful.studies.timing import work


def quiet(done: float, what: str) -> None: ...


def small() -> list[Cell]:
    return [cell(policy, "linear:9", 2, 500, runs=2) for policy in ("ucb-m", "ts-m", "moss-m")]


def test_finished_cells_are_never_run_again_unless_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    def counted(planned: Cell, **options: object) -> Result:
        ran.append(planned.id)
        return run_cell(planned)

    monkeypatch.setattr(store, "run_cell", counted)
    cache = Store(tmp_path)
    first = cache.run(small(), quiet)
    assert len(ran) == 3
    second = cache.run(small(), quiet)
    assert len(ran) == 3
    assert [r.regret.per_run.tolist() for r in second.all()] == [
        r.regret.per_run.tolist() for r in first.all()
    ]
    cache.run(small(), quiet, fresh=True)
    assert len(ran) == 6


def test_a_stopped_run_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    def stopped(planned: Cell, **options: object) -> Result:
        if len(ran) == 2:
            raise KeyboardInterrupt
        ran.append(planned.id)
        return run_cell(planned)

    monkeypatch.setattr(store, "run_cell", stopped)
    with pytest.raises(KeyboardInterrupt):
        Store(tmp_path).run(small(), quiet)
    monkeypatch.setattr(store, "run_cell", run_cell)
    assert [planned.id for planned in Store(tmp_path).missing(small())] == [small()[2].id]
    done: list[float] = []
    results = Store(tmp_path).run(small(), lambda share, what: done.append(share))
    assert len(results) == 3
    assert done == sorted(done)
    assert done[-1] == work(small()[2])


def test_a_damaged_file_is_run_again(tmp_path: Path) -> None:
    cache = Store(tmp_path)
    planned = small()[0]
    before = cache.run([planned], quiet)
    cache.path(planned).write_bytes(b"half a file")
    after = cache.run([planned], quiet)
    assert [r.regret.mean for r in after.all()] == [r.regret.mean for r in before.all()]


def test_another_seed_horizon_or_number_of_runs_is_another_file(tmp_path: Path) -> None:
    cells = [
        cell("ucb-m", "linear:9", 2, 500),
        cell("ucb-m", "linear:9", 2, 501),
        cell("ucb-m", "linear:9", 2, 500, runs=99),
        cell("ucb-m", "linear:9", 2, 500, seed=1),
        cell("ucb-m:eta=0.2", "linear:9", 2, 500),
    ]
    assert len({Store(tmp_path).path(planned) for planned in cells}) == 5


def test_work_grows_with_pulls_and_is_never_nothing() -> None:
    for name, instance in [("ucb-m", "linear:9"), ("ts-m", "linear:9"), ("qts-m", "I1")]:
        one, ten = (cell(name, instance, 3, 100, runs=runs) for runs in (1, 10))
        assert work(ten) == 10 * work(one) > 0
    assert work(cell("herschkorn", "I1", None, 100)) > 0


def test_a_flipped_bit_is_noticed_wherever_it_is(tmp_path: Path) -> None:
    cache = Store(tmp_path)
    planned = small()[0]
    before = cache.run([planned], quiet).at(planned)
    path = cache.path(planned)
    good = path.read_bytes()
    read = 0
    for place in range(4, len(good), max(1, len(good) // 150)):
        path.write_bytes(good[:place] + bytes([good[place] ^ 4]) + good[place + 1 :])
        found = cache.load(planned)
        if found is not None:
            read += 1
            assert found.settings == before.settings
            assert found.curve.per_run.tolist() == before.curve.per_run.tolist()
            assert found.pulls is not None
            assert before.pulls is not None
            assert found.pulls.tolist() == before.pulls.tolist()
    assert read < 120, "of 150 flips, those that change a number are refused"
    path.write_bytes(b"half a file")
    assert cache.missing([planned]) == [planned]


def test_a_file_of_another_cell_is_not_taken_for_this_one(tmp_path: Path) -> None:
    cache = Store(tmp_path)
    base: dict[str, Any] = {
        "policy": "ucb-m", "instance_spec": "linear:9", "memory": 2, "horizon": 100, "runs": 3
    }  # fmt: skip
    planned = cell(**base)
    changes: list[dict[str, Any]] = [
        {"policy": "ts-m"}, {"policy": "ucb-m:eta=0.2"}, {"instance_spec": "linear:10"},
        {"memory": 3}, {"horizon": 101}, {"runs": 4}, {"runs": range(1, 4)}, {"seed": 1},
        {"tape": True}, {"record": True},
    ]  # fmt: skip
    for change in changes:
        other = cell(**{**base, **change})
        cache.save(other, run_cell(other, engine="python"))
        cache.path(other).replace(cache.path(planned))
        assert cache.load(planned) is None, change
        assert cache.missing([planned]) == [planned]
    cache.save(planned, run_cell(planned, engine="python"))
    assert cache.load(planned) is not None


def test_a_file_of_other_sources_or_another_version_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = Store(tmp_path)
    planned = small()[0]
    cache.save(planned, run_cell(planned, engine="python"))
    path = cache.path(planned)
    for name, other in (("__version__", "0.0.0"), ("source_digest", lambda module: "old")):
        with monkeypatch.context() as changed:
            changed.setattr(store, name, other)
            assert cache.path(planned) != path
            cache.path(planned).write_bytes(path.read_bytes())
            assert cache.load(planned) is None


def test_where_cells_cannot_be_saved_their_results_are_still_returned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, target: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    right = Store(tmp_path / "a").run(small(), quiet)
    monkeypatch.setattr(Path, "replace", full)
    cache = Store(tmp_path / "b")
    found = cache.run(small(), quiet)
    assert [r.regret.mean for r in found.all()] == [r.regret.mean for r in right.all()]
    assert cache.unsaved is not None
    assert "No space left on device" in cache.unsaved
    assert list((tmp_path / "b").iterdir()) == []


def test_results_come_in_the_order_of_the_plan_though_others_were_run_first(
    tmp_path: Path,
) -> None:
    cells = [
        cell(policy, "linear:9", 2, horizon, runs=2)
        for policy in ("ucb-m", "ts-m")
        for horizon in (900, 500)
    ]
    found = Store(tmp_path).run(cells, quiet).all()
    assert [r.settings["horizon"] for r in found] == [900, 500, 900, 500]
    assert [r.settings["policy"] for r in found] == ["ucb-m", "ucb-m", "ts-m", "ts-m"]
