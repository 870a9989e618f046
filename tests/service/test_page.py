"""The page of `handful serve` in a real browser, beside a real server and real traffic."""

from __future__ import annotations

import random
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from threading import Event, Thread
from typing import Any

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import FloatRect, Locator, Page, expect

from handful.policies import POLICIES
from tests.browser import Scheme, Seen, opened, sticking_out
from tests.client.serving import served

pytestmark = [pytest.mark.xdist_group("page"), pytest.mark.usefixtures("one_browser")]

HEADLINES = [f"headline {number:03}" for number in range(300)]
PICTURES = {(1280, "light"): "service-page.png", (390, "dark"): "service-phone.png"}
"""What `make page-pictures` takes pictures of; docs/service.md shows them."""
SOON = 20_000.0  # milliseconds


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    with served(tmp_path) as address:
        yield address


@pytest.fixture
def pictures(request: pytest.FixtureRequest) -> Path | None:
    given = request.config.getoption("--pictures")
    return None if given is None else Path(given)


@contextmanager
def traffic(url: str, name: str, rate: int = 150, delay: float = 0.4) -> Iterator[None]:
    """Ask for decisions, and answer them after exponential delays; one in twenty is not answered.

    Every arm has a click rate of its own, between 0 and 0.5, most of them low.
    """
    stop = Event()
    failed: list[Exception] = []

    def run() -> None:
        world = random.Random(7)
        due: list[tuple[float, str, float]] = []
        try:
            with httpx.Client(base_url=url) as client:
                while not stop.wait(0.1):
                    asked = client.post(f"/v1/bandits/{name}/decisions", json={"n": rate // 10})
                    for decision in asked.raise_for_status().json()["decisions"]:
                        if world.random() < 0.95:
                            clicks = (
                                world.random() < random.Random(decision["arm"]).random() ** 3 / 2
                            )
                            at = time.monotonic() + world.expovariate(1 / delay)
                            due.append((at, decision["id"], float(clicks)))
                    now = time.monotonic()
                    rewards = [{"id": id, "reward": value} for at, id, value in due if at <= now]
                    due = [one for one in due if one[0] > now]
                    if rewards:
                        client.post("/v1/rewards", json={"rewards": rewards}).raise_for_status()
        except Exception as error:
            failed.append(error)

    thread = Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    assert not failed, failed


def create(url: str, name: str, **given: object) -> None:
    body = {"name": name, "memory": 4, "arms": HEADLINES[:20], **given}
    httpx.post(f"{url}/v1/bandits", json=body).raise_for_status()


def violations(page: Page) -> list[tuple[str, list[str]]]:
    """What axe-core finds wrong: the rule and the elements."""
    found = Axe().run(page).response["violations"]
    return [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in found]


def ready(page: Page, heading: str) -> None:
    expect(page.get_by_role("heading", level=1)).to_have_text(heading, timeout=SOON)


def number(place: Locator) -> int:
    said = place.inner_text().replace(",", "")
    return int(said) if said.isdigit() else -1


def until(what: str, holds: Callable[[], bool]) -> None:
    """Wait until a function is true."""
    end = time.monotonic() + SOON / 1000
    while not holds():
        assert time.monotonic() < end, f"never: {what}"
        time.sleep(0.1)


def place(page: Page, name: str) -> Locator:
    return page.locator(f"main [data-is='{name}']")


def clean(seen: Seen, url: str, expected: tuple[int, ...] = ()) -> None:
    """No error in the console but for statuses that were provoked; nothing from elsewhere."""
    provoked = tuple(f"status of {status} " for status in expected)
    assert [error for error in seen.errors if not any(p in error for p in provoked)] == []
    assert [one for one in seen.requests if not one.startswith(f"{url}/")] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_a_bandit_is_created_watched_and_its_incumbent_withdrawn(
    url: str, width: int, scheme: Scheme, pictures: Path | None
) -> None:
    with opened(width, scheme) as (page, seen):
        page.goto(url)
        ready(page, "No bandits yet")
        assert violations(page) == []
        assert sticking_out(page) == []
        page.get_by_label("Name", exact=True).fill("front")
        page.get_by_label("Arms, one per line").first.fill("\n".join(HEADLINES))
        expect(page.get_by_text("300 arms")).to_be_visible()
        page.get_by_role("button", name="Create bandit").click()
        ready(page, "front")
        expect(page.locator("#state")).to_have_text("Live")
        assert violations(page) == []

        with traffic(url, "front"):
            decisions, rewards = place(page, "decisions"), place(page, "decisions-note")
            until("decisions", lambda: number(decisions) > 100)
            until("waiting", lambda: number(place(page, "waiting")) > 0)
            expect(rewards).to_have_text(re.compile(r"\d+ rewards"))
            expect(page.locator("tr[data-mark=duel]").first).to_be_visible(timeout=SOON)
            expect(page.locator("tr[data-mark=recommended]")).to_have_count(1, timeout=SOON)
            expect(page.locator("tr[data-mark=recommended] .whisker")).to_have_count(3)
            expect(page.locator("path.line.best")).to_have_count(1, timeout=SOON)
            expect(page.locator("rect.stay.reign").first).to_be_visible()
            expect(place(page, "delays")).to_contain_text(re.compile(r"Median\s*\d+ ms"))
            changes(page.locator("path.line.rate"), "d")
            changes(page.locator("svg[aria-label^='Chart of the arms in memory']"), "aria-label")
            before = number(decisions)
            until("more decisions", lambda: number(decisions) > before)
            ticks = page.locator(".chart .axis text")
            clock = re.compile(r"\d\d:\d\d:\d\d")
            expect(ticks.filter(has_text=clock)).to_have_count(0)
            page.get_by_label("Charts across").select_option("time")
            expect(ticks.filter(has_text=clock).first).to_be_visible()
            page.get_by_label("Charts across").select_option("decisions")
            name = PICTURES.get((width, scheme))
            if pictures and name:
                time.sleep(45)
                photograph(page, width, pictures / name)
            assert violations(page) == []
            assert sticking_out(page) == []

            row = page.locator("tr[data-mark=recommended]")
            incumbent = row.locator(".label").inner_text()
            row.get_by_role("button", name=f"Withdraw {incumbent}").click()
            dialog = page.get_by_role("dialog", name="Withdraw an arm")
            expect(dialog.get_by_label("Arm")).to_have_value(incumbent)
            assert violations(page) == []
            dialog.get_by_role("button", name="Withdraw").click()
            expect(dialog).to_be_hidden()
            gone = page.locator(".arms .label").get_by_text(incumbent, exact=True)
            expect(gone).to_have_count(0, timeout=SOON)
            expect(place(page, "recommended")).not_to_have_text(incumbent)
            expect(place(page, "summary")).to_contain_text("299 arms")
            before = number(decisions)
            until("decisions after that", lambda: number(decisions) > before)
        clean(seen, url)


def changes(element: Locator, attribute: str) -> None:
    before = element.get_attribute(attribute)
    until(f"another {attribute}", lambda: element.get_attribute(attribute) != before)


def photograph(page: Page, width: int, path: Path) -> None:
    """Take a picture of a bandit: on a wide page down to its charts, on a phone as it opens."""
    charts = page.locator(".charts").bounding_box()
    assert charts is not None
    height = charts["y"] + charts["height"] + 16 if width > 500 else 900
    clip: FloatRect = {"x": 0, "y": 0, "width": width, "height": height}
    page.screenshot(path=path, full_page=True, clip=clip)


@pytest.mark.parametrize("width", [390, 1280])
def test_the_list_shows_bandits_as_they_change_and_leads_to_them(url: str, width: int) -> None:
    create(url, "front")
    create(url, "back", policy="ts", memory=None)
    with opened(width) as (page, seen):
        page.goto(url)
        ready(page, "Bandits")
        row = page.get_by_role("row").filter(has_text="front")
        with traffic(url, "front"):
            until("decisions", lambda: number(row.get_by_role("cell").nth(4)) > 50)
        assert violations(page) == []
        assert sticking_out(page) == []
        create(url, "later")
        expect(page.get_by_role("link", name="later")).to_be_visible(timeout=SOON)
        page.get_by_role("link", name="back").click()
        ready(page, "back")
        # Wide enough, the others stand beside it.
        beside = page.get_by_role("navigation", name="Bandits")
        expect(beside).to_be_visible(visible=width > 1000)
        clean(seen, url)


def test_a_problem_is_said_beside_the_form(url: str) -> None:
    create(url, "front")
    with opened(1280) as (page, seen):
        page.goto(f"{url}/#/new")
        ready(page, "New bandit")
        page.get_by_label("Name", exact=True).fill("front")
        page.get_by_label("Arms, one per line").first.fill("a\nb\n\n b \n")
        expect(page.get_by_text("3 arms, 1 of them more than once")).to_be_visible()
        page.get_by_role("button", name="Create bandit").click()
        expect(page.get_by_role("alert")).to_contain_text("front")
        assert violations(page) == []
        assert page.get_by_label("Name", exact=True).input_value() == "front"

        page.goto(f"{url}/#/bandits/front")
        ready(page, "front")
        page.get_by_role("button", name="Add arms").click()
        page.get_by_role("dialog").get_by_role("textbox").fill(HEADLINES[3])
        page.get_by_role("dialog").get_by_role("button", name="Add").click()
        expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text(HEADLINES[3])
        assert violations(page) == []
        page.get_by_role("dialog").get_by_role("textbox").fill("one more\nand another")
        page.get_by_role("dialog").get_by_role("button", name="Add").click()
        expect(place(page, "summary")).to_contain_text("22 arms")

        page.get_by_role("button", name="Withdraw an arm").click()
        page.get_by_role("dialog").get_by_role("textbox").fill("no such arm")
        page.get_by_role("dialog").get_by_role("button", name="Withdraw").click()
        expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("no such arm")
        page.get_by_role("dialog").get_by_role("textbox").fill("one more")
        page.get_by_role("dialog").get_by_role("button", name="Withdraw").click()
        expect(place(page, "summary")).to_contain_text("21 arms")
        clean(seen, url, expected=(404, 409, 422))


def test_settings_are_changed_and_a_bandit_is_deleted(url: str) -> None:
    create(url, "front")
    with opened(1280) as (page, seen):
        page.goto(f"{url}/#/bandits/front")
        ready(page, "front")
        page.get_by_role("button", name="Change").click()
        dialog = page.get_by_role("dialog", name="Change settings")
        dialog.get_by_label("Window").fill("90")
        dialog.get_by_label("Explore").fill("0.05")
        assert violations(page) == []
        dialog.get_by_role("button", name="Change").click()
        expect(place(page, "settings")).to_contain_text("90.0 s")
        assert httpx.get(f"{url}/v1/bandits/front").json()["explore"] == 0.05

        page.get_by_role("button", name="Delete").click()
        dialog = page.get_by_role("dialog", name="Delete a bandit")
        dialog.get_by_role("textbox").fill("back")
        dialog.get_by_role("button", name="Delete").click()
        expect(dialog.get_by_role("alert")).to_contain_text("not its name")
        assert violations(page) == []
        dialog.get_by_role("textbox").fill("front")
        dialog.get_by_role("button", name="Delete").click()
        ready(page, "No bandits yet")
        page.goto(f"{url}/#/bandits/front")
        ready(page, "This bandit is gone")
        assert violations(page) == []
        clean(seen, url, expected=(404,))


def test_a_key_is_asked_for_and_stays_in_the_tab(url: str) -> None:
    create(url, "front")
    made = httpx.post(f"{url}/v1/keys", json={"name": "me", "scopes": ["admin"]})
    key = made.raise_for_status().json()["key"]
    with opened(390) as (page, seen):
        page.goto(f"{url}/#/bandits/front")
        dialog = page.get_by_role("dialog", name="This server asks for a key")
        expect(dialog).to_be_visible()
        assert violations(page) == []
        page.keyboard.press("Escape")
        ready(page, "A key is needed")
        page.get_by_role("button", name="Enter a key").click()
        dialog.get_by_label("Key").fill("wrong")
        page.keyboard.press("Enter")
        expect(dialog.get_by_role("alert")).not_to_be_empty()
        dialog.get_by_label("Key").fill(key)
        page.keyboard.press("Enter")
        ready(page, "front")
        expect(page.locator("#state")).to_have_text("Live")
        expect(page.get_by_role("tabpanel")).to_contain_text("$HANDFUL_KEY")
        assert key not in page.content()
        assert not any(key in url for url in seen.requests)
        assert page.evaluate("JSON.stringify(localStorage)") == "{}"
        page.reload()
        ready(page, "front")
        page.get_by_role("button", name="Key", exact=True).click()
        dialog.get_by_role("button", name="Forget the key").click()
        expect(dialog).to_be_visible()
        assert page.evaluate("sessionStorage.length") == 0
        clean(seen, url, expected=(401,))


HOLD = """
const fetched = window.fetch;
window.held = [];
window.holds = true;
window.fetch = (address, options) => {
  const path = new URL(address).pathname;
  if (!window.holds || !/v1\\/bandits(\\/none)?$/.test(path)) return fetched(address, options);
  // As if it had come just before the view was left.
  const answer = () => fetched(address, { ...options, signal: undefined });
  return new Promise((resolve) => window.held.push(() => resolve(answer())));
};
"""


def test_a_view_that_was_left_draws_nothing_over_the_next_one(url: str) -> None:
    """An answer that came late put the list, or "This bandit is gone", over another bandit."""
    create(url, "front")
    with opened(1280) as (page, seen):

        def held() -> int:
            return int(page.evaluate("window.held.length"))

        page.add_init_script(HOLD)
        page.goto(f"{url}/#/bandits/none")
        until("the bandit and the list are asked for", lambda: held() >= 2)
        page.evaluate("location.hash = '#/'")
        until("the list is asked for", lambda: held() >= 3)
        page.evaluate("window.holds = false; location.hash = '#/bandits/front'")
        ready(page, "front")
        page.evaluate("Promise.all(window.held.map((answer) => answer()))")
        page.wait_for_timeout(500)
        ready(page, "front")
        httpx.post(f"{url}/v1/bandits/front/decisions", json={"n": 3}).raise_for_status()
        until("the stream is read", lambda: number(place(page, "decisions")) == 3)
        expect(page.locator("#state")).to_have_text("Live")
        clean(seen, url, expected=(404,))


def test_it_goes_on_when_the_server_does(tmp_path: Path) -> None:
    with opened(1280) as (page, seen):
        state = page.locator("#state")
        with served(tmp_path) as url:
            create(url, "front")
            page.goto(f"{url}/#/bandits/front")
            expect(state).to_have_text("Live", timeout=SOON)
        expect(state).to_have_text("Reconnecting", timeout=SOON)
        expect(place(page, "notice")).to_contain_text("cannot be reached", timeout=SOON)
        assert violations(page) == []
        page.goto(f"{url}/#/")
        ready(page, "Bandits")  # as they were
        page.wait_for_timeout(3000)
        expect(state).to_have_text("Reconnecting")
        page.goto(f"{url}/#/bandits/front")
        with served(tmp_path, "--port", url.rpartition(":")[2]):
            expect(state).to_have_text("Live", timeout=2 * SOON)
            expect(place(page, "notice")).to_be_hidden()
            with traffic(url, "front"):
                until("decisions", lambda: number(place(page, "decisions")) > 20)
        # A browser says so itself when a connection breaks or is refused.
        broken = ("ERR_CONNECTION", "ERR_INCOMPLETE", "ERR_EMPTY", f"{url}/")
        assert [one for one in seen.errors if not any(said in one for said in broken)] == []


def test_labels_are_shown_as_text_and_withdrawn_as_they_are(url: str) -> None:
    hostile = [
        "<img src=x onerror=\"document.title='broken'\">", "\u202egnp.exe", "two\nlines", " ",
        "a/b?c#d", "x" * 500,
    ]  # fmt: skip
    create(url, "front", arms=hostile, memory=6)
    with opened(390) as (page, seen):
        page.goto(f"{url}/#/bandits/front")
        ready(page, "front")
        with traffic(url, "front"):
            for shown in (hostile[0], "[U+202E]gnp.exe", "two[U+000A]lines", "(blank)"):
                label = page.locator(".arms .label").get_by_text(shown, exact=True)
                expect(label).to_be_visible(timeout=SOON)
        assert sticking_out(page) == []
        assert violations(page) == []
        assert page.title() == "front · handful"
        page.get_by_role("button", name="Withdraw two[U+000A]lines").click()
        page.get_by_role("dialog").get_by_role("button", name="Withdraw").click()
        expect(page.get_by_role("dialog")).to_be_hidden()
        assert "two\nlines" not in httpx.get(f"{url}/v1/bandits/front/arms").json()["arms"]
        clean(seen, url)


def test_it_can_be_used_by_keyboard_alone(url: str) -> None:
    with opened(1280) as (page, seen):
        page.goto(url)
        ready(page, "No bandits yet")
        tab_to(page, "Name")
        page.keyboard.type("front")
        tab_to(page, "Arms, one per line")
        page.keyboard.type("a\nb\nc")
        tab_to(page, "Create bandit")
        page.keyboard.press("Enter")
        ready(page, "front")
        tab_to(page, "Add arms")
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog")).to_be_visible()
        page.keyboard.type("d")
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_be_hidden()
        expect(page.get_by_role("button", name="Add arms")).to_be_focused()
        tab_to(page, "curl")
        page.keyboard.press("ArrowRight")
        expect(page.get_by_role("tab", name="Python")).to_be_focused()
        expect(page.get_by_role("tabpanel", name="Python")).to_be_visible()
        for summary in page.get_by_text("As a table").all():
            summary.focus()
            page.keyboard.press("Enter")
        assert violations(page) == []
        # The end of the page leads out of it: nothing holds the focus.
        tab_to(page, "API description")
        clean(seen, url)


def tab_to(page: Page, name: str) -> None:
    """Press Tab until an element has the focus; each on the way shows that it has it."""
    for _ in range(100):
        page.keyboard.press("Tab")
        focus = page.evaluate(
            """() => {
              const e = document.activeElement;
              const style = getComputedStyle(e);
              const name = e.ariaLabel ?? e.labels?.[0]?.innerText ?? e.innerText ?? '';
              return {name: name.trim(), outline: style.outlineStyle, page: e === document.body};
            }"""
        )
        if focus["page"]:
            continue
        assert focus["outline"] != "none", focus
        if focus["name"] == name:
            return
    pytest.fail(f"{name!r} cannot be reached")


def test_the_theme_is_chosen_by_hand_too(url: str) -> None:
    with opened(1280, "light") as (page, seen):
        page.goto(url)
        ready(page, "No bandits yet")
        ground = "getComputedStyle(document.body).backgroundColor"
        light = page.evaluate(ground)
        page.get_by_role("button", name="Dark theme", pressed=False).click()
        dark = page.evaluate(ground)
        assert dark != light
        assert violations(page) == []
        page.reload()
        ready(page, "No bandits yet")
        assert page.evaluate(ground) == dark
        expect(page.get_by_role("button", name="Dark theme", pressed=True)).to_be_visible()
        clean(seen, url)


def test_the_snippets_decide_and_reward(url: str) -> None:
    create(url, "front")
    with opened(1280) as (page, seen):
        page.goto(f"{url}/#/bandits/front")
        ready(page, "front")
        code = page.locator("[role=tabpanel]:not([hidden]) code")
        curl = code.inner_text()
        page.get_by_role("tab", name="Python").click()
        names: dict[str, Any] = {}
        exec(code.inner_text(), names)
        names["client"].close()
        page.get_by_role("tab", name="JavaScript").click()
        page.evaluate(f"async () => {{ {code.inner_text()} }}")
        shown = httpx.get(f"{url}/v1/bandits/front").json()
        assert (shown["decisions"], shown["rewards"], shown["reward_rate"]) == (2, 2, 1.0)
        page.get_by_role("button", name="Copy the JavaScript code").click()
        expect(page.locator("#announcer")).to_have_text(re.compile("Copied|Selected"))
        clean(seen, url)
    # A stand-in that prints its arguments, since curl need not be installed.
    script = f"curl() {{ printf '%s\\n' \"$@\"; }}\n{curl.partition('# ')[0]}"
    said = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    url = f"{url}/v1/bandits/front/decisions"
    given = ["-X", "POST", url, "-H", "Content-Type: application/json", "-d", "{}"]
    assert said.stdout.splitlines() == given


def test_more_bandits_than_a_page_of_the_list(url: str) -> None:
    with httpx.Client(base_url=url) as client:
        for n in range(104):
            body = {"name": f"bandit-{n:03}", "memory": 2, "arms": ["a", "b", "c"]}
            client.post("/v1/bandits", json=body).raise_for_status()
    with opened(1280) as (page, seen):
        page.goto(url)
        ready(page, "Bandits")
        expect(page.get_by_text("100 bandits, and more")).to_be_visible()
        page.get_by_role("button", name="Show more").click()
        expect(page.get_by_text("104 bandits", exact=True)).to_be_visible()
        page.get_by_label("Filter by name").fill("-10")
        expect(page.get_by_text("4 of 104 bandits")).to_be_visible()
        assert violations(page) == []
        clean(seen, url)


def test_a_policy_that_remembers_every_arm_shows_the_most_pulled(url: str) -> None:
    create(url, "front", policy="ts", memory=None, arms=HEADLINES[:40])
    with opened(1280) as (page, seen):
        page.goto(f"{url}/#/bandits/front")
        ready(page, "front")
        with traffic(url, "front"):
            until("decisions", lambda: number(place(page, "decisions")) > 100)
        rows = page.locator(".arms tbody tr")
        expect(rows).to_have_count(24)
        pulls = [number(cell) for cell in page.locator(".arms tbody td:nth-child(2)").all()]
        assert pulls == sorted(pulls, reverse=True)
        page.get_by_role("button", name="Show more").click()
        expect(rows).to_have_count(40)
        assert violations(page) == []
        clean(seen, url)


def test_the_stream_is_read_however_it_is_cut(url: str) -> None:
    with opened(1280) as (page, _):
        page.goto(url)
        found = page.evaluate(
            """async () => {
              const { parser } = await import('/static/live.js');
              const text = ': hello\\n\\nevent: bandit\\ndata: {"name":\\ndata: "a"}\\n\\n' +
                'event: gone\\r\\ndata: {"name": "b"}\\r\\n\\r\\ndata: 1\\r\\r';
              const found = new Set();
              for (let at = 0; at <= text.length; at += 1) {
                const events = [];
                const parse = parser((type, data) => events.push([type, data]));
                parse(text.slice(0, at));
                parse(text.slice(at));
                parse(': end\\n');
                found.add(JSON.stringify(events));
              }
              return [...found];
            }"""
        )
    assert found == ['[["bandit",{"name":"a"}],["gone",{"name":"b"}],["message",1]]']


def test_what_the_charts_read_off_a_history(url: str) -> None:
    with opened(1280) as (page, _):
        page.goto(url)
        found = page.evaluate(
            """async () => {
              const { rates, stays, reigns } = await import('/static/history.js');
              const at = (n, memory, recommended) =>
                ({at: n, memory, recommended, rewards: 100 * n, reward_sum: 10 * n * n});
              const points = [at(0, [], null), at(1, ['a', 'b'], 'a'), at(2, ['b', 'c'], 'a'),
                at(3, ['b', 'a'], 'b'), at(4, ['b', 'a', 'd'], 'b')];
              return {
                rates: rates(points).map(({at, rate}) => [at, rate]),
                stays: stays(points).stays.map(({arm, from, to, lane}) => [arm, from, to, lane]),
                lanes: stays(points).lanes,
                reigns: reigns(points).map(({arm, from, to}) => [arm, from, to]),
              };
            }"""
        )
    assert found == {
        "rates": [[1, 0.1], [2, 0.3], [3, 0.5], [4, 0.7]],
        "stays": [["a", 1, 2, 0], ["b", 1, None, 1], ["c", 2, 3, 0], ["a", 3, None, 0],
                  ["d", 4, None, 2]],
        "lanes": 3,
        "reigns": [["a", 1, 3], ["b", 3, None]],
    }  # fmt: skip


class Options(HTMLParser):
    """The policies of the form: name, title, and whether they take a memory."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str, bool]] = []
        self._open: tuple[str, bool] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "option" and "data-help" in given:
            self._open = str(given["value"]), given.get("data-memory") != "own"

    def handle_data(self, data: str) -> None:
        if self._open is not None:
            name, takes = self._open
            self.found.append((name, data, takes))
            self._open = None


def page_files() -> dict[str, str]:
    folder = files("handful.service.page").iterdir()
    return {file.name: file.read_text() for file in folder if not file.name.startswith("__")}


def test_the_policies_of_the_form_are_in_the_catalogue() -> None:
    form = Options()
    form.feed(page_files()["index.html"])
    assert len(form.found) >= 10
    for name, title, takes in form.found:
        known = POLICIES[name]
        assert (known.title, known.takes_memory()) == (title, takes), name
        assert not known.needs_horizon
        assert not known.clairvoyant


def test_the_files_load_nothing_from_elsewhere_and_write_no_html() -> None:
    for name, text in page_files().items():
        addresses = re.findall(r"https?://[^\s\"'`]+", text)
        assert set(addresses) <= {"http://www.w3.org/2000/svg"}, name
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", text
        )
        if name.endswith(".html"):
            assert not re.search(r"\s(style|on\w+)=|<style|javascript:", text)
            assert re.findall(r"<script(?![^>]* src=)", text) == []
