"""Assemble what Sphinx reads: the files of the tree, and the pages that are generated."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from handful.service.openapi import document
from website import HERE, ROOT, SOURCE, notebooks
from website.contents import sections, written
from website.http_api import page as http_api_page
from website.links import SOURCES, Links
from website.policy_pages import all_pages
from website.reference import all_written

LANGUAGES = {"console": "bash", "sample": "text"}
"""Languages of blocks that mean something to the tests, and what Pygments calls them."""
LEXERS = {
    ".c": "c", ".css": "css", ".html": "html", ".js": "js", ".json": "json", ".py": "python",
    ".sql": "sql", ".toml": "toml", ".yml": "yaml",
}  # fmt: skip


def stage(folder: Path = SOURCE, pictures: Path | None = None) -> None:
    """Write the source of the site to a folder, which is emptied first.

    Without a folder of `pictures`, the pages of policies have none.
    """
    shutil.rmtree(folder, ignore_errors=True)
    links = Links()
    texts = {"index": front()} | all_written() | {"http-api": http_api_page()}
    there = folder / "notebooks"
    there.mkdir(parents=True)
    texts["notebooks/index"] = notebooks.index()
    for path in notebooks.paths():
        texts[f"notebooks/{path.stem}"] = notebooks.page(path, links, there)
        shutil.copy(path, there)
    texts |= all_pages(links, pictures is not None)
    for name, path in written().items():
        texts[name] = links.rewritten(path.read_text(encoding="utf-8"), path, name)
    texts |= {f"{SOURCES}/{path}": source(path) for path in sorted(links.shown)}
    for name, text in texts.items():
        to = folder / f"{name}.md"
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(for_pygments(text), encoding="utf-8")
    shutil.copytree(ROOT / "docs" / "images", folder / "images")
    if pictures is not None:
        shutil.copytree(pictures, folder / "policies", dirs_exist_ok=True)
    (folder / "openapi.json").write_bytes(document())


def front() -> str:
    """Return the front page, with the tables of contents of all sections."""
    text = (HERE / "front.md").read_text(encoding="utf-8")
    trees = [
        f"```{{toctree}}\n:hidden:\n:caption: {title}\n\n" + "\n".join(pages) + "\n```\n"
        for title, pages in sections()
    ]
    return "\n".join([text, *trees])


def source(path: str) -> str:
    """Return a page that shows a file of the tree. The search leaves it out."""
    text = (ROOT / path).read_text(encoding="utf-8")
    lexer = LEXERS.get(Path(path).suffix, "text")
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return (
        f"---\norphan: true\nnosearch: true\n---\n# `{path}`\n\n{fence}{lexer}\n{text}\n{fence}\n"
    )


def for_pygments(text: str) -> str:
    """Return the text with languages of blocks that Pygments knows."""
    for ours, theirs in LANGUAGES.items():
        text = re.sub(rf"^```{ours}$", f"```{theirs}", text, flags=re.MULTILINE)
    return text
