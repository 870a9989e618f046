"""Instances from data: which rows an arm has, its mean, what is refused, and what is said."""

from __future__ import annotations

import os
import pickle
import random
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from handful.core.rng import stream
from handful.errors import SettingError
from handful.instances import Instance, data, from_data, instance, tables
from handful.instances.distributions import BERNOULLI, ROWS
from tests.fit import even, share
from tests.helpers import refused

ITEMS = ["b", "a", "c", "a", "b", "a", "c", "c", "a", "b"]
CLICKS = [1, 0, 1, 0, 0, 1, 1, 1, 0, 0]
SECONDS = [0.1, 0.7, 0.25, 0.3, 1.0, 0.9, 0.0, 0.5, 0.125, 0.3]
TABLE: dict[str, list[Any]] = {"item": ITEMS, "click": CLICKS, "seconds": SECONDS}


def written(
    folder: Path, name: str = "clicks.csv", table: Mapping[str, list[Any]] | None = None
) -> str:
    """Write a table, the usual one unless another is given, and return the file's name."""
    frame = pl.DataFrame(table or TABLE)
    file = folder / name
    if file.suffix == ".parquet":
        frame.write_parquet(file)
    elif file.suffix == ".jsonl":
        frame.write_ndjson(file)
    else:
        frame.write_csv(file)
    return str(file)


def of(arms: list[Any], rewards: list[Any], **options: Any) -> Instance:
    return from_data({"arm": arms, "reward": rewards}, **options)


def test_rewards_of_0_and_1_make_bernoulli_arms_with_the_exact_means(tmp_path: Path) -> None:
    world = instance(f"data:{written(tmp_path)}?arm=item&reward=click")
    assert world.n_arms == 3
    assert world.listed == (1 / 4, 1 / 3, 1.0)
    assert world.best_mean == 1.0
    assert (world.distribution, world.rows) == (BERNOULLI, None)
    assert world.origin is not None
    assert world.origin.labels == ("a", "b", "c")
    assert world.origin.counts == (4, 3, 3)


def test_other_rewards_are_drawn_from_the_rows_of_the_arm(tmp_path: Path) -> None:
    world = instance(f"data:{written(tmp_path)}?arm=item&reward=seconds")
    assert world.distribution == ROWS
    rng = stream("test")
    for arm, label in enumerate("abc"):
        rows = [x for item, x in zip(ITEMS, SECONDS, strict=True) if item == label]
        exact = sum(map(Fraction, rows)) / len(rows)
        assert abs(world.mean(arm) - float(exact)) <= np.spacing(float(exact))
        assert {world.draw(arm, rng) for _ in range(1000)} == set(rows)


def test_every_row_of_an_arm_is_drawn_as_often() -> None:
    """Two tests of fit, each with a false-alarm rate of 1e-5; 0.5 is the reward in two rows."""
    world = of(["a"] * 7 + ["b"] * 2, [0.5, 0.1, 0.2, 0.5, 0.3, 1.0, 0.0, 0.0, 1.0])
    rng = stream("fit")
    drawn = Counter(world.draw(0, rng) for _ in range(70_000))
    assert share(drawn[0.5], 70_000, 2 / 7)
    assert even([drawn[x] for x in (0.0, 0.1, 0.2, 0.3, 1.0)])
    assert set(drawn) == {0.0, 0.1, 0.2, 0.3, 0.5, 1.0}


def test_the_mean_is_the_rounded_sum_whatever_the_order() -> None:
    rng = random.Random(3)
    rewards = [rng.random() ** 9 for _ in range(999)]
    forth, back = (
        of(["a", "b"] * 333 + ["b"] * 333, rewards),
        of((["a", "b"] * 333 + ["b"] * 333)[::-1], rewards[::-1]),
    )
    exact = sum(map(Fraction, rewards[0:666:2])) / 333
    assert forth.mean(0) == back.mean(0)
    assert abs(forth.mean(0) - float(exact)) <= np.spacing(float(exact))
    assert forth == back


@pytest.mark.parametrize("reward", ["click", "seconds"])
def test_files_and_frames_with_the_same_rows_are_the_same_instance(
    tmp_path: Path, reward: str
) -> None:
    names = [written(tmp_path, name) for name in ("one.csv", "two.parquet", "three.jsonl")]
    files = [instance(f"data:{name}?arm=item&reward={reward}") for name in names]
    pandas = pd.DataFrame(TABLE)
    frames = [
        from_data(frame, arm="item", reward=reward)
        for frame in (
            pl.DataFrame(TABLE),
            pl.LazyFrame(TABLE),
            pl.DataFrame(TABLE).with_columns(pl.col("item").cast(pl.Categorical)),
            pl.DataFrame(TABLE).sample(fraction=1.0, shuffle=True, seed=1),
            pandas,
            pandas.astype({"item": "category"}),
            pandas.astype({"item": "string", "click": "Int64", "seconds": "Float64"}),
            pandas.sample(frac=1.0, random_state=1),
            TABLE,
        )
    ]
    everything = [*files, *frames]
    assert len({world.key for world in everything}) == 1
    assert len({world.listed for world in everything}) == 1
    assert len({str(world.rows and world.rows.rewards.tolist()) for world in everything}) == 1


@pytest.mark.parametrize(
    "arms",
    [[3, 20, 100, 3], [True, False, True, True], [3.0, 20.0, 100.0, 3.0], [b"x", b"y", b"x", b"x"]],
)
def test_arms_are_integers_text_or_truth_values(arms: list[Any]) -> None:
    if isinstance(arms[0], bytes):
        with refused(SettingError, ValueError, "Binary", "give labels, text or integers"):
            of(arms, [0, 1, 1, 0])
        return
    numbers = isinstance(arms[0], float | int) and not isinstance(arms[0], bool)
    world = of(arms, [0, 1, 1, 0])
    assert world.origin is not None
    assert world.origin.labels == (("3", "20", "100") if numbers else ("false", "true"))


@pytest.mark.parametrize("change", ["reward", "label", "row", "option"])
def test_the_key_follows_from_the_content(tmp_path: Path, change: str) -> None:
    file = written(tmp_path)
    spec = f"data:{file}?arm=item&reward=seconds"
    before = instance(spec)
    if change == "reward":
        written(tmp_path, table={**TABLE, "seconds": [0.2, *SECONDS[1:]]})
    elif change == "label":
        written(tmp_path, table={**TABLE, "item": ["c", *ITEMS[1:]]})
    elif change == "row":
        written(tmp_path, table={key: [*column, column[0]] for key, column in TABLE.items()})
    else:
        spec += "&rescale=0,2"
    assert instance(spec).key != before.key
    assert instance(spec) != before


def test_a_file_that_does_not_change_is_read_once_and_one_that_changes_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = []
    read = tables.read_table

    def counted(*given: Any) -> pl.DataFrame:
        reads.append(given)
        return read(*given)

    monkeypatch.setattr(data, "read_table", counted)
    monkeypatch.setattr(data, "_kept", {})
    file = written(tmp_path)
    spec = f"data:{file}?arm=item&reward=click"
    first = instance(spec)
    instance(spec)
    assert (
        len(reads) == 2
    )  # written a moment ago: it might change within the same tick of the clock
    monkeypatch.setattr(data, "SETTLED", 0)
    again = instance(spec)
    assert instance(spec) is again
    assert instance(f"{spec}&least=2") != again
    assert len(reads) == 4
    assert again == first
    # The same size and the same time of change, but another file.
    stamp = Path(file).stat()
    written(tmp_path, "new.csv", {**TABLE, "click": [1 - click for click in CLICKS]})
    os.utime(tmp_path / "new.csv", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    (tmp_path / "new.csv").replace(file)
    assert instance(spec).key != first.key


def test_arms_with_few_rows_are_left_out_or_pooled_and_that_is_said() -> None:
    arms = ["a"] * 5 + ["b"] * 3 + ["c"] * 2 + ["d"] * 4
    rewards = [1, 0, 0, 0, 0, 1, 1, 0, 1, 0, 1, 1, 1, 0]
    left = of(arms, rewards, least=4)
    assert left.listed == (1 / 5, 3 / 4)
    assert left.origin is not None
    assert left.origin.labels == ("a", "d")
    assert str(left) == (
        "data:frame?arm=arm&reward=reward&least=4: 2 arms with 9 rows; 2 arms with fewer than 4 "
        "rows (5 rows in all) were left out"
    )
    pooled = of(arms, rewards, least=4, few="pool")
    assert pooled.listed == (1 / 5, 3 / 4, 3 / 5)
    assert pooled.origin is not None
    assert pooled.origin.labels == ("a", "d", "(2 arms pooled)")
    assert "3 arms with 14 rows; 2 arms with fewer than 4 rows (5 rows in all) were pooled" in str(
        pooled
    )
    assert of(arms, rewards).listed == (1 / 5, 2 / 3, 1 / 2, 3 / 4)
    assert "4 arms have fewer than 30 rows" in str(of(arms, rewards))
    assert (
        of(arms, rewards, least=3).listed
        == of(arms[:8] + arms[10:], rewards[:8] + rewards[10:]).listed
    )


def test_pooling_changes_no_mean_of_other_rewards() -> None:
    world = of([3, 1, 2, 3, 3, 1], [0.5, 0.25, 0.75, 0.0, 0.25, 0.5], least=3, few="pool")
    assert world.listed == (0.25, 0.5)
    rng = stream("pool")
    assert {world.draw(1, rng) for _ in range(100)} == {0.25, 0.5, 0.75}


def test_rewards_may_be_rescaled() -> None:
    world = of(["a", "a", "b", "b"], [1, 5, 5, 2], rescale=(1, 5))
    assert world.listed == (0.5, 0.625)
    assert world.name == "data:frame?arm=arm&reward=reward&rescale=1,5"
    assert of(["a", "b"], [-3, 7], rescale=(-3, 7)).distribution == BERNOULLI


@pytest.mark.parametrize(
    "name",
    [
        "a b.csv",
        "what?.csv",
        "a+b.csv",
        "100%.csv",
        "a&b=c.csv",
        "C:\\x.csv",
        "data:x.csv",
        "é.csv",
    ],
)
def test_files_may_have_any_name(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, name)
    world = instance(f"data:{name}?arm=item&reward=click")
    assert world.listed == (1 / 4, 1 / 3, 1.0)
    assert world.name == f"data:{name}?arm=item&reward=click"


def test_columns_may_have_any_name(tmp_path: Path) -> None:
    file = written(tmp_path, table={"an item?": ITEMS, "100% & more=1": CLICKS})
    world = from_data(file, arm="an item?", reward="100% & more=1")
    assert world.name == "data:clicks.csv?arm=an item%3F&reward=100%25 %26 more=1"
    options = world.name.rpartition("?")[2]
    assert instance(f"data:{file}?{options}") == world


def test_the_usual_columns_need_not_be_named(tmp_path: Path) -> None:
    file = written(tmp_path, table={"arm": ITEMS, "reward": CLICKS})
    assert instance(f"data:{file}").name == "data:clicks.csv?arm=arm&reward=reward"


def test_an_instance_can_be_sent() -> None:
    world = of(ITEMS, SECONDS)
    again = pickle.loads(pickle.dumps(world))
    assert again == world
    one, other = stream("sent"), stream("sent")
    assert [world.draw(1, one) for _ in range(9)] == [again.draw(1, other) for _ in range(9)]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            "arm=itm&reward=click",
            "has no column 'itm': it has 'item', 'click', 'seconds'; give arm=",
        ),
        ("arm=item&reward=item", "arm=item, reward=item: give each another column"),
        ("arm=seconds&reward=click", "values that are no integers: give labels, text or integers"),
        ("arm=click&reward=item", "has values of type String, such as 'b': give numbers"),
        ("arms=item&reward=click", "there is no option 'arms': did you mean arm?"),
        ("arm=item&arm=item", "arm= is there twice"),
        ("arm=&reward=click", "arm= is empty"),
        ("arm=item&reward=click&least=3.5", "least=3.5 is not of the form least=N"),
        ("arm=item&reward=click&least=0", "give the rows that an arm needs, at least 1"),
        ("arm=item&reward=click&least=4", "only one arm has 4 rows or more"),
        ("arm=item&reward=click&least=5", "no arm has 5 rows or more"),
        ("arm=item&reward=click&few=drop&least=2", "there is no way with few rows 'drop'"),
        ("arm=item&reward=click&few=pool", "few=pool: give least=N, too"),
        ("arm=item&reward=seconds&rescale=0.5,2", "has 0.1, which is not in [0.5, 2]"),
        ("arm=item&reward=seconds&rescale=2,1", "rescale=2,1: give two numbers"),
        ("arm=item&reward=seconds&rescale=1", "rescale=1 is not of the form rescale=LO,HI"),
        ("arm=item&reward=seconds+beta", "has no column 'seconds+beta'"),
    ],
)
def test_wrong_options_are_refused(tmp_path: Path, options: str, said: str) -> None:
    file = written(tmp_path)
    with refused(SettingError, ValueError, said, "instance 'data:"):
        instance(f"data:{file}?{options}")


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("data:nothing.csv?arm=item&reward=click", "there is no file nothing.csv"),
        ("data:nothing.txt", "give a file whose name ends in .parquet, .csv, .jsonl or .ndjson"),
        ("data:", "it is not of the form data:FILE?arm=COLUMN&reward=COLUMN"),
        ("data:?arm=item", "it is not of the form data:FILE?arm=COLUMN&reward=COLUMN"),
    ],
)
def test_files_that_are_not_there_are_refused(spec: str, said: str) -> None:
    with refused(SettingError, ValueError, said):
        instance(spec)


@pytest.mark.parametrize("name", ["x.csv", "x.parquet"])
@pytest.mark.parametrize("content", [b"", b"\xff\x00nonsense", b"PAR1PAR1"])
def test_files_that_are_no_tables_are_refused(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with refused(SettingError, ValueError, str(tmp_path / name)):
        instance(f"data:{tmp_path / name}?arm=item&reward=click")


@pytest.mark.parametrize(
    ("arms", "rewards", "said"),
    [
        ([], [], "the table has no rows"),
        (["a", "a"], [0, 1], "there is one arm: there is nothing to choose from"),
        (["a", None, "b"], [0, 1, 1], "of arms is empty in 1 row: every row needs an arm"),
        ([1.0, float("nan"), 2.0], [0, 1, 1], "of arms is empty in 1 row"),
        (["a", "b", "b"], [0, None, 1], "is empty or NaN in 1 row: leave these rows out"),
        (["a", "b", "b"], [0.5, float("nan"), None], "is empty or NaN in 2 rows"),
        (["a", "b", "b"], [None, None, None], "the column 'reward' of rewards is empty"),
        (["a", "b", "b"], [0, 2, 5], "has 2, which is not in [0, 1]: the rewards lie in [0, 5]"),
        (["a", "b", "b"], [0.5, -0.25, 1.0], "has -0.25, which is not in [0, 1]"),
        (["a", "b", "b"], [0.5, float("inf"), 1.0], "has inf, which is not in [0, 1]"),
        (["a", "b", "b"], ["yes", "no", "no"], "has values of type String, such as 'yes'"),
        ([["a"], ["b"], ["b"]], [0, 1, 1], "give labels, text or integers"),
    ],
)
def test_wrong_values_are_refused(arms: list[Any], rewards: list[Any], said: str) -> None:
    with refused(SettingError, ValueError, said):
        of(arms, rewards)
    if arms and not isinstance(arms[0], list):
        with refused(SettingError, ValueError, said):
            from_data(pd.DataFrame({"arm": arms, "reward": rewards}))


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (3, "3 is not a table"),
        ([1, 2], "[1, 2] is not a table"),
        ({"arm": [1, 2], "reward": [1]}, "the table cannot be made of these columns"),
        ({"arm": [1, 2]}, "the table has no column 'reward': it has 'arm'; give reward=COLUMN"),
        (pd.DataFrame([[1, 2, 3]], columns=["arm", "reward", "reward"]), "two columns of one name"),
        (pd.DataFrame({"x": [1, 2]}), "has no column 'arm': it has 'x'"),
    ],
)
def test_what_is_no_table_is_refused(table: Any, said: str) -> None:
    with refused(SettingError, ValueError, said):
        from_data(table)


def test_a_frame_is_not_taken_for_means() -> None:
    with refused(SettingError, ValueError, "from_data"):
        instance(pl.DataFrame(TABLE))  # type: ignore[arg-type]


def test_means_of_rows_cannot_drift() -> None:
    from handful.simulation import plan

    world = of(ITEMS, SECONDS)
    for traffic in ({"drift": "falls"}, {"churn": 5}):
        with refused(SettingError, ValueError, "they are drawn from rows"):
            plan.cell("race", world, 2, 100, **traffic)
    assert plan.cell("race", of(ITEMS, CLICKS), 2, 100, drift="falls").traffic is not None


# Drift as it was.


def naive_group(
    rows: list[tuple[int, float]], lo: int, hi: int, near: int
) -> list[tuple[int, float]]:
    """The rows (place, reward) of an arm in a period: the definition, word by word."""
    inside = [row for row in rows if lo <= row[0] < hi]
    if len(inside) >= near or len(inside) == len(rows):
        return inside
    middle = Fraction(lo + hi - 1, 2)
    nearest = sorted(rows, key=lambda row: (abs(row[0] - middle), row[0]))
    return sorted(nearest[:near])


@pytest.mark.parametrize(("periods", "near"), [(2, 1), (5, 4), (7, 20), (3, 500), (60, 3)])
@pytest.mark.parametrize("coins", [True, False])
def test_a_group_has_the_rows_of_the_period_or_the_nearest(
    periods: int, near: int, coins: bool
) -> None:
    rng = random.Random(f"{periods} {near}")
    n, K = 100, 4
    arms = [*range(K), *(min(rng.randrange(K), rng.randrange(K)) for _ in range(n - K))]
    rewards = [float(rng.random() < 0.4) if coins else rng.random() for _ in arms]
    times = [rng.randrange(40) for _ in arms]
    world = from_data(
        {"arm": arms, "reward": rewards, "at": times}, time="at", periods=periods, near=near
    )
    in_time = sorted(range(n), key=lambda row: times[row])  # stable: ties keep the order of rows
    generator = stream("periods")
    assert (world.n_arms, world.periods, len(world.listed)) == (K, periods, K * periods)
    for period in range(periods):
        lo, hi = period * n // periods, (period + 1) * n // periods
        for arm in range(K):
            own = [(at, rewards[row]) for at, row in enumerate(in_time) if arms[row] == arm]
            group = [reward for _, reward in naive_group(own, lo, hi, near)]
            mean = float(sum(map(Fraction, group)) / len(group))
            index = period * K + arm
            assert world.listed[index] == pytest.approx(mean, rel=1e-15, abs=0)
            if world.rows is not None:
                start, stop = world.rows.starts[index], world.rows.stops[index]
                assert sorted(world.rows.rewards[start:stop]) == sorted(group)
                assert world.draw_at(mean, generator, index) in group


AT: list[list[Any]] = [
    [5, 1, 4, 2, 3, 0],
    [0.5, 0.1, 0.4, 0.2, 0.3, 0.0],
    [f"2026-01-0{day}" for day in (6, 2, 5, 3, 4, 1)],
    [f"2026-01-01 00:00:0{second}" for second in ("5.5", "1", "4.25", "2", "3", "0")],
    [f"2026-01-01T00:00:0{second}Z" for second in (5, 1, 4, 2, 3, 0)],
    [f"2026-01-01 00:0{minute}:00.5+00:00" for minute in (5, 1, 4, 2, 3, 0)],
]


@pytest.mark.parametrize("times", AT, ids=lambda times: str(times[0]))
def test_times_are_numbers_or_dates_also_as_text(tmp_path: Path, times: list[Any]) -> None:
    rows: dict[str, list[Any]] = {
        "arm": ["a", "a", "b", "b", "b", "a"], "reward": [1, 0, 1, 0, 1, 0], "at": times
    }  # fmt: skip
    parsed = pd.DataFrame(rows)
    if isinstance(times[0], str):
        parsed["at"] = pd.to_datetime(parsed["at"], format="ISO8601")
    options = {"time": "at", "periods": 2, "near": 1}
    worlds = [
        from_data(table, **options)  # type: ignore[arg-type]
        for table in (
            rows,
            pd.DataFrame(rows),
            parsed,
            written(tmp_path, table=rows),
            written(tmp_path, "x.parquet", rows),
        )
    ]
    assert {world.listed for world in worlds} == {(0.0, 0.0, 1.0, 1.0)}
    assert len({world.key for world in worlds}) == 1
    assert worlds[0].key != from_data(rows).key


def test_the_name_and_what_is_said_have_the_periods(tmp_path: Path) -> None:
    rows = {"arm": [1, 2] * 50, "reward": [0, 1] * 50, "at": list(range(100))}
    file = written(tmp_path, table=rows)
    spec = f"data:{file}?arm=arm&reward=reward&least=20&time=at&periods=4&near=13"
    world = instance(spec)
    assert world.name == spec.replace(file, "clicks.csv")
    assert str(world).endswith(
        "2 arms with 100 rows; 4 periods of about 25 rows; with fewer than 13 rows of an arm in a "
        "period its nearest are taken, in 50% of the cases"
    )
    assert instance(f"data:{file}?time=at").name.endswith("&time=at")
    with refused(SettingError, ValueError, "those of data:clicks.csv", "change: leave rho"):
        world.quantile(0.5)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"time": "when"}, "has no column 'when'"),
        ({"time": "arm"}, "arm=arm, reward=reward, time=arm: give each another column"),
        ({"time": "at", "periods": 1}, "periods=1: give from 2 to 1000"),
        ({"time": "at", "periods": 1001}, "periods=1001: give from 2 to 1000"),
        ({"time": "at", "periods": 2.5}, "periods=2.5 is not an integer"),
        ({"time": "at", "periods": 5}, "4 rows are fewer than the 5 periods"),
        ({"time": "at", "near": 0}, "near=0: give a number of rows"),
        ({"periods": 5}, "periods= and near= go with time="),
        ({"time": "us"}, "text that is no date or time, such as '03/04/2026'"),
        ({"time": "gap"}, "of times is empty or NaN in 1 row: every row needs a time"),
        ({"time": "nan"}, "of times is empty or NaN in 2 rows"),
        ({"time": "list"}, "of times has values of type List(Int64): give numbers, dates"),
    ],
)
def test_wrong_times_are_refused(options: dict[str, Any], said: str) -> None:
    rows = {
        "arm": [1, 2, 1, 2], "reward": [0, 1, 1, 1], "at": [1, 2, 3, 4], "us": ["03/04/2026"] * 4,
        "gap": [1, None, 2, 3], "nan": [1.0, float("nan"), None, 2.0], "list": [[1]] * 4,
    }  # fmt: skip
    with refused(SettingError, ValueError, said):
        from_data(rows, **{"periods": 2, **options} if "time" in options else options)
