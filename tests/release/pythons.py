"""The Pythons of this machine that handful is for: `python3.11`, `python3.12`, ... on the PATH."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from collections.abc import Sequence
from typing import NamedTuple

from tests.pages import ROOT

_ASK = (
    "import sys; print(sys.executable); print('.'.join(map(str, sys.version_info[:3]))); "
    "print('%d.%d' % sys.version_info[:2])"
)


class Python(NamedTuple):
    """An interpreter that was found."""

    program: str
    version: str
    minor: str
    """Such as 3.11."""


def classified() -> list[str]:
    """Return the minor versions that pyproject.toml names, such as 3.11."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    ends = [line.rpartition(" :: ")[2] for line in project["classifiers"] if ":: Python ::" in line]
    return [end for end in ends if end.startswith("3.")]


def asked(command: str) -> Python | None:
    """Return the interpreter behind a command; None if there is none, or it does not start.

    That a command exists does not say that it starts: a version manager leaves commands that only
    print which of its versions have them.
    """
    program = shutil.which(command)
    if program is None:
        return None
    said = subprocess.run([program, "-c", _ASK], capture_output=True, text=True, check=False)
    if said.returncode:
        return None
    executable, version, minor = said.stdout.split("\n")[:3]
    return Python(executable, version, minor)


def found(given: Sequence[str]) -> list[Python]:
    """Return the given interpreters, each of which must start, or else those that are there."""
    if not given:
        there = [asked(f"python{minor}") for minor in classified()]
        return [python for python in there if python is not None]
    pythons = []
    for command in given:
        python = asked(f"python{command}" if command[0].isdigit() else command)
        if python is None:
            raise SystemExit(
                f"{command} does not start: give commands or minor versions, such as "
                f"{' '.join(classified())}"
            )
        pythons.append(python)
    return pythons
