"""Fresh environments: a Python, a wheel with an extra, and the checks that run in them."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.pages import ROOT
from tests.release.extras import Requirement, normal, numbers
from tests.release.pythons import Python

LOWEST = ROOT / "constraints-lowest.txt"
NEWER = {"river": {"pandas": "2.2.3", "scipy": "1.14.1"}}
"""What an extra needs in newer versions than handful itself, by the extra."""
QUIET = ("-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input")
PASSED_ON = ("PATH", "LANG", "LC_ALL", "TMPDIR", "SSL_CERT_FILE", "http_proxy", "https_proxy")
"""And PIP_...: no other variable of this process reaches an environment."""
_VERSIONS = (
    "import json; from importlib.metadata import distributions as d; "
    "print(json.dumps({each.name: each.version for each in d()}))"
)


class FailedError(Exception):
    """A step that failed, with the end of what it printed."""


@dataclass
class Environment:
    """An empty environment of a Python, with a home and a folder for files of its own."""

    python: Python
    folder: Path
    kernels: Path
    """The cache of kernels, which environments of one Python share."""
    lowest: bool
    _variables: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        home = self.folder / "home"
        home.mkdir(parents=True)
        kept = {
            name: value
            for name, value in os.environ.items()
            if name in PASSED_ON or name.startswith("PIP_")
        }
        self._variables = {**kept, "HOME": str(home), "HANDFUL_CACHE_DIR": str(self.kernels)}
        self._run([self.python.program, "-m", "venv", str(self.folder / "venv")])

    @property
    def program(self) -> str:
        """The interpreter of the environment."""
        scripts = "Scripts" if os.name == "nt" else "bin"
        return str(self.folder / "venv" / scripts / "python")

    def install(self, what: Path, extras: Sequence[str]) -> None:
        """Install a wheel or an sdist with extras, and nothing that they do not need."""
        named = f"[{','.join(extras)}]" if extras else ""
        constrained = ("-c", str(self.constraints(extras))) if self.lowest else ()
        requirement = f"handful{named} @ {what.as_uri()}"
        self._run([self.program, *QUIET, "install", "--no-compile", *constrained, requirement])
        self._run([self.program, *QUIET, "check"])

    def constraints(self, extras: Iterable[str]) -> Path:
        """Return a file of the lowest versions that these extras work with."""
        newer = {name: v for extra in extras for name, v in NEWER.get(extra, {}).items()}
        lines = []
        for line in LOWEST.read_text(encoding="utf-8").splitlines():
            name, given, _ = line.partition("==")
            lines.append(
                f"{name}=={newer[normal(name)]}" if given and normal(name) in newer else line
            )
        path = self.folder / "constraints.txt"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    def versions(self) -> dict[str, str]:
        """Return the versions of all packages that are installed."""
        said = json.loads(self._run([self.program, "-c", _VERSIONS]))
        return {normal(name): version for name, version in said.items()}

    def check_versions(self, needs: Iterable[Requirement]) -> None:
        """Check that what an extra declares is there, and the lowest version if that is asked."""
        there = self.versions()
        for package, lowest in needs:
            if package not in there:
                raise FailedError(f"{package} is declared and was not installed")
            if self.lowest and numbers(there[package]) != numbers(lowest):
                raise FailedError(
                    f"{package} {there[package]} was installed, and {lowest} is declared: "
                    f"name it in {LOWEST.name}"
                )

    def check(self, kit: Path, name: str, *words: str) -> str:
        """Run a check; return the last line that it prints."""
        said = self._run([self.program, "-m", f"tests.release.checks.{name}", *words], kit)
        return said.strip().rpartition("\n")[2]

    def _run(self, command: Sequence[str], folder: Path | None = None) -> str:
        ran = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            cwd=folder or self.folder,
            env=self._variables,
        )
        if ran.returncode:
            shown = (ran.stdout + ran.stderr).strip().splitlines()[-25:]
            raise FailedError(f"{' '.join(command[1:6])} ...\n" + "\n".join(shown))
        return ran.stdout


@dataclass(frozen=True)
class Outcome:
    """What came of one environment."""

    python: Python
    lowest: bool
    name: str
    said: str
    error: str | None
    seconds: float

    def line(self) -> str:
        """Return a line of the table."""
        which = "lowest" if self.lowest else "newest"
        word = "FAILED" if self.error else "ok"
        return (
            f"{self.python.version:<8} {which:<7} {self.name:<12} {word:<7} "
            f"{self.seconds:6.0f}  {self.said}"
        )


HEAD = f"{'Python':<8} {'deps':<7} {'extra':<12} {'':<7} {'s':>6}  what was done"


class Clock:
    """Seconds since it was made."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    def seconds(self) -> float:
        """Return them."""
        return time.monotonic() - self._start
