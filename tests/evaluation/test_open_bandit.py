"""Real decisions: the Open Bandit sample, which pip downloads (Saito et al. 2021)."""

from __future__ import annotations

import math
from pathlib import Path

import polars as pl
import pytest

from handful import Log, evaluate, read_log, replay
from handful.errors import SettingError, UnknownNameError
from handful.evaluation import open_bandit as module
from handful.evaluation.intervals import Z
from handful.evaluation.open_bandit import PAGES, WHEEL, open_bandit, wheel
from tests.helpers import refused

ITEMS = {"all": 80, "men": 34, "women": 46}


def logged(policy: str, page: str) -> Log:
    return read_log(
        open_bandit(policy, page), arm_column="item", reward_column="click",
        probability_column="pscore",
    )  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def downloaded() -> Path:
    """The wheel in the user's cache, which pip fills once."""
    return wheel(module.cache())


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("policy", module.POLICIES)
def test_the_sample_is_as_its_paper_says(policy: str, page: str) -> None:
    frame = open_bandit(policy, page)
    assert frame.columns == ["at", "position", "item", "click", "pscore"]
    assert len(frame) == 10_000
    assert set(frame["position"]) == {1, 2, 3}
    assert set(frame["click"]) == {0, 1}
    assert frame["item"].is_between(0, ITEMS[page] - 1).all()
    if policy == "random":
        assert (frame["pscore"] * ITEMS[page]).to_list() == pytest.approx([1.0] * 10_000)


@pytest.mark.parametrize("page", PAGES)
def test_a_uniform_target_on_the_uniform_log_is_the_log_s_mean(page: str) -> None:
    log = logged("random", page)
    assert log.warnings == ()
    found = evaluate(log, "uniform")
    assert found.ips.value == pytest.approx(log.value.value)
    assert found.sample == pytest.approx(10_000)


def test_the_thompson_log_tells_the_uniform_policy_s_click_rate() -> None:
    truth, found = logged("random", "all").value, evaluate(logged("bts", "all"), "uniform")
    for estimate in (found.ips, found.snips):
        assert estimate.low <= truth.value <= estimate.high


@pytest.mark.parametrize("page", ["all", "men"])
def test_the_two_logs_do_not_differ_significantly(page: str) -> None:
    """The difference of two samples of one click rate has a 95% interval around 0.

    On the page "men", the uniform log's rate, 0.0046, is just above the interval of IPS from the
    Thompson log, 0.0015 to 0.0045; but that rate has an error of its own.
    """
    truth, log = logged("random", page), logged("bts", page)
    assert log.warnings == ()
    found = evaluate(log, "uniform")
    mean = truth.value.value
    error = math.sqrt(mean * (1 - mean) / len(truth))
    for estimate in (found.ips, found.snips):
        own = (estimate.value - estimate.low) / Z
        assert abs(estimate.value - mean) <= Z * math.hypot(error, own)
    # Without the weights, the Thompson log tells its own click rate.
    assert log.value.value > 1.5 * found.ips.value


def test_one_click_with_a_probability_of_a_millionth_is_warned_of() -> None:
    found = evaluate(logged("bts", "women"), "uniform")
    assert found.sample < 3
    assert any("rows with equal weights" in text for text in found.warnings)


@pytest.mark.parametrize("page", PAGES)
def test_a_uniform_policy_is_replayed_to_the_uniform_log_s_mean(page: str) -> None:
    log = logged("random", page)
    found = [replay(log, "random", seed=seed) for seed in range(20)]
    # A row matches with probability 1/K, so that 20 replays have 20/K times the rows.
    rows = sum(each.matches for each in found)
    assert rows == pytest.approx(20 * 10_000 / ITEMS[page], rel=0.1)
    clicks = sum(each.value.value * each.matches for each in found)
    # Clicks are about Poisson, and rows that match in several replays vary together: 5 sigma.
    expected = rows * log.value.value
    assert abs(clicks - expected) <= 5 * math.sqrt(expected)
    assert sum(each.value.low <= log.value.value <= each.value.high for each in found) >= 15


def test_the_thompson_log_is_too_uneven_for_a_replay() -> None:
    found = replay(logged("bts", "all"), "race", memory=8)
    assert found.matches < 5
    assert any("fewer than 100 rows match" in text for text in found.warnings)


def test_probabilities_are_of_the_position() -> None:
    # Within each position, the weights of a uniform target are 1 on average, within 4 sigma.
    for (position,), frame in open_bandit("bts", "all").group_by("position"):
        weights = 1 / 80 / frame["pscore"].to_numpy()
        error = weights.std() / math.sqrt(len(weights))
        assert abs(weights.mean() - 1) <= 4 * error, position


def test_names_that_are_not_there() -> None:
    with refused(UnknownNameError, ValueError, "logging policy 'ucb'", "bts, random"):
        open_bandit("ucb")
    with refused(UnknownNameError, ValueError, "page 'kids'", "all, men, women"):
        open_bandit("bts", "kids")


def test_another_wheel_is_refused(tmp_path: Path) -> None:
    (tmp_path / WHEEL).write_bytes(b"PK")
    with refused(SettingError, ValueError, "not the wheel that was published"):
        open_bandit("bts", folder=tmp_path)


def test_the_logs_are_written_to_a_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module.main(str(tmp_path / "logs"))
    files = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert [file.name for file in files] == [
        f"{policy}-{page}.parquet" for policy in module.POLICIES for page in PAGES
    ]
    assert len(pl.read_parquet(files[0])) == 10_000
