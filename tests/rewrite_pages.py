"""Write the output that pages show again: `python -m tests.rewrite_pages docs/tutorial.md`.

For after a change that is meant to change the output. What is printed replaces the `text` block
after its code; look at the diff, and at the sentences around it. `sample` blocks stay as they are,
and the output of commands is only printed, since pages may show it as a table is drawn.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.pages import Block, blocks, printed_by, run_command, run_python, table_words


def rewrite(path: Path, folder: Path) -> None:
    """Run the blocks of a page in a folder, and replace the outputs that differ."""
    page = path.read_text()
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page, "python", "console"):
        where = f"{path.name}:{block.line}"
        if block.file:
            (folder / block.file).write_text(block.text)
        elif block.language == "python":
            alone = path.name == "README.md"
            printed = run_python(block.text, folder) if alone else printed_by(block, names, where)
            if not block.shows(printed):
                page = with_output(page, block, printed)
                print(f"{where}: written again")
        else:
            own = [line for line in block.commands if line.startswith("handful ")]
            printed = "".join(run_command(line, folder) for line in own)
            if block.shown is not None and table_words(printed) != table_words(block.shown):
                print(f"{where}: to be changed by hand\n{printed}")
    path.write_text(page)


def with_output(page: str, block: Block, printed: str) -> str:
    """Return the page with another output after a block."""
    before = f"{block.text}```\n\n```text\n{block.shown}```"
    if block.is_sample or page.count(before) != 1:
        raise SystemExit(f"the output of the block at line {block.line} cannot be replaced")
    return page.replace(before, f"{block.text}```\n\n```text\n{printed}```")


if __name__ == "__main__":
    os.environ["MPLBACKEND"] = "agg"
    for name in sys.argv[1:]:
        found = Path(name).resolve()
        with tempfile.TemporaryDirectory() as made:
            os.chdir(made)
            sys.path.insert(0, made)
            rewrite(found, Path(made))
