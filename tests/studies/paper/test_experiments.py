from __future__ import annotations

from handful.studies.paper.experiments import EXPERIMENTS, ROWS, ByMemory, ByPolicy, Table
from handful.studies.paper.published import INSTANCES, TABLE_1, TABLE_2


def test_the_figures_have_the_papers_cells() -> None:
    cells = {
        name: list(experiment.cells(100, 0))
        for name, experiment in EXPERIMENTS.items()
        if not isinstance(experiment, Table)
    }
    assert {c.runs for group in cells.values() for c in group} == {100}
    assert [len(group) for group in cells.values()] == [15, 26, 15, 26, 26]
    assert {c.memory for c in cells["fig1"]} == {2, 4}
    assert {c.memory for c in cells["fig2"]} == {2, 5, 10, 20, 50, 100}
    assert {c.settings.get("eta") for c in cells["fig2"]} == {None, 0.2}


def test_the_tables_have_the_papers_cells_and_two_readings_of_two_rows() -> None:
    for name, alpha in (("table1", 0.347), ("table2", 0.205)):
        cells = list(EXPERIMENTS[name].cells(20, 0))
        assert len(cells) == 4 * (12 + 2)
        ours = [c for c in cells if c.policy.name.startswith("q")]
        assert len(ours) == 32
        assert {c.settings["alpha"] for c in ours} == {alpha}
        assert {c.memory for c in ours} == {2, 10}
        assert {c.horizon for c in cells} == {10**6}


def test_every_row_has_a_memory_that_its_policy_has() -> None:
    for name in ("table1", "table2"):
        table = EXPERIMENTS[name]
        assert isinstance(table, Table)
        for row, planned in zip(
            table.rows(), list(table.cells(1, 0))[:: len(INSTANCES)], strict=True
        ):
            assert planned.memory == row.memory


def test_the_published_tables_are_whole() -> None:
    for table in (TABLE_1, TABLE_2):
        assert len(table) == 12
        assert {name for name, _ in table} == set(ROWS)
        assert all(len(numbers) == 4 for numbers in table.values())
        assert all(sem > 0 for numbers in table.values() for _, sem in numbers)
    # The bold entries of the paper's Table 1 are the least of their columns.
    best = [min(numbers[i][0] for numbers in TABLE_1.values()) for i in range(4)]
    assert best == [1.69, 0.03, 1.13, 0.30]


def test_moss_with_all_arms_is_run_to_each_horizon() -> None:
    assert ByMemory("linear:100").horizons_to_run("moss-m", 100) == (10**4, 10**5, 10**6)
    assert ByMemory("linear:100").horizons_to_run("moss-m", 50) == (10**6,)
    assert ByMemory("linear:100").horizons_to_run("ucb-m", 100) == (10**6,)


def test_a_comparison_covers_all_policies() -> None:
    names = {c.policy.name for c in ByPolicy(("linear:9",)).cells(1, 0)}
    assert names == {"ucb-m", "ts-m", "moss-m", "constant-space"}
