"""`handful.js` in a real browser, against the stub on a real port."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

import handful.client
from tests.browser import opened
from tests.client.stub import Fault, Stub

pytestmark = pytest.mark.xdist_group("javascript")

MODULE = Path(handful.client.__file__).with_name("handful.js")
# A browser repeats requests by itself when a connection that it kept open breaks, so the number of
# requests is not compared where connections are cut.
CUT = [Fault.CUT_AFTER, Fault.CUT_BEFORE]
ANSWERED = [Fault.BUSY_BEFORE, Fault.DOWN_BEFORE, Fault.GATEWAY_BEFORE, Fault.GATEWAY_AFTER]
DEAD = [*CUT, Fault.DOWN_BEFORE, Fault.HANG_AFTER, Fault.BROKEN_BEFORE, Fault.LETTERS_BEFORE]


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with opened(800) as (page, _):
        yield page


@pytest.fixture
def stub(page: Page) -> Iterator[Stub]:
    made = Stub(bandits={"front": {"name": "front", "arms": ["a", "b", "c"]}})
    made.files["/handful.js"] = ("text/javascript", MODULE.read_bytes())
    with made.served() as url:
        page.goto(url)
        page.evaluate("async () => { window.module = await import('/handful.js'); }")
        made.seen.clear()
        yield made


QUICK = "{firstWait: 0, timeout: 60000, total: 300000, pause: 60000}"


def run(page: Page, body: str, options: str = QUICK) -> Any:
    """What a function body returns in the page, with a client at hand; an error as its fields."""
    return page.evaluate(
        f"""async () => {{
          const client = window.client = new window.module.Client('', {options});
          try {{ return await (async () => {{ {body} }})(); }}
          catch (e) {{ return {{error: e.name, message: e.message, status: e.status,
            title: e.title, detail: e.detail, requestId: e.requestId, refused: e.refused}}; }}
        }}"""
    )


def test_a_decision_and_its_reward(page: Page, stub: Stub) -> None:
    decision = run(page, "return window.decision = await client.decide('front');")
    assert decision == {
        "id": "d0", "arm": "a", "key": None, "probability": 0.5, "isFallback": False,
    }  # fmt: skip
    assert run(page, "return client.reward(window.decision, 1);") == "credited"
    assert run(page, "return client.reward('d0', 1);") == "duplicate"
    assert json.loads(stub.calls("PUT")[0].body) == {"reward": 1}
    assert run(page, "return (await client.bandit('front')).rewards;") == 1


def test_many_decisions_and_rewards(page: Page, stub: Stub) -> None:
    made = run(
        page,
        "return client.decide('front', {n: 2, allowed: ['b'], keys: ['x', 'y'], fallback: 'b'});",
    )
    assert [(one["id"], one["arm"], one["key"]) for one in made] == [
        ("d0", "b", "x"),
        ("d1", "b", "y"),
    ]
    outcomes = run(
        page, "return client.rewards([['d1', 1], ['fallback', 1], ['z', 0], ['d1', 0]]);"
    )
    assert outcomes == ["credited", "ignored", "unknown", "conflict"]
    assert run(page, "return client.drop('d0');") == "dropped"
    stub.decisions["d0"]["status"] = "expired"
    assert run(page, "return client.reward('d0', 1);") == "expired"


def test_a_large_batch_is_sent_in_parts(page: Page, stub: Stub) -> None:
    code = """const made = await client.decide('front', {n: 1001});
      return client.rewards(made.map(one => [one, 0.5]));"""
    assert run(page, code) == ["credited"] * 1001
    assert [len(json.loads(p.body)["rewards"]) for p in stub.calls("POST")[1:]] == [1000, 1]


@pytest.mark.parametrize("fault", [*ANSWERED, *CUT])
def test_whatever_fails_is_counted_once(page: Page, stub: Stub, fault: Fault) -> None:
    stub.faults.extend([fault, fault])
    decision = run(page, "return client.decide('front');")
    assert not decision["isFallback"]
    stub.faults.extend([fault, fault])
    assert run(page, f"return client.reward('{decision['id']}', 1);") in ("credited", "duplicate")
    posts = stub.calls("POST")
    assert len({(post.body, post.idempotency_key) for post in posts}) == 1
    assert posts[0].idempotency_key
    assert (len(stub.decisions), stub.credited) == (1, 1)
    if fault in ANSWERED:
        assert (len(posts), len(stub.calls("PUT"))) == (3, 3)


def test_two_decisions_have_two_keys(page: Page, stub: Stub) -> None:
    run(page, "await client.decide('front'); await client.decide('front');")
    assert len({post.idempotency_key for post in stub.calls("POST")}) == 2
    assert len(stub.decisions) == 2


def test_a_request_that_hangs_is_given_up_and_sent_again(page: Page, stub: Stub) -> None:
    stub.faults.append(Fault.HANG_AFTER)
    decision = run(page, "return client.decide('front');", "{timeout: 200, firstWait: 0}")
    assert decision["id"] == "d0"
    assert len(stub.decisions) == 1


@pytest.mark.parametrize("fault", DEAD)
def test_a_fallback_stands_in_for_a_dead_service(page: Page, stub: Stub, fault: Fault) -> None:
    stub.faults.extend([fault] * 99)
    decision = run(
        page,
        "return window.decision = await client.decide('front', {key: 'k', fallback: 'b'});",
        "{timeout: 100, firstWait: 0}",
    )
    assert decision == {
        "id": "fallback", "arm": "b", "key": "k", "probability": None, "isFallback": True,
    }  # fmt: skip
    stub.faults.clear()
    stub.seen.clear()
    assert run(page, "return client.reward(window.decision, 1);") == "ignored"
    assert run(page, "return client.drop(window.decision);") == "ignored"
    assert stub.seen == []


def test_a_dead_service_is_left_alone_after_some_failures(page: Page, stub: Stub) -> None:
    stub.faults.extend([Fault.DOWN_BEFORE] * 99)
    code = """const made = [];
      for (let i = 0; i < 50; i++) made.push(await client.decide('front', {fallback: 'b'}));
      return made.filter(one => one.isFallback).length;"""
    assert run(page, code) == 50
    assert len(stub.seen) == 3


def test_after_a_pause_one_attempt_is_made(page: Page, stub: Stub) -> None:
    stub.faults.extend([Fault.DOWN_BEFORE] * 99)
    code = """for (let i = 0; i < 5; i++) await client.decide('front', {fallback: 'b'});"""
    run(page, code, "{firstWait: 0, pause: 0}")
    assert len(stub.seen) == 3 + 4
    stub.faults.clear()
    decision = page.evaluate("() => window.client.decide('front', {fallback: 'b'})")
    assert not decision["isFallback"]


def test_a_refusal_is_an_error_at_once(page: Page, stub: Stub) -> None:
    error = run(page, "return client.decide('nonsense', {fallback: 'b'});")
    assert error == {
        "error": "ClientError", "status": 404, "refused": True, "title": "No such bandit",
        "detail": "there is no bandit 'nonsense'", "requestId": "r1",
        "message": "POST /v1/bandits/nonsense/decisions was refused: No such bandit: "
        "there is no bandit 'nonsense'",
    }  # fmt: skip
    assert len(stub.seen) == 1


def test_what_never_existed_is_an_error_after_a_lost_answer_too(page: Page, stub: Stub) -> None:
    stub.faults.append(Fault.GATEWAY_AFTER)
    error = run(page, "return client.drop('typo');")
    assert (error["status"], len(stub.calls("DELETE"))) == (404, 2)
    decision = run(page, "return client.decide('front');")
    stub.faults.append(Fault.GATEWAY_AFTER)
    assert run(page, f"return client.drop('{decision['id']}');") == "dropped"


def test_failing_for_good_is_an_error(page: Page, stub: Stub) -> None:
    stub.faults.extend([Fault.DOWN_BEFORE] * 99)
    error = run(page, "return client.decide('front');")
    assert (error["error"], error["status"], error["refused"]) == ("ClientError", 503, False)
    assert "tried 5 times" in error["message"]
    assert len(stub.seen) == 5


def test_the_key_is_sent(page: Page, stub: Stub) -> None:
    run(page, "await client.bandit('front');", "{key: 'secret-1'}")
    assert stub.seen[0].headers["authorization"] == "Bearer secret-1"
    assert run(page, "return client.bandit('front');", "{key: 'wrong'}")["status"] == 401


@pytest.mark.parametrize(
    "code",
    [
        "client.reward('d0', NaN)",
        "client.reward('d0', '1')",
        "client.reward('', 1)",
        "client.reward(undefined, 1)",
        "client.rewards([['d0', Infinity]])",
        "client.decide('front', {allowed: ['a'], fallback: 'b'})",
        "new window.module.Client('', {timeouts: 5})",
        "new window.module.Client('', {timeout: NaN})",
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_sent(
    page: Page, stub: Stub, code: str
) -> None:
    assert run(page, f"return await {code};")["error"] == "TypeError"
    assert stub.seen == []
