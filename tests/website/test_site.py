"""The site as it is built: no warning, every link leads somewhere, and it works from files.

The pictures of policies take a minute, so they are drawn once: `website.pictures` keeps them.
"""

from __future__ import annotations

import posixpath
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe

import handful
from tests.browser import Scheme, launched, missing_pictures, opened, sticking_out
from tests.pages import ROOT
from tests.website.tasks import CLICKS, TASKS, Task, clicks

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.xdist_group("site")
WIDTHS = (390, 1280)
LOOKED_AT = (
    "index",
    "policies/index",
    "policies/race",
    "api/policies",
    "mathematics",
    "http-api",
    "choosing",
    "notebooks/first-policy",
)


@dataclass
class Found(HTMLParser):
    """The links of a page, those in its text alone, what it loads, and its anchors."""

    links: list[str] = field(default_factory=list)
    in_text: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)
    is_text: bool = False

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "article":
            self.is_text = True
        if "id" in given:
            self.anchors.add(given["id"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
            if self.is_text:
                self.in_text.append(given["href"])
        for name in ("src", "data"):
            if name in given and tag in ("img", "script", "iframe", "object", "source"):
                self.loaded.append(given[name])
        if tag == "link" and given.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.append(given["href"])

    def handle_endtag(self, tag: str) -> None:
        if tag == "article":
            self.is_text = False


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built") / "site"
    built = subprocess.run(
        [sys.executable, "-m", "website", str(folder)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr[-5000:]
    assert "WARNING" not in built.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Found]:
    found = {}
    for path in site.rglob("*.html"):
        page = Found()
        page.feed(path.read_text(encoding="utf-8"))
        found[path.relative_to(site).as_posix()] = page
    return found


def target_of(page: str, link: str) -> tuple[str, str]:
    """The file and the anchor that a link of a page leads to."""
    parts = urlsplit(link)
    file = posixpath.normpath(posixpath.join(posixpath.dirname(page), unquote(parts.path)))
    return (file if parts.path else page), unquote(parts.fragment)


def test_every_link_leads_somewhere(site: Path, pages: dict[str, Found]) -> None:
    assert len(pages) > 100
    wrong = []
    for name, page in pages.items():
        for link in page.links:
            if urlsplit(link).scheme:
                continue
            file, anchor = target_of(name, link)
            if not (site / file).exists():
                wrong.append(f"{name}: {link}")
            elif anchor and file in pages and anchor not in pages[file].anchors:
                wrong.append(f"{name}: {link}: no such anchor")
    assert not wrong


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[str, Found]) -> None:
    for name, page in pages.items():
        for loaded in page.loaded:
            assert not urlsplit(loaded).scheme, f"{name}: {loaded}"
            assert (site / target_of(name, loaded)[0]).exists(), f"{name}: {loaded}"
    for path in site.rglob("*.css"):
        assert "http" not in path.read_text(encoding="utf-8").replace("http://www.w3.org", "")


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.what)
def test_a_newcomer_finds_it_within_two_clicks(pages: dict[str, Found], task: Task) -> None:
    """By links of the text alone, without the sidebar and the search."""

    def links_of(page: str) -> Iterator[str]:
        for link in pages[page].in_text if page in pages else []:
            if not urlsplit(link).scheme:
                yield target_of(page, link)[0]

    page = f"{task.page}.html"
    assert clicks("index.html", links_of).get(page, CLICKS + 1) <= CLICKS
    assert task.anchor in pages[page].anchors


def test_every_policy_has_a_picture(site: Path) -> None:
    for name in handful.POLICIES:
        text = (site / "policies" / f"{name}.html").read_text(encoding="utf-8")
        assert f"{name}.svg" in text
        assert len(list(site.rglob(f"{name}.svg"))) == 1


@pytest.fixture(scope="module")
def one_browser() -> Iterator[None]:
    with launched():
        yield


def shown(page: Page, site: Path, name: str) -> None:
    page.goto((site / f"{name}.html").as_uri())


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", LOOKED_AT)
def test_a_page_fits_the_window(site: Path, one_browser: None, name: str, width: int) -> None:
    with opened(width) as (page, seen):
        shown(page, site, name)
        # The drawers of the theme wait beside the window.
        page.add_style_tag(content=".sidebar-drawer, .toc-drawer { display: none !important }")
        assert sticking_out(page) == []
        assert missing_pictures(page) == 0
        assert seen.errors == []
        assert all(url.startswith("file:") for url in seen.requests)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["index", "policies/race", "api/policies", "mathematics"])
def test_texts_have_contrast(site: Path, one_browser: None, name: str, scheme: Scheme) -> None:
    with opened(1280, scheme) as (page, _):
        shown(page, site, name)
        found = Axe().run(page, options={"runOnly": ["color-contrast"]})
        assert [rule["id"] for rule in found.response["passes"]] == ["color-contrast"]
        assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize(
    ("words", "expected"),
    [("race", "policies/race"), ("redis", "key-value"), ("late rewards", "notebooks/late-rewards")],
)
def test_the_search_works_from_a_file(
    site: Path, one_browser: None, words: str, expected: str
) -> None:
    with opened(1280) as (page, seen):
        shown(page, site, "index")
        page.fill(".sidebar-search", words)
        page.press(".sidebar-search", "Enter")
        page.wait_for_selector("#search-results .search-summary:has-text('found')")
        results = page.locator("#search-results li a")
        found = [results.nth(i).get_attribute("href") or "" for i in range(results.count())]
        assert any(link.startswith(f"{expected}.html") for link in found[:5]), found[:5]
        assert not any(link.startswith("source/") for link in found)
        assert seen.errors == []
        results.first.click()
        page.wait_for_selector("article h1")
        assert "search.html" not in page.url


def test_a_formula_is_drawn(site: Path, one_browser: None) -> None:
    with opened(1280) as (page, _):
        shown(page, site, "mathematics")
        height = (
            "Math.max(...Array.from(document.querySelectorAll('mfrac'))"
            ".map(e => e.getBoundingClientRect().height))"
        )
        assert page.evaluate(height) > 25  # one above the other
        assert "\\frac" not in page.inner_text("article")
