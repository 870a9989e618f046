"""Try the wheel in fresh environments: `make test-wheel`, or `python -m tests.release --help`.

Builds the sdist and the wheel. For each Python that is found: the wheel without extras, the sdist,
each extra alone and then with those that it is used with, all with the newest packages that pip
finds. On the lowest Python the same again with the versions of constraints-lowest.txt. Prints a
line for each environment as it is done, errors on standard error, and exits with 1 after one.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests import postgres
from tests.pages import ROOT
from tests.release.environments import HEAD, Clock, Environment, FailedError, Outcome
from tests.release.extras import users_extras
from tests.release.kit import has_check, write_kit
from tests.release.pythons import Python, classified, found

USED_WITH = {
    "client": ["serve"],
    "cluster": ["sim"],
    "openfeature": ["serve"],
    "pandas": ["sim"],
    "postgres": ["serve"],
}
"""What the check of an extra needs besides: a service to call, a simulator whose cells to run."""
WITH_STORE = {"postgres"}
"""Checks that are given a store in PostgreSQL."""


def arguments() -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser("python -m tests.release", description="Try the wheel.")
    parser.add_argument(
        "pythons",
        nargs="*",
        metavar="PYTHON",
        help="commands or minor versions (3.12); those on the PATH unless given",
    )
    parser.add_argument("--lowest", action="store_true", help="only the lowest versions")
    parser.add_argument("--newest", action="store_true", help="only the newest versions")
    parser.add_argument(
        "--extra",
        action="append",
        dest="only",
        metavar="NAME",
        help="only this one; bare and sdist are the wheel and the sdist without extras",
    )
    parser.add_argument("--dist", type=Path, help="a folder with a wheel and an sdist, made before")
    return parser.parse_args()


def built(folder: Path) -> Path:
    """Build the sdist and, from it, the wheel into a folder, and return the folder."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode:
        raise SystemExit(made.stdout + made.stderr)
    return folder


def only_file(folder: Path, pattern: str) -> Path:
    """Return the only file of a kind in a folder."""
    files = sorted(folder.glob(pattern))
    if len(files) != 1:
        raise SystemExit(f"{folder} has {len(files)} files {pattern}: there must be one")
    return files[0].resolve()


def tried(environment: Environment, name: str, dist: Path, kit: Path) -> str:
    """Install one extra, or none, and run its checks; return what they print."""
    needs = users_extras().get(name, [])
    if name == "sdist":
        environment.install(only_file(dist, "*.tar.gz"), [])
        return environment.check(kit, "bare")
    wheel = only_file(dist, "*.whl")
    alone = [] if name == "bare" else [name]
    environment.install(wheel, alone)
    environment.check_versions(needs)
    said = environment.check(kit, "alone", *(need.package for need in needs))
    if name != "bare" and not has_check(name):
        return said
    if more := USED_WITH.get(name):
        environment.install(wheel, [*alone, *more])
    store = [postgres.shared().new_store()] if name in WITH_STORE else []
    return f"{said}; {environment.check(kit, name, *store)}"


def outcomes(
    python: Python, lowest: bool, names: list[str], dist: Path, work: Path
) -> Iterator[Outcome]:
    """Yield what came of each environment of one Python. One is on the disk at a time."""
    kit = work / "kit"
    kernels = work / f"kernels-{python.version}-{lowest}"
    for name in names:
        clock = Clock()
        folder = work / "environment"
        said, error = "", None
        try:
            said = tried(Environment(python, folder, kernels, lowest), name, dist, kit)
        except FailedError as failed:
            error = str(failed)
        yield Outcome(python, lowest, name, said, error, clock.seconds())
        shutil.rmtree(folder)


def main() -> int:
    """Try everything that is asked for; return the exit code."""
    asked = arguments()
    pythons = found(asked.pythons)
    names = asked.only or ["bare", "sdist", *users_extras()]
    unknown = set(names) - {"bare", "sdist", *users_extras()}
    if unknown:
        raise SystemExit(f"no such extra: {', '.join(sorted(unknown))}; there are {names}")
    rounds = [(python, False) for python in pythons if not asked.lowest]
    rounds += [(p, True) for p in pythons if p.minor == classified()[0] and not asked.newest]
    missing = sorted(set(classified()) - {python.minor for python in pythons})
    if not rounds:
        raise SystemExit("no Python to try the wheel with: name one, such as python3.12")
    failed = []
    with tempfile.TemporaryDirectory() as made:
        work = Path(made)
        dist = asked.dist or built(work / "dist")
        write_kit(work / "kit")
        print(HEAD, flush=True)
        for python, lowest in rounds:
            for outcome in outcomes(python, lowest, names, dist, work):
                print(outcome.line(), flush=True)
                if outcome.error is not None:
                    failed.append(outcome)
                    print(outcome.error, file=sys.stderr, flush=True)
    if failed:
        names = [f"{each.name} on {each.python.version}" for each in failed]
        print(f"\n{len(failed)} failed: {', '.join(names)}")
    if missing:
        print(f"\nnot tried: Python {', '.join(missing)}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
