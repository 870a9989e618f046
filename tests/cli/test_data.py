"""Instances from data on the command line: run, plot, advise and sweep."""

from __future__ import annotations

import json
import random
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result

from handful.cli.app import app
from handful.plots.panels import pulls_of
from handful.simulation import read_parquet

pytestmark = pytest.mark.usefixtures("auto_is_python")
NAME = "data:log.csv?arm=item&reward=click"


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log of six items, the second one by far the best and the last one with a single row."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "log.csv", best=1)
    return tmp_path / "log.csv"


def write(file: Path, best: int) -> None:
    rng = random.Random(4)
    items = [*(rng.randrange(5) for _ in range(300)), 5]
    clicks = [int(rng.random() < (0.9 if item == best else 0.1)) for item in items]
    pl.DataFrame({"item": items, "click": clicks, "row": range(301)}).write_csv(file)


def call(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def run(*options: str) -> Result:
    return call("run", "-p", "race", "-m", "2", "-T", "200", "-r", "2", *options)


@pytest.mark.usefixtures("log")
def test_run_says_which_rows_are_used_beside_its_table() -> None:
    ran = run("-i", f"{NAME}&least=30", "-p", "imed")
    assert ran.exit_code == 0, ran.output
    said = f"{NAME}&least=30: 5 arms with 300 rows; 1 arm with fewer than 30 rows (1 row in all)"
    assert ran.stderr.count(f"{said} was left out") == 1
    head, *rows = (line.split("\t") for line in ran.stdout.splitlines())
    assert [row[head.index("instance")] for row in rows] == ["data:log.csv?arm=item&reward=cl…"] * 2


def test_results_have_the_name_the_digest_and_the_figure_sorts_arms_by_mean(log: Path) -> None:
    ran = run("-i", f"{NAME}", "--out", "run.parquet", "--json", "--record")
    assert ran.exit_code == 0, ran.output
    (cell,) = json.loads(ran.stdout)
    assert (cell["instance"], cell["file"], cell["n_arms"]) == (NAME, "log.csv", 6)
    assert cell["id"].endswith(f"data:{cell['digest']}")
    assert cell["data"].startswith("6 arms with 301 rows; 1 arm has fewer than 30 rows")
    (result,) = read_parquet("run.parquet")
    assert result.mean_pulls is not None
    assert pulls_of(result)[0, 0] == result.pulls[0, 1]  # type: ignore[index]
    for kind in ("regret", "pulls", "memory"):
        drawn = call("plot", "run.parquet", "--kind", kind, "-i", NAME, "--out", f"{kind}.png")
        assert drawn.exit_code == 0, drawn.output
    write(log, best=2)  # other data: their means are not those of the result
    assert pulls_of(result).tolist() == result.pulls.tolist()  # type: ignore[union-attr]
    log.unlink()
    assert call("plot", "run.parquet", "-i", NAME, "--out", "again.png").exit_code == 0


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("data:nothing.csv?arm=item&reward=click", "there is no file nothing.csv"),
        ("data:log.csv?arm=item&reward=clicks", "has no column 'clicks'"),
        ("data:log.csv?arm=item&reward=row", "has 2, which is not in [0, 1]"),
        ("data:log.csv?arm=item&reward=click&leest=3", "did you mean least?"),
        (f"{NAME}&time=row", "--rho"),
    ],
)
@pytest.mark.usefixtures("log")
def test_mistakes_end_before_anything_is_simulated(spec: str, said: str) -> None:
    ran = run("-i", spec, *(["--rho", "0.5"] if said == "--rho" else []))
    assert ran.exit_code == 2
    assert ran.stdout == ""
    assert (said if said != "--rho" else "leave rho or time= out") in " ".join(ran.output.split())


@pytest.mark.usefixtures("log")
def test_advise_takes_the_number_of_arms_from_the_data() -> None:
    ran = call("advise", "-m", "2", "-i", f"{NAME}&time=row", "-T", "300", "-r", "2", "--json")
    assert ran.exit_code == 0, ran.output
    assert f"{NAME}&time=row: 6 arms with 301 rows" in ran.stderr
    found = json.loads(ran.stdout)
    assert any(one["policy"].startswith("race:every") for one in found["candidates"])
    wrong = call("advise", "-k", "7", "-m", "2", "-i", NAME, "-T", "300", "-r", "2")
    assert wrong.exit_code == 2
    assert "has 6 arms, and not 7" in " ".join(wrong.output.split())


def test_a_sweep_runs_a_changed_file_again_and_an_unchanged_one_never(log: Path) -> None:
    Path("spec.toml").write_text(
        f"""
        runs = 3
        engine = "python"
        [[grid]]
        policy = "race"
        memory = 2
        instance = ["{NAME}", "{NAME}&time=row&periods=3"]
        horizon = 100
        """
    )

    def swept() -> list[dict[str, object]]:
        ran = call("sweep", "spec.toml", "--out", "out", "--json")
        assert ran.exit_code == 0, ran.output
        cells: list[dict[str, object]] = json.loads(ran.stdout)["cells"]
        assert f"{NAME}: 6 arms with 301 rows" in ran.stderr
        return cells

    def files() -> set[tuple[str, int]]:
        return {(file.name, file.stat().st_mtime_ns) for file in Path("out").rglob("*.parquet")}

    first, kept = swept(), files()
    assert [cell["instance"] for cell in first] == [NAME, f"{NAME}&time=row&periods=3"]
    assert swept() == first
    assert files() == kept
    pl.read_csv(log).write_csv("copy.csv")
    Path("copy.csv").replace(log)  # another file with the same content
    assert swept() == first
    assert files() == kept
    write(log, best=2)
    other = swept()
    assert all(cell["digest"] != old["digest"] for cell, old in zip(other, first, strict=True))
    assert len(files()) == 2 * len(kept)
    assert files() > kept
