from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import handful
from handful.cli.app import COMMANDS, app
from handful.cli.reference import reference
from handful.policies import POLICIES
from handful.simulation import read_parquet

GRID = [
    "run", "--policy", "ucb-m", "--policy", "moss-m", "--memory", "2", "--memory", "5",
    "--instance", "linear:20", "--horizon", "1e3", "--runs", "3", "--seed", "4",
]  # fmt: skip
KEYS = {
    "policy", "memory", "instance", "horizon", "runs", "seed", "regret_mean", "regret_sem",
    "regret_per_run", "seconds", "pulls_per_second", "peak_rss_bytes",
}  # fmt: skip


in_python = pytest.mark.usefixtures("auto_is_python_here")


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def data(*arguments: str) -> list[dict[str, Any]]:
    result = call(*arguments, "--json")
    assert result.exit_code == 0, result.output
    parsed: list[dict[str, Any]] = json.loads(result.stdout)
    return parsed


def test_help_lists_every_command_and_loads_no_heavy_package() -> None:
    code = (
        "import sys; from handful.cli.app import app\n"
        "app(['--help'], standalone_mode=False)\n"
        "heavy = {'numba', 'numpy', 'polars', 'rich', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert all(name in ran.stdout for name in COMMANDS)


def test_version() -> None:
    assert call("--version").output == f"handful {handful.__version__}\n"


@in_python
def test_a_grid_as_json_has_a_cell_for_each_combination() -> None:
    cells = data(*GRID)
    assert [(c["policy"], c["memory"]) for c in cells] == [
        ("ucb-m", 2), ("ucb-m", 5), ("moss-m", 2), ("moss-m", 5)
    ]  # fmt: skip
    assert all(set(c) >= KEYS for c in cells)
    assert all(len(c["regret_per_run"]) == 3 for c in cells)


def test_numbers_do_not_depend_on_workers_or_on_the_rest_of_the_grid() -> None:
    one, two = data(*GRID, "--n-jobs", "1"), data(*GRID, "--n-jobs", "2")
    assert [c["regret_per_run"] for c in one] == [c["regret_per_run"] for c in two]
    alone = data(
        "run", "-p", "moss-m", "-m", "5", "-i", "linear:20", "-T", "1000", "-r", "3", "-s", "4"
    )
    assert alone[0]["regret_per_run"] == one[3]["regret_per_run"]


ONE_OF_EACH_KIND = {"race", "ucb-m", "qts-m", "imed"}
"""Policies whose kernels are compiled here; all others are in `make test-long`."""


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param(name, marks=[] if name in ONE_OF_EACH_KIND else [pytest.mark.long])
        for name in POLICIES
    ],
)
def test_both_engines_print_the_same_numbers_on_a_tape(policy: str) -> None:
    world = "I1" if POLICIES[policy].endless else f"linear:{POLICIES[policy].own_arms or 20}"
    memory = ["-m", "3"] if POLICIES[policy].takes_memory() else []
    arguments = ["run", "-p", policy, *memory, "-i", world, "-T", "800", "-r", "2"]
    python = data(*arguments, "--tape", "--engine", "python", "--n-jobs", "2")
    compiled = data(*arguments, "--tape", "--engine", "compiled")
    assert python[0]["curve"] == compiled[0]["curve"]
    assert python[0]["engine"] == "python"
    assert compiled[0]["engine"] == "compiled"


@in_python
def test_a_pipe_gets_tab_separated_data() -> None:
    lines = call(*GRID).stdout.splitlines()
    assert len(lines) == 5
    assert lines[0].split("\t")[:4] == ["policy", "instance", "M", "horizon"]
    assert all(len(line.split("\t")) == 10 for line in lines)


@in_python
def test_eta_goes_to_the_policies_that_have_it() -> None:
    mixed = data("run", "-p", "ucb-m", "-p", "ts-m", "-m", "2", "-i", "linear:9", "-T", "99",
                 "-r", "2", "--eta", "0.2")  # fmt: skip
    assert mixed[0]["settings"] == {"eta": 0.2}
    assert mixed[1]["settings"] == {}
    both = data("run", "-p", "ucb-m:eta=0.2", "-p", "ucb-m", "-m", "2", "-i", "linear:9",
                "-T", "99", "-r", "2", "--eta", "0.5")  # fmt: skip
    assert [c["settings"]["eta"] for c in both] == [0.2, 0.5]
    inline = data("run", "-p", "ucb-m:eta=0.2", "-m", "2", "-i", "linear:9", "-T", "99", "-r", "2")
    assert inline[0]["regret_per_run"] == mixed[0]["regret_per_run"]


@in_python
def test_out_writes_a_file_that_reads_back(tmp_path: Path) -> None:
    out = tmp_path / "x.parquet"
    cells = data(*GRID, "--out", str(out))
    saved = read_parquet(out)
    assert [r.regret.per_run.tolist() for r in saved] == [c["regret_per_run"] for c in cells]
    assert list(tmp_path.iterdir()) == [out]


@in_python
def test_regret_to_a_quantile_is_reported_beside_the_conventional_one() -> None:
    cell = data("run", "-p", "qucb-m", "-m", "2", "-i", "I2", "-T", "1000", "-r", "3",
                "--rho", "0.1")[0]  # fmt: skip
    # The 0.9 quantile of the uniform distribution is 0.9, so the two differ by T / 10.
    assert cell["quantile_regret_mean"] == pytest.approx(cell["regret_mean"] - 100.0)
    assert cell["rho"] == 0.1


@in_python
def test_policies_with_a_memory_of_their_own_need_none() -> None:
    cells = data("run", "-p", "imed", "-p", "ucb-m", "-m", "2", "-m", "3", "-i", "linear:9",
                 "-T", "99", "-r", "2")  # fmt: skip
    assert [(c["policy"], c["memory"]) for c in cells] == [("imed", 9), ("ucb-m", 2), ("ucb-m", 3)]


BASE = {"--policy": "ucb-m", "--memory": "2", "--instance": "linear:9", "--horizon": "9"}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"--policy": "ucbm"}, "did you mean ucb-m"),
        ({"--policy": "ucb-m:eta"}, "setting=number"),
        ({"--policy": "ucb-m:beta=1"}, "no ucb-m setting 'beta'"),
        ({"--memory": "1"}, "memory=1 cannot compare arms"),
        ({"--memory": "2.5"}, "not an integer"),
        ({"--instance": "linaer:9"}, "did you mean linear"),
        ({"--instance": "linear:0"}, "K=0 must be"),
        ({"--horizon": "0"}, "horizon=0"),
        ({"--horizon": "-5"}, "horizon=-5"),
        ({"--horizon": "many"}, "'many' is not an integer"),
        ({"--horizon": "inf"}, "'inf' is not an integer"),
        ({"--runs": "0"}, "runs=0"),
        ({"--n-jobs": "-1"}, "n_jobs=-1"),
        ({"--n-jobs": "0"}, "n_jobs=0"),
        ({"--policy": "qucb-m"}, "is for endless arms"),
        ({"--instance": "I1"}, "is for finite sets"),
        ({"--rho": "1.5"}, "rho=1.5 is not between 0 and 1"),
        ({"--policy": "qucb-m", "--instance": "I1", "--alpha": "1"}, "alpha between 0 and 1"),
        ({"--policy": "ts-m", "--eta": "1"}, "no policy of the grid has it"),
        ({"--eta": "-1"}, "eta >= 0"),
        ({"--eta": "nan"}, "eta >= 0"),
        ({"--out": "x.json"}, "ends in .parquet or .csv"),
        ({"--out": "no/such/folder/x.parquet"}, "no folder"),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_code_2(changed: dict[str, str], said: str) -> None:
    result = call("run", *(word for pair in {**BASE, **changed}.items() for word in pair))
    assert result.exit_code == 2
    assert said in result.output
    assert "Traceback" not in result.output


def test_an_unknown_command_names_the_nearest() -> None:
    result = call("runn")
    assert result.exit_code == 2
    assert "did you mean run" in result.output


def test_policies_lists_all_with_citations() -> None:
    listed = json.loads(call("policies", "--json").stdout)
    assert [entry["policy"] for entry in listed] == list(POLICIES)
    assert all(entry["citation"] and entry["summary"] for entry in listed)
    assert len(call("policies").stdout.splitlines()) == len(POLICIES) + 1


def test_doctor_finds_a_working_installation() -> None:
    result = call("doctor", "--json")
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert report["problems"] == []
    assert report["ucb-m engines"] == "agree"
    assert "all is well" in call("doctor").stdout


def test_doctor_reports_a_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("handful.cli.doctor.PACKAGES", ("no-such-package",))
    result = call("doctor")
    assert result.exit_code == 1
    assert "no-such-package is missing" in result.output


def test_an_interrupt_stops_cleanly_under_a_progress_bar(tmp_path: Path) -> None:
    out = tmp_path / "x.parquet"
    program = Path(sys.executable).parent / "handful"
    terminal, side = pty.openpty()
    process = subprocess.Popen(
        [str(program), "run", "-p", "ucb-m", "-m", "2", "-i", "linear:100", "-T", "1e9", "-r", "4",
         "--out", str(out)],
        stdin=side, stdout=side, stderr=side, env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
    )  # fmt: skip
    os.close(side)
    seen = _read_until(terminal, b"1%")
    process.send_signal(signal.SIGINT)
    seen += _read_until(terminal, None)
    assert process.wait() == 130, seen
    assert b"stopped" in seen
    assert b"Traceback" not in seen
    assert list(tmp_path.iterdir()) == []


def _read_until(terminal: int, mark: bytes | None) -> bytes:
    """What a terminal shows, up to a mark or its end; gives up after a minute of silence."""
    seen = b""
    while mark is None or mark not in seen:
        ready, _, _ = select.select([terminal], [], [], 60)
        assert ready, seen
        try:
            more = os.read(terminal, 4096)
        except OSError:  # the other side is closed
            break
        if not more:
            break
        seen += more
    return seen


def test_the_reference_page_is_what_the_commands_say() -> None:
    page = Path(__file__).parent.parent.parent / "docs" / "cli.md"
    assert page.read_text() == reference()


@in_python
def test_a_memory_that_no_policy_takes_is_refused() -> None:
    result = call("run", "-p", "constant-space", "-m", "2", "-i", "linear:9", "-T", "99")
    assert result.exit_code == 2
    assert "has a memory of its own" in result.stderr
    both = ["-p", "constant-space", "-p", "ucb-m", "-m", "2"]
    assert call("run", *both, "-i", "linear:9", "-T", "99", "-r", "2").exit_code == 0


def test_a_record_needs_a_file() -> None:
    result = call("run", "-p", "ucb-m", "-m", "2", "-i", "linear:9", "-T", "99", "--record")
    assert result.exit_code == 2
    assert "give --out" in result.stderr


def test_a_policy_is_described() -> None:
    text = call("policies", "constant-space").stdout
    assert "M = 4" in text
    assert "default 2" in text
    assert "AISTATS" in text
    assert call("policies", "nothing-like-it").exit_code == 2


@in_python
def test_out_writes_csv_for_other_programs(tmp_path: Path) -> None:
    out = tmp_path / "x.csv"
    cells = data(*GRID, "--out", str(out))
    lines = out.read_text().splitlines()
    assert lines[0] == "policy,label,memory,instance,horizon,seed,run,t,regret"
    assert len(lines) == 1 + sum(3 * len(cell["curve"]["t"]) for cell in cells)
    last = [line.split(",") for line in lines[1:] if line.split(",")[7] == "1000"]
    assert [float(row[8]) for row in last] == [x for c in cells for x in c["regret_per_run"]]


def test_a_record_cannot_be_csv(tmp_path: Path) -> None:
    result = call("run", "-p", "ucb-m", "-m", "2", "-i", "linear:9", "-T", "99", "--record",
                  "--out", str(tmp_path / "x.csv"))  # fmt: skip
    assert result.exit_code == 2
    assert "give --out X.parquet" in result.stderr


def test_it_is_said_that_pulls_are_only_a_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("handful.simulation.outcome.MOST_PULLS", 10)
    words = ["run", "-p", "ucb-m", "-m", "2", "-i", "linear:9", "-T", "99", "-r", "3", "--engine",
             "python", "--json"]  # fmt: skip
    result = call(*words)
    assert "pulls by arm are a mean over runs, since 3 runs of 9 arms" in result.stderr
    assert sum(json.loads(result.stdout)[0]["pulls_per_arm_mean"]) == pytest.approx(99)
