"""Each operation over HTTP: the shapes that others rely on, and every status."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from handful.service.api import OPERATIONS
from handful.service.app import Service
from handful.service.desk import Session
from handful.service.limits import Limits, Patience
from handful.service.problems import Problem
from handful.service.request import Request, body_of
from handful.storage.rows import Kind
from tests.service.requests import FRONT, in_loop, is_problem, served
from tests.service.world import World


@in_loop
async def test_the_shapes_that_others_rely_on() -> None:
    async with served() as call:
        body = {"name": "front", "policy": "race", "memory": 8, "arms": ["a", "b"], "settings": {}}
        made = await call("POST", "/v1/bandits", body)
        assert made.status_code == 201
        one = await call("POST", "/v1/bandits/front/decisions", {})
        assert one.status_code == 201
        (decision,) = one.json()["decisions"]
        assert set(decision) == {"id", "arm"}
        assert one.json()["recommended"] in ("a", "b")
        several = await call("POST", "/v1/bandits/front/decisions", {"n": 5, "allowed": ["b"]})
        assert [each["arm"] for each in several.json()["decisions"]] == ["b"] * 5
        path = f"/v1/decisions/{decision['id']}/reward"
        credited = await call("PUT", path, {"reward": 1.0})
        assert (credited.status_code, credited.json()) == (200, {"outcome": "credited"})
        ids = [each["id"] for each in several.json()["decisions"]]
        rewards = [{"id": id, "reward": 0.5} for id in ids]
        many = await call("POST", "/v1/rewards", {"rewards": rewards})
        assert many.status_code == 200
        outcomes = {each["outcome"] for each in many.json()["outcomes"]}
        assert outcomes <= {"credited", "forgotten"}
        shown = (await call("GET", "/v1/bandits/front")).json()
        assert shown["decisions"] == shown["rewards"] == 6
        assert shown["recommended"] in ("a", "b")
        assert {each["arm"] for each in shown["arms_in_memory"]} <= {"a", "b"}
        for path in ("/openapi.json", "/healthz", "/readyz", "/metrics"):
            assert (await call("GET", path)).status_code == 200


@in_loop
async def test_a_reward_counts_once() -> None:
    async with served() as call:
        await call.front(window=10.0)
        (decision,) = await call.decide()
        path = f"/v1/decisions/{decision['id']}/reward"
        assert (await call("PUT", path, {"reward": 1.0})).json() == {"outcome": "credited"}
        assert (await call("PUT", path, {"reward": 1.0})).json() == {"outcome": "duplicate"}
        assert (await call("PUT", path, {"reward": 0.0})).status_code == 409
        unknown = await call("PUT", "/v1/decisions/12345/reward", {"reward": 0.0})
        assert unknown.status_code == 404
        assert (await call("PUT", path, {"reward": 1.5})).status_code == 422
        shown = (await call("GET", "/v1/bandits/front")).json()
        assert (shown["decisions"], shown["rewards"], shown["reward_rate"]) == (1, 1, 1.0)


@in_loop
async def test_a_late_reward_is_410_and_kept_in_the_log() -> None:
    async with served() as call:
        await call.front(window=10.0)
        (decision,) = await call.decide()
        await call.sweep(10.0)
        path = f"/v1/decisions/{decision['id']}/reward"
        late = await call("PUT", path, {"reward": 1.0}, x_request_id="mine-1")
        assert late.status_code == 410
        assert late.json()["request_id"] == "mine-1"
        shown = (await call("GET", "/v1/bandits/front")).json()
        assert (shown["expired"], shown["late"], shown["rewards"]) == (1, 1, 0)
        found = (await call("GET", f"/v1/decisions/{decision['id']}")).json()
        assert (found["status"], found["reward"]) == ("expired", None)
        kinds = await call.service.writer.run(
            lambda session: [(row.kind, row.value) for row in session.tx.rows()]
        )
        assert kinds[-1] == (Kind.LATE, 1.0)


@in_loop
async def test_a_late_reward_after_the_window_was_taken_away() -> None:
    """It was a failure of the service."""
    async with served() as call:
        await call.front(window=10.0)
        (decision,) = await call.decide()
        await call.sweep(10.0)
        changed = await call("PATCH", "/v1/bandits/front", {"window": None})
        assert changed.json()["window"] is None
        path = f"/v1/decisions/{decision['id']}/reward"
        assert (await call("PUT", path, {"reward": 1.0})).status_code == 410


@in_loop
async def test_a_batch_of_rewards_has_an_outcome_for_each() -> None:
    async with served() as call:
        await call.front(window=10.0)
        first, second, third = await call.decide(n=3, keys=["x", "y", "z"])
        await call("PUT", f"/v1/decisions/{first['id']}/reward", {"reward": 1.0})
        await call("DELETE", f"/v1/decisions/{third['id']}")
        rewards: list[dict[str, Any]] = [
            {"id": first["id"], "reward": 1.0},
            {"id": first["id"], "reward": 0.5},
            {"bandit": "front", "key": "y", "reward": 0.5},
            {"bandit": "front", "key": "nobody's", "reward": 0.5},
            {"bandit": "nobody", "key": "y", "reward": 0.5},
            {"id": second["id"], "reward": 7.0},
            {"id": third["id"], "reward": 1.0},
            {"id": second["id"], "bandit": "front", "reward": 1.0},
            {"reward": 1.0},
        ]
        answer = await call("POST", "/v1/rewards", {"rewards": rewards})
        assert [each["outcome"] for each in answer.json()["outcomes"]] == [
            "duplicate", "conflict", "credited", "unknown", "unknown", "invalid", "expired",
            "invalid", "invalid",
        ]  # fmt: skip


@in_loop
async def test_a_decision_is_dropped_once() -> None:
    async with served() as call:
        await call.front(window=10.0)
        first, second, third = await call.decide(n=3)
        path = f"/v1/decisions/{first['id']}"
        assert (await call("DELETE", path)).json() == {"outcome": "dropped"}
        assert (await call("DELETE", path)).json() == {"outcome": "duplicate"}
        assert (await call("PUT", f"{path}/reward", {"reward": 1.0})).status_code == 410
        await call("PUT", f"/v1/decisions/{second['id']}/reward", {"reward": 1.0})
        assert (await call("DELETE", f"/v1/decisions/{second['id']}")).status_code == 409
        await call.sweep(10.0)
        expired = await call("DELETE", f"/v1/decisions/{third['id']}")
        assert expired.json() == {"outcome": "expired"}
        assert (await call("DELETE", "/v1/decisions/00000")).status_code == 404
        shown = (await call("GET", "/v1/bandits/front")).json()
        assert [shown[name] for name in ("rewards", "dropped", "expired", "waiting")] == [
            1,
            1,
            1,
            0,
        ]


@in_loop
async def test_the_callers_own_keys() -> None:
    async with served() as call:
        await call.front()
        (decision,) = await call.decide(key="mine")
        assert decision["key"] == "mine"
        assert await call.decide(key="mine") == [decision]
        found = (await call("GET", f"/v1/decisions/{decision['id']}")).json()
        assert (found["key"], found["status"], found["bandit"]) == ("mine", "open", "front")
        path = "/v1/bandits/front/decisions"
        assert (await call("POST", path, {"n": 2, "keys": ["mine", "new"]})).status_code == 409
        assert (await call("POST", path, {"n": 2, "keys": ["x", "x"]})).status_code == 422
        assert (await call("POST", path, {"n": 3, "keys": ["x", "y"]})).status_code == 422
        assert (await call("POST", path, {"n": 2, "key": "x"})).status_code == 422
        assert (await call("GET", "/v1/bandits/front")).json()["decisions"] == 1


@in_loop
async def test_an_idempotency_key() -> None:
    async with served() as call:
        await call.front()
        path = "/v1/bandits/front/decisions"
        first = await call("POST", path, {"n": 2}, idempotency_key="once")
        again = await call("POST", path, {"n": 2}, idempotency_key="once")
        assert again.status_code == first.status_code == 201
        assert again.content == first.content
        assert "idempotency-replayed" not in first.headers
        assert again.headers["idempotency-replayed"] == "true"
        other = await call("POST", path, {"n": 3}, idempotency_key="once")
        assert other.status_code == 422
        elsewhere = await call("POST", "/v1/rewards", {"rewards": [{"reward": 1}]},
                               idempotency_key="once")  # fmt: skip
        assert elsewhere.status_code == 200
        at_once = await asyncio.gather(
            *(call("POST", path, {}, idempotency_key="at once") for _ in range(10))
        )
        assert len({each.content for each in at_once}) == 1
        assert (await call("GET", "/v1/bandits/front")).json()["decisions"] == 3
        assert (await call("POST", path, {}, idempotency_key="k" * 201)).status_code == 422
        assert (await call("POST", path, {}, idempotency_key="")).status_code == 422
        metrics = (await call("GET", "/metrics")).text
        assert "handful_decisions_total 3.0" in metrics


@in_loop
async def test_an_idempotency_key_is_forgotten_after_a_day() -> None:
    """It was never forgotten unless a bandit had a window."""
    async with served() as call:
        await call.front()
        path = "/v1/bandits/front/decisions"
        first = await call("POST", path, {}, idempotency_key="once")
        call.world.clock.wait(25 * 3600)
        again = await call("POST", path, {}, idempotency_key="once")
        assert again.json() != first.json()


@in_loop
async def test_an_idempotency_key_never_stores_a_secret() -> None:
    """The answer with the key in clear was stored for a day."""
    async with served() as call:
        body = {"name": "first", "scopes": ["admin"]}
        made = await call("POST", "/v1/keys", body, idempotency_key="once")
        key = made.json()["key"]
        stored = await call.service.writer.run(
            lambda session: session.tx.answered("anybody POST /v1/keys", "once")
        )
        assert stored is not None
        assert key.encode() not in stored.body
        call.key = key
        again = await call("POST", "/v1/keys", body, idempotency_key="twice")
        assert again.status_code == 201
        thrice = await call("POST", "/v1/keys", body, idempotency_key="twice")
        assert thrice.status_code == 409
        assert len((await call("GET", "/v1/keys")).json()["keys"]) == 2


@in_loop
async def test_a_bandit_is_created_listed_changed_and_deleted() -> None:
    async with served() as call:
        for name in ("b", "a", "c"):
            await call.front(name=name)
        assert (await call("POST", "/v1/bandits", FRONT | {"name": "a"})).status_code == 409
        listed = (await call("GET", "/v1/bandits", None)).json()
        assert [each["name"] for each in listed["bandits"]] == ["a", "b", "c"]
        assert listed["next"] is None
        page = (await call("GET", "/v1/bandits?limit=2")).json()
        assert page["next"] == "b"
        rest = (await call("GET", "/v1/bandits?limit=2&after=b")).json()
        assert [each["name"] for each in rest["bandits"]] == ["c"]
        for query in ("limit=0", "limit=1001", "limit=x", "limit=-1", "limit=", "limit=1e3"):
            assert (await call("GET", f"/v1/bandits?{query}")).status_code == 422
        changed = await call("PATCH", "/v1/bandits/a", {"window": 5, "default": 0, "explore": 0.5})
        shown = changed.json()
        assert (shown["window"], shown["default"], shown["explore"]) == (5.0, 0.0, 0.5)
        kept = (await call("PATCH", "/v1/bandits/a", {"explore": 0})).json()
        assert (kept["window"], kept["default"], kept["explore"]) == (5.0, 0.0, 0.0)
        await call.decide("a")
        assert (await call("PATCH", "/v1/bandits/a", {"default": None})).status_code == 409
        assert (await call("PATCH", "/v1/bandits/a", {"window": None})).status_code == 422
        assert (await call("PATCH", "/v1/bandits/x", {"explore": 0})).status_code == 404
        gone = await call("DELETE", "/v1/bandits/a")
        assert (gone.status_code, gone.content) == (204, b"")
        assert (await call("DELETE", "/v1/bandits/a")).status_code == 404
        assert (await call("GET", "/v1/bandits/a")).status_code == 404
        assert (await call.front(name="a"))["decisions"] == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "no spaces"}, {"name": ""}, {"name": "x" * 101}, {"name": "front\n"},
        {"name": "-x"}, {"arms": []}, {"arms": ["a", "a"]}, {"arms": [""]}, {"arms": "abc"},
        {"arms": None}, {"arms": [1]}, {"policy": "nobody"}, {"policy": "sqrt-run-tabulated"},
        {"memory": 0}, {"memory": 1}, {"memory": 2**31}, {"memory": 2.5}, {"memory": True},
        {"settings": {"arms": 3}}, {"settings": {"seed": 3}}, {"settings": {"window": 3}},
        {"settings": {"self": 3}}, {"settings": {"horizon": -1}}, {"seed": -1}, {"seed": 2**60},
        {"window": 0}, {"window": -1}, {"window": 1e10}, {"default": 0}, {"explore": 1.5},
        {"explore": -0.1}, {"rescale": [1, 0]}, {"rescale": [0]}, {"rescale": [0, 1, 2]},
        {"rescale": [-1e308, 1e308]}, {"window": 1, "default": 2}, {"open": "yes"},
        {"open": True, "explore": 0.1}, {"open": True, "policy": "ucb-m"}, {"policy": "qucb-m"},
        {"more": 1},
    ],
    ids=str,
)  # fmt: skip
@in_loop
async def test_a_bandit_that_cannot_be(wrong: dict[str, Any]) -> None:
    async with served() as call:
        answer = await call("POST", "/v1/bandits", {**FRONT, **wrong})
        assert answer.status_code == 422, answer.text
        assert (await call("GET", "/v1/bandits")).json()["bandits"] == []


@in_loop
async def test_arms_are_added_listed_and_removed() -> None:
    async with served() as call:
        await call.front(arms=[f"arm/{n}" for n in range(5)])
        path = "/v1/bandits/front/arms"
        added = await call("POST", path, {"arms": ["x", "ü/?#% \n"]})
        assert (added.status_code, added.json()) == (200, {"arms": 7, "added": 2})
        assert (await call("POST", path, {"arms": ["y", "x"]})).status_code == 409
        assert (await call("POST", path, {"arms": ["y", "y"]})).status_code == 422
        page = (await call("GET", f"{path}?limit=3")).json()
        assert page == {"arms": ["arm/0", "arm/1", "arm/2"], "next": 3}
        rest = (await call("GET", f"{path}?after=3")).json()
        assert rest == {"arms": ["arm/3", "arm/4", "x", "ü/?#% \n"], "next": None}
        odd = await call("DELETE", f"{path}/%C3%BC%2F%3F%23%25%20%0A")
        assert odd.json() == {"arms": 6, "removed": 1}
        some = await call("DELETE", path, {"arms": ["arm/0", "x"]})
        assert some.json() == {"arms": 4, "removed": 2}
        assert (await call("DELETE", path, {"arms": ["arm/0"]})).status_code == 404
        assert (await call("DELETE", path, {"arms": ["arm/1", "arm/1"]})).status_code == 422
        every = (await call("GET", path)).json()["arms"]
        assert every == ["arm/1", "arm/2", "arm/3", "arm/4"]
        assert (await call("DELETE", path, {"arms": every})).status_code == 422
        assert (await call("POST", "/v1/bandits/x/arms", {"arms": ["y"]})).status_code == 404
        assert {each["arm"] for each in await call.decide(n=50)} <= set(every)
        refused = await call("POST", "/v1/bandits/front/decisions", {"allowed": ["x"]})
        assert refused.status_code == 409


@in_loop
async def test_an_open_end_runs_out_of_arms_and_gets_new_ones() -> None:
    async with served() as call:
        await call.front(policy="qucb-m", memory=2, arms=["p0"], open=True)
        path = "/v1/bandits/front/decisions"
        none_yet = await call("POST", path, {})
        assert none_yet.status_code == 409  # the policy begins with two arms
        labels = [f"p{n}" for n in range(1, 40)]
        await call("POST", "/v1/bandits/front/arms", {"arms": labels})
        for _ in range(60):
            (decision,) = await call.decide()
            await call("PUT", f"/v1/decisions/{decision['id']}/reward", {"reward": 0.5})
        shown = (await call("GET", "/v1/bandits/front")).json()
        assert (shown["decisions"], shown["rewards"], shown["arms"]) == (60, 60, 40)
        held = [each["arm"] for each in shown["arms_in_memory"]]
        gone = await call("DELETE", "/v1/bandits/front/arms", {"arms": held})
        assert gone.json() == {"arms": 40 - len(held), "removed": len(held)}
        made = await call.decide(n=20)
        assert not {each["arm"] for each in made} & set(held)
        shown = (await call("GET", "/v1/bandits/front")).json()
        assert shown["recommended"] not in held


@in_loop
async def test_a_history_has_points() -> None:
    async with served() as call:
        await call.front()
        for _ in range(40):
            (decision,) = await call.decide()
            await call("PUT", f"/v1/decisions/{decision['id']}/reward", {"reward": 1.0})
        points = (await call("GET", "/v1/bandits/front/history")).json()["points"]
        assert points[-1]["decisions"] == 40
        assert points[-1]["reward_sum"] == 40.0
        counts = [each["decisions"] for each in points]
        assert counts == sorted(counts)
        assert all(set(each["memory"]) <= {"a", "b", "c"} for each in points)
        assert (await call("GET", "/v1/bandits/none/history")).status_code == 404


@in_loop
async def test_what_cannot_be_read_or_found() -> None:
    async with served() as call:
        await call.front()
        path = "/v1/bandits/front/decisions"
        send = call.client.request
        kinds = {"content-type": "application/json"}
        for body, status in (
            (b"{", 400), (b"{} {}", 400), (b"\xff", 400), (b'{"n": NaN}', 400),
            (b'{"n": "\xff"}', 422), (b'{"key": "\xff"}', 400), (b'{"key": "\\ud800"}', 400),
            (b"[" * 100_000, 422), (b'{"x":' * 100_000, 422), (b"null", 422), (b"[]", 422),
            (b'{"n": 1e999}', 422), (b'{"n": %s}' % (b"9" * 5000), 422), (b'{"n": 10001}', 422),
            (b'{"n": 1, "n": 2}', 201), (b"", 201), (b"\xef\xbb\xbf{}", 400),
        ):  # fmt: skip
            answer = await send("POST", path, content=body, headers=kinds)
            assert answer.status_code == status, (body[:30], answer.text)
            if status >= 400:
                is_problem(answer)
        for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
            answer = await send("POST", path, content=b"{}", headers={"content-type": kind})
            assert answer.status_code == 415
            is_problem(answer)
        kinds = {"content-type": "Application/JSON; charset=utf-8"}
        assert (await send("POST", path, content=b"{}", headers=kinds)).status_code == 201
        for path in ("/v1", "/v1/", "/nothing", "/v1/bandits/", "/v1/bandits/a/b/c"):
            assert (await call("GET", path)).status_code == 404
        many = "&".join(f"x{n}=1" for n in range(50))
        assert (await call("GET", f"/v1/bandits?{many}")).status_code == 400
        answer = await call("POST", "/healthz", {})
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")
        answer = await call("PUT", "/v1/bandits/front", {})
        assert answer.status_code == 405
        assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD", "PATCH", "DELETE"}


@in_loop
async def test_a_name_that_is_none_is_refused_in_words() -> None:
    """The detail was a regular expression."""
    async with served() as call:
        refused = await call("POST", "/v1/bandits", {"name": "a b", "arms": ["a"]})
        detail = refused.json()["detail"]
        assert refused.status_code == 422
        assert "from 1 to 100 letters" in detail
        assert "$.name" in detail
        assert "regex" not in detail
        assert "^" not in detail


@in_loop
async def test_head_is_get_without_a_body() -> None:
    """It was refused with 405."""
    async with served() as call:
        await call.front()
        for path in ("/healthz", "/v1/bandits/front", "/openapi.json", "/v1/bandits/none"):
            head, get = await call("HEAD", path), await call("GET", path)
            assert head.status_code == get.status_code
            assert head.content == b""
            assert head.headers["content-length"] == get.headers["content-length"]


@in_loop
async def test_request_ids() -> None:
    async with served() as call:
        mine = await call("GET", "/healthz", x_request_id="a.b-c_9")
        assert mine.headers["x-request-id"] == "a.b-c_9"
        for wrong in ("", "a b", "x" * 101, "é"):
            made = await call.client.get("/healthz", headers={b"x-request-id": wrong.encode()})
            assert made.headers["x-request-id"] not in (wrong, "")
        other = await call("GET", "/healthz")
        assert other.headers["x-request-id"] != mine.headers["x-request-id"]
        assert other.headers["cache-control"] == "no-store"


@in_loop
async def test_a_page_elsewhere_cannot_call_a_service_without_keys() -> None:
    for host, allowed in (
        ("localhost", True), ("localhost:8000", True), ("127.0.0.1:1", True), ("[::1]:80", True),
        ("LOCALHOST", True), ("evil.example", False), ("localhost.evil.example", False),
        ("127.0.0.1.evil.example", False), ("", False), ("localhost:80@evil.example", False),
    ):  # fmt: skip
        async with served() as call:
            answer = await call("GET", "/v1/bandits", host=host)
            assert answer.status_code == (200 if allowed else 403), host
    async with served() as call:
        key = await call.make_key("admin")
        answer = await call(
            "GET", "/v1/bandits", host="handful.example", authorization=f"Bearer {key['key']}"
        )
        assert answer.status_code == 200


@in_loop
async def test_a_proxy_cannot_pass_on_requests_to_a_service_without_keys() -> None:
    """A proxy on the same machine opened a store without keys to everybody."""
    async with served() as call:
        for header in ("forwarded", "via", "x_forwarded_for", "x_forwarded_proto", "x_real_ip"):
            refused = await call("GET", "/v1/bandits", **{header: "1.1 proxy"})
            assert refused.status_code == 403, header
            assert "keys add" in refused.json()["detail"]
        call.key = (await call.make_key("admin"))["key"]
        assert (await call("GET", "/v1/bandits", via="1.1 proxy")).status_code == 200


@in_loop
async def test_a_failure_of_one_request_is_a_500_of_that_one(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with served() as call:
        await call.front()

        def broken(self: Session, name: str) -> None:
            raise ZeroDivisionError

        monkeypatch.setattr(Session, "describe", broken)
        answers = await asyncio.gather(
            call("GET", "/v1/bandits/front"),
            *(call("POST", "/v1/bandits/front/decisions", {}) for _ in range(5)),
        )
        assert [each.status_code for each in answers] == [500] + [201] * 5
        monkeypatch.undo()
        assert (await call("GET", "/v1/bandits/front")).json()["decisions"] == 5
    assert "ZeroDivisionError" in caplog.text


@in_loop
async def test_what_is_queued_is_answered_before_the_stop() -> None:
    async with served() as call:
        await call.front()
        path = "/v1/bandits/front/decisions"
        sent = [asyncio.create_task(call("POST", path, {})) for _ in range(20)]
        await asyncio.sleep(0)
        await call.service.writer.stop()
        answers = [await each for each in sent]
        granted = [each for each in answers if each.status_code == 201]
        assert len(granted) + sum(each.status_code == 503 for each in answers) == 20
        refused = await call("POST", path, {})
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    call.world.desk = type(call.world.desk)(call.world.storage(), call.world.clock)
    assert call.world.shown().decisions == len(granted)


@in_loop
async def test_a_caller_who_goes_away_leaves_nothing_behind() -> None:
    async with served() as call:
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {
            "type": "http", "method": "POST", "path": "/v1/bandits", "query_string": b"",
            "headers": [(b"content-type", b"application/json")],
        }  # fmt: skip
        await call.service(scope, receive, send)
        assert sent[0]["status"] == 400
        assert call.service._at_once == 0


def test_a_length_of_thousands_of_digits_is_too_large() -> None:
    async def receive() -> Any:
        raise AssertionError("nothing is read of it")

    request = Request("POST", "/v1/bandits", b"", [(b"content-length", b"9" * 10_000)])
    with pytest.raises(Problem) as refused:
        asyncio.run(body_of(request, receive, Limits(), Patience(1.0)))
    assert refused.value.status == 413


def test_every_operation_has_a_name_and_a_place() -> None:
    assert len({each.name for each in OPERATIONS}) == len(OPERATIONS)
    assert len({(each.method, each.path) for each in OPERATIONS}) == len(OPERATIONS)
    routes = Service(World().desk)._routes
    for each in OPERATIONS:
        address = each.path.replace("{", "a-").replace("}", "")
        route = routes.find(Request(each.method, address, b"", []))
        assert route is not None
        assert (route.path, each.method in route.handlers) == (each.path, True)


@in_loop
async def test_the_page_and_streams_are_counted_and_take_get_alone() -> None:
    """Other methods of /v1/events were answered by 404, and neither was in the metrics."""
    async with served(limits=Limits(streams=0), access_log=True) as call:
        for method, path, status, allowed in (
            ("GET", "/v1/events", 429, None), ("HEAD", "/v1/events", 405, "GET"),
            ("POST", "/v1/events", 405, "GET"), ("GET", "/", 200, None), ("HEAD", "/", 200, None),
            ("GET", "/static/page.js", 200, None), ("GET", "/static/none.js", 404, None),
            ("GET", "/static/../app.py", 404, None), ("PUT", "/", 405, "GET, HEAD"),
        ):  # fmt: skip
            answer = await call(method, path)
            assert (answer.status_code, answer.headers.get("allow")) == (status, allowed), path
            assert len(answer.headers.get_list("cache-control")) == 1
        metrics = (await call("GET", "/metrics")).text
        assert 'handful_requests_total{route="/v1/events",status="429"} 1.0' in metrics
        assert 'handful_requests_total{route="/static/{file}",status="200"} 1.0' in metrics
        assert 'handful_requests_total{route="/",status="200"} 2.0' in metrics


@in_loop
async def test_readiness_and_metrics() -> None:
    async with served() as call:
        await call.front()
        await call.decide(n=3)
        assert (await call("GET", "/healthz")).json() == {"status": "ok"}
        assert (await call("GET", "/readyz")).json() == {"status": "ready"}
        metrics = (await call("GET", "/metrics")).text
        assert "handful_decisions_total 3.0" in metrics
        assert "handful_bandits_in_memory 1.0" in metrics
        assert 'route="/v1/bandits/{name}/decisions",status="201"' in metrics
        await call("GET", "/v1/bandits/a-name-that-is-not-there")
        await call("GET", "/a-path-that-is-not-there")
        metrics = (await call("GET", "/metrics")).text
        assert "not-there" not in metrics
        assert msgspec.json.decode((await call("GET", "/openapi.json")).content)["openapi"]
