"""The notebooks of docs/notebooks: run them, and show them as pages.

`python -m website.notebooks [FILE]...` runs notebooks and writes their outputs again, all unless
some are given. A page shows the outputs that are in the file; a test runs the notebooks and
compares them with it.
"""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from website import HERE, ROOT
from website.links import Links

FOLDER = ROOT / "docs" / "notebooks"
ORDER = ("first-policy", "comparing", "late-rewards", "from-a-log", "fleet")
Cell = dict[str, Any]


def paths() -> list[Path]:
    """Return the notebooks, in the order of the gallery; new ones are the last."""
    found = {path.stem: path for path in sorted(FOLDER.glob("*.ipynb"))}
    return [found[name] for name in [*ORDER, *(n for n in found if n not in ORDER)]]


def cells_of(path: Path) -> list[Cell]:
    """Return the cells of a notebook."""
    cells: list[Cell] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return cells


def source_of(cell: Cell) -> str:
    """Return the text of a cell."""
    return "".join(cell["source"])


def run(path: Path) -> list[list[dict[str, Any]]]:
    """Run the cells of a notebook in IPython, in an empty folder; return their outputs."""
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    config = Config()
    config.HistoryManager.hist_file = ":memory:"
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(config=config)
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as empty:
        os.chdir(empty)
        try:
            codes = [cell for cell in cells_of(path) if cell["cell_type"] == "code"]
            return [_outputs(shell, source_of(cell), path) for cell in codes]
        finally:
            os.chdir(before)


def _outputs(shell: Any, source: str, path: Path) -> list[dict[str, Any]]:
    from IPython.utils.capture import capture_output

    values: list[dict[str, Any]] = []

    def shown_last(value: Any) -> None:
        # A semicolon at the end of a cell says that its value is not to be shown.
        if value is not None and not shell.displayhook.quiet():
            values.append(shell.display_formatter.format(value)[0])

    shell.display_trap.hook = shown_last
    with capture_output() as captured:
        ran = shell.run_cell(source, store_history=True)
    if not ran.success:
        raise RuntimeError(f"{path.name}: {source}") from (
            ran.error_in_exec or ran.error_before_exec
        )
    outputs: list[dict[str, Any]] = []
    if captured.stdout:
        outputs.append({"name": "stdout", "output_type": "stream", "text": _lines(captured.stdout)})
    for given in [*values, *(shown.data for shown in captured.outputs)]:
        data = {kind: _lines(value) for kind, value in sorted(given.items())}
        if "image/png" in data:
            data["text/plain"] = ["<Figure>"]
        outputs.append({"data": data, "metadata": {}, "output_type": "display_data"})
    return outputs


def _lines(value: str | bytes) -> list[str]:
    if isinstance(value, bytes):
        value = base64.b64encode(value).decode() + "\n"
    return value.splitlines(keepends=True)


def write(path: Path) -> None:
    """Run a notebook and write its outputs into it."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    codes = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, (cell, outputs) in enumerate(zip(codes, run(path), strict=True), 1):
        cell["execution_count"] = number
        cell["outputs"] = outputs
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def texts(outputs: list[dict[str, Any]]) -> list[str]:
    """Return what outputs say, without their pictures; addresses of objects are left out."""
    found = []
    for output in outputs:
        told = output.get("text") or output["data"].get("text/plain", [])
        found.append(re.sub(r"0x[0-9a-f]+", "0x", "".join(told)))
    return found


def title_of(path: Path) -> tuple[str, str]:
    """Return the title of a notebook and its first paragraph."""
    title, _, rest = source_of(cells_of(path)[0]).partition("\n")
    return title.removeprefix("# "), rest.strip().partition("\n\n")[0]


def page(path: Path, links: Links, folder: Path) -> str:
    """Return a notebook as Markdown; its pictures are written to a folder."""
    name = f"notebooks/{path.stem}"
    lines: list[str] = []
    pictures = 0
    for cell in cells_of(path):
        if cell["cell_type"] == "markdown":
            lines += [links.rewritten(source_of(cell), path, name), ""]
            continue
        lines += ["```python", source_of(cell), "```", ""]
        for output in cell["outputs"]:
            data = output.get("data", {})
            if "image/png" in data:
                pictures += 1
                file = f"{path.stem}-{pictures}.png"
                (folder / file).write_bytes(base64.b64decode("".join(data["image/png"])))
                lines += [f"![The picture that this cell draws]({file})", ""]
            elif "text/html" in data:
                html = "".join(data["text/html"]).replace("<table", '<table class="docutils"', 1)
                wrapped = f'<div class="table-wrapper container">{html}</div>'
                lines += ["```{raw} html", wrapped, "```", ""]
            else:
                lines += ["```text", texts([output])[0].rstrip("\n"), "```", ""]
    lines.insert(2, f"*This page is a notebook:* {{download}}`{path.name}`\n")
    return "\n".join(lines)


def index() -> str:
    """Return the page that lists the notebooks."""
    lines = [(HERE / "notebooks.md").read_text(encoding="utf-8")]
    for path in paths():
        title, said = title_of(path)
        lines.append(f"- [{title}]({path.stem}.md): {said}")
    toctree = "\n".join(path.stem for path in paths())
    return "\n".join([*lines, "", "```{toctree}", ":hidden:", "", toctree, "```", ""])


if __name__ == "__main__":
    chosen = [Path(name).resolve() for name in sys.argv[1:]] or paths()
    if len(chosen) == 1:
        write(chosen[0])
        print(f"{chosen[0].name}: written")
    else:
        # Each in a process of its own, as Jupyter runs it: figures are shown by the first shell.
        for path in chosen:
            subprocess.run([sys.executable, "-m", "website.notebooks", str(path)], check=True)
