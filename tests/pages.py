"""Pages of documentation as tests see them: blocks, what they should print, commands, links.

A block of Python or of commands that is followed by a `text` block shows its output there. In a
`sample` block, numbers are those of one run, such as times, and only the words are compared. A
block of Python whose first line is `# name.py` is a file that later blocks import.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tomllib
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
SHELL_TIMED = "Mpulls/s"
"""The column of `handful run` that differs from one run to the next."""

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\((?!https?:)([^)#]*)(#[^)]*)?\)")
_NUMBER = re.compile(r"\d[\d.,]*")
_PASSED_ON = ("HOME", "PYTHONPATH", "HANDFUL_CACHE_DIR", "XDG_CACHE_HOME")


@dataclass(frozen=True)
class Block:
    """A fenced block, the line of the page it starts on, and the output that the page shows."""

    language: str
    text: str
    line: int
    shown: str | None
    is_sample: bool = False

    def shows(self, printed: str) -> bool:
        """Return whether the page shows this output; a block without output prints nothing."""
        shown = self.shown or ""
        if self.is_sample:
            return _NUMBER.sub("#", printed) == _NUMBER.sub("#", shown)
        return printed == shown

    @property
    def file(self) -> str | None:
        """The name of a file, if the block is one: its first line is a comment such as `# x.py`."""
        named = re.match(r"# (\w+\.py)\n", self.text)
        return named[1] if named else None

    @property
    def commands(self) -> list[str]:
        """The lines of a block of commands, comments left out."""
        lines = (line.partition(" #")[0].strip() for line in self.text.splitlines())
        return [line for line in lines if line]


def blocks(page: str, *languages: str) -> list[Block]:
    """The blocks of a page in these languages, in order."""
    fences = list(_FENCE.finditer(page))
    following: list[re.Match[str] | None] = [*fences[1:], None]
    found = []
    for fence, after in zip(fences, following, strict=True):
        shown = after[2] if after is not None and after[1] in ("text", "sample") else None
        line = page.count("\n", 0, fence.start(2)) + 1
        is_sample = after is not None and after[1] == "sample"
        found.append(Block(fence[1], fence[2], line, shown, is_sample))
    return [block for block in found if block.language in languages]


def printed_by(block: Block, names: dict[str, Any], page: str) -> str:
    """What a block of Python prints; an error points to its line of the page."""
    code = compile("\n" * (block.line - 1) + block.text, page, "exec")
    with redirect_stdout(io.StringIO()) as printed:
        exec(code, names)
    return printed.getvalue()


def run_page(path: Path, folder: Path) -> None:
    """Run the blocks of a page in a folder, one after the other, and compare what they print."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(path.read_text(), "python", "console"):
        where = f"{path.name}:{block.line}"
        if block.file:
            (folder / block.file).write_text(block.text)
        elif block.language == "python":
            printed = printed_by(block, names, where)
            assert block.shows(printed), f"{where} prints:\n{printed}"
        else:
            own = [line for line in block.commands if line.startswith("handful ")]
            printed = "".join(run_command(line, folder) for line in own)
            if block.shown is not None:
                assert table_words(printed) == table_words(block.shown), f"{where}:\n{printed}"


def links(page: str) -> list[tuple[str, str]]:
    """The relative links of a page: file, '' for the page itself, and heading, '' for none."""
    return _LINK.findall(_FENCE.sub("", page))


def headings(page: str) -> set[str]:
    """The headings of a page as GitHub writes them in links."""
    titles = re.findall(r"^#+ (.*)$", _FENCE.sub("", page), flags=re.MULTILINE)
    return {"#" + re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def install_lines() -> set[str]:
    """The commands that install handful: plain, and with each extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return {"pip install .", *(f"pip install '.[{e}]'" for e in project["optional-dependencies"])}


def environment() -> dict[str, str]:
    """Little but the folder of this Python's programs, so that a page needs nothing else."""
    passed_on = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.defpath])
    return {"MPLBACKEND": "agg", "PATH": programs, **passed_on}


def run_python(code: str, folder: Path) -> str:
    """What a script prints, run in a folder by a Python of its own."""
    script = folder / "example.py"
    script.write_text(code)
    return _finished([sys.executable, str(script)], folder)


def run_command(line: str, folder: Path) -> str:
    """What a command line prints, run in a folder."""
    return _finished(["sh", "-c", line], folder)


def _finished(command: list[str], folder: Path) -> str:
    ran = subprocess.run(
        command, capture_output=True, text=True, cwd=folder, env=environment(), check=False
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def table_words(text: str) -> list[list[str]]:
    """A table of `handful`, drawn or with tabs, as words: no rules, no timings."""
    rows = [line.split() for line in text.splitlines() if line.strip(" ─")]
    if rows and SHELL_TIMED in rows[0]:
        timed = rows[0].index(SHELL_TIMED) - len(rows[0])
        for row in rows:
            del row[timed]
    return rows
