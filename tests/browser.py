"""A real browser for tests: headless Chromium, which `make browser` installs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAMES = ("chromium", "chromium-browser", "google-chrome")
Scheme = Literal["light", "dark"]
FLAGS = ["--disable-gpu", "--disable-background-networking", "--disable-component-update"]
FLAGS += ["--disable-sync", "--no-first-run"]


@dataclass
class Seen:
    """What went wrong, or went out, while a page was open."""

    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


_shared: list[Browser] = []


@contextmanager
def launched() -> Iterator[Browser]:
    """A browser, in which `opened` opens its pages meanwhile: a start takes about a second.

    Playwright's loop runs until the end, so tests with an asyncio of their own must come after it.
    """
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.fail("no Chromium: `make browser` installs it")
    from playwright.sync_api import sync_playwright  # not installed by `make test-lowest`

    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS + root)
        _shared.append(browser)
        try:
            yield browser
        finally:
            _shared.pop()
            browser.close()


@contextmanager
def opened(width: int, scheme: Scheme = "light") -> Iterator[tuple[Page, Seen]]:
    """An empty page of a width in a colour scheme, and what is seen of it."""
    with nullcontext(_shared[-1]) if _shared else launched() as browser:
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        seen = Seen()
        page.on(
            "console",
            lambda said: seen.errors.append(said.text) if said.type == "error" else None,
        )
        page.on("pageerror", lambda error: seen.errors.append(str(error)))
        page.on(
            "requestfailed",
            # A page that ends a stream, or is left, aborts what it was loading.
            lambda request: (
                None
                if request.failure == "net::ERR_ABORTED"
                else seen.errors.append(request.url[:80])
            ),
        )
        page.on("request", lambda request: seen.requests.append(request.url))
        try:
            yield page, seen
        finally:
            page.close()


def missing_pictures(page: Page) -> int:
    """How many pictures have no picture in them."""
    return int(
        page.evaluate(
            "Array.from(document.images)"
            ".filter(image => !image.complete || image.naturalWidth === 0).length"
        )
    )


def sticking_out(page: Page) -> list[str]:
    """What reaches beyond the right edge, so that the page scrolls sideways.

    The contents of a box that scrolls by itself, or ends in an ellipsis, are left out; the box is
    not.
    """
    found = page.evaluate(
        """() => {
          const width = document.documentElement.clientWidth;
          const cuts = e => {
            const style = getComputedStyle(e);
            const scrolls = ['auto', 'scroll'].includes(style.overflowX);
            return scrolls || style.textOverflow === 'ellipsis';
          };
          const inBox = e => {
            for (let p = e.parentElement; p; p = p.parentElement) if (cuts(p)) return true;
            return false;
          };
          const wide = Array.from(document.body.querySelectorAll('*'))
            .filter(e => !inBox(e) && e.getBoundingClientRect().right > width + 0.5)
            .map(e => e.tagName + ' ' + e.textContent.slice(0, 40));
          if (document.documentElement.scrollWidth > width) wide.push('the page');
          return wide;
        }"""
    )
    return [str(one) for one in found]
