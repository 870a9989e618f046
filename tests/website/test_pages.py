"""The source of the site: every page is there, complete, and within reach.

What Sphinx makes of it is looked at in `test_site.py`.
"""

from __future__ import annotations

import json
import math
import posixpath
import re
from importlib import import_module
from pathlib import Path

import pytest

import handful
from handful.cli.app import app
from handful.service.openapi import document
from tests.pages import ROOT, blocks, headings, install_lines, printed_by
from tests.website.tasks import CLICKS, TASKS, Task, clicks
from website import HERE
from website.contents import GENERATED, SECTIONS, sections, written
from website.links import Links
from website.policy_pages import memory_given
from website.reference import pages as reference_pages
from website.signatures import arguments_of
from website.staging import stage

pytestmark = pytest.mark.xdist_group("site-source")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "source"
    stage(folder)
    return folder


def text_of(source: Path, page: str) -> str:
    return (source / f"{page}.md").read_text(encoding="utf-8")


def test_every_page_of_the_tree_is_in_a_section_once() -> None:
    listed = [page for section in sections() for page in section.pages]
    assert len(listed) == len(set(listed))
    assert {path.stem for path in ROOT.glob("docs/*.md")} <= set(listed)
    assert set(listed) == {*written(), *GENERATED}


def test_every_page_has_a_place_of_its_own() -> None:
    """A page without one is in the last section: put it where it belongs."""
    placed = {page for section in SECTIONS for page in section.pages}
    assert {*written(), *GENERATED} <= placed


def test_every_page_is_staged(source: Path) -> None:
    there = {path.relative_to(source).with_suffix("").as_posix() for path in source.rglob("*.md")}
    assert {page for section in sections() for page in section.pages} <= there
    assert {f"policies/{name}" for name in handful.POLICIES} <= there


@pytest.mark.parametrize("name", handful.POLICIES)
def test_the_page_of_a_policy_says_all_of_it(source: Path, name: str) -> None:
    cls, text = handful.POLICIES[name], text_of(source, f"policies/{name}")
    assert cls.summary in text
    assert (cls.citation.partition(":")[0] or "Roy Chaudhuri") in text
    assert re.search(r"- Saved state: [\d,]+ bytes", text)
    assert all(f"| `{key}` |" in text for key in cls.settings)
    assert f"]({name}.md)" in text_of(source, "policies/index")
    definition = text.partition("## Definition")[2].partition("## Example")[0]
    assert len(definition) > 80


@pytest.mark.parametrize("name", ["race", "ts", "qucb-m", "cover", "sqrt-run-tabulated"])
def test_the_example_of_a_policy_prints_what_is_shown(source: Path, name: str) -> None:
    call, example = blocks(text_of(source, f"policies/{name}"), "python")
    assert example.shown is not None
    assert example.shows(printed_by(example, {}, name))
    values: dict[str, object] = {"T": 100}
    values |= {"arms": 2 if name == "cover" else 5, "memory": memory_given(handful.POLICIES[name])}
    if handful.POLICIES[name].endless:
        values["arms"] = str
    made = eval(call.text, {"handful": handful, **values})  # its defaults are accepted
    assert type(made) is handful.POLICIES[name]


@pytest.mark.parametrize("name", handful.POLICIES)
def test_the_signature_of_a_policy_has_every_setting(name: str) -> None:
    cls = handful.POLICIES[name]
    for key, setting in cls.settings.items():
        [shown] = [each for each in arguments_of(cls) if each.startswith(f"{key}: ")]
        default = shown.partition(" = ")[2]
        if math.isnan(setting.default):
            assert default == ("" if cls.needs_horizon else "None")
        else:
            assert float(default) == setting.default


@pytest.mark.parametrize("module", ["handful", "handful.own", "handful.testing", "handful.client"])
def test_every_public_name_is_in_the_reference(module: str) -> None:
    shown = {entry.name for page in reference_pages() for entry in page.entries}
    public = {name for name in import_module(module).__all__ if not name.startswith("__")}
    missing = {
        name
        for name in public
        if not {f"{place}.{name}" for place in (module, "handful", "handful.errors")} & shown
    }
    assert not missing


def test_the_page_of_the_http_api_has_every_path_and_structure(source: Path) -> None:
    text, api = text_of(source, "http-api"), json.loads(document())
    for path, methods in api["paths"].items():
        assert all(f"### `{method.upper()} {path}`" in text for method in methods)
    for name, schema in api["components"]["schemas"].items():
        about = text.partition(f"\n### {name}\n")[2].partition("\n### ")[0]
        assert all(f"| `{field}` |" in about for field in schema.get("properties", {})), name
    assert json.loads((source / "openapi.json").read_text()) == api


def test_every_command_is_on_the_page_of_the_command_line(source: Path) -> None:
    text = text_of(source, "cli")
    assert all(f"handful {name}" in text for name in app.commands)


LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)#?([^)\s]*)\)")


def links_of(source: Path, page: str) -> list[tuple[str, str]]:
    """The pages that a page links to in its text, with the anchors."""
    text = re.sub(r"^(`{3,}).*?^\1", "", text_of(source, page), flags=re.DOTALL | re.MULTILINE)
    folder = posixpath.dirname(page)
    return [
        (posixpath.normpath(posixpath.join(folder, file)).removesuffix(".md") or page, anchor)
        for file, anchor in LINK.findall(text)
        if not file or file.endswith(".md")
    ]


def test_links_lead_to_pages(source: Path) -> None:
    for path in source.rglob("*.md"):
        page = path.relative_to(source).with_suffix("").as_posix()
        if page.startswith("source/"):
            continue
        for target, _ in links_of(source, page):
            assert (source / f"{target}.md").exists() or target == ".", f"{page}: {target}"


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.what)
def test_a_newcomer_finds_it_within_two_clicks(source: Path, task: Task) -> None:
    away = clicks("index", lambda page: [target for target, _ in links_of(source, page)])
    assert task.page in away, f"{task.what}: more than {CLICKS} clicks"
    assert f"#{task.anchor}" in headings(text_of(source, task.page))


def test_a_file_of_the_tree_is_shown_and_a_folder_is_not() -> None:
    links = Links()
    text = "[a](../src/handful/errors.py) [b](../src) [c](design.md#tickets) [d](images/fig1.png)"
    assert links.rewritten(text, ROOT / "docs" / "own-rule.md", "own-rule") == (
        "[a](source/src/handful/errors.py.md) "
        "[b](https://github.com/handful-bandits/handful/tree/main/src) "
        "[c](design.md#tickets) [d](images/fig1.png)"
    )
    assert links.shown == {"src/handful/errors.py"}
    benchmarks = ROOT / "benchmarks" / "README.md"
    assert links.rewritten("[x](../docs/cli.md)", benchmarks, "benchmarks") == "[x](cli.md)"
    assert links.rewritten("```\n[x](y.md)\n```", benchmarks, "z") == "```\n[x](y.md)\n```"


def test_the_front_page_shows_what_works() -> None:
    front = (HERE / "front.md").read_text(encoding="utf-8")
    [example] = blocks(front, "python")
    assert printed_by(example, {}, "front.md").endswith("bytes\n")
    given = [line for block in blocks(front, "console") for line in block.commands]
    assert given
    assert set(given) <= install_lines()
