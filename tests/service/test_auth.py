"""Keys: which operation needs which scope, keys for one bandit, and rotation without a pause."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from handful.errors import SettingError
from handful.service.api import OPERATIONS, Operation
from handful.service.auth import ANYBODY, Keys, digest_of, is_loopback, new_key, remove_key
from handful.service.desk import Desk
from handful.service.limits import Limits
from handful.service.problems import Problem
from handful.service.serving import Address, serve
from tests.service.requests import Caller, in_loop, served
from tests.service.world import World

BODIES: dict[str, Any] = {
    "create_bandit": {"name": "new", "memory": 2, "arms": ["a", "b"]},
    "change_bandit": {"explore": 0.0},
    "add_arms": {"arms": ["new"]},
    "remove_arms": {"arms": ["c"]},
    "decide": {},
    "reward": {"reward": 1.0},
    "reward_many": {"rewards": [{"id": "12345", "reward": 1.0}]},
    "make_key": {"name": "new", "scopes": ["decide"]},
}


async def _status(call: Caller, operation: Operation, decision: str, name: str = "front") -> int:
    path = operation.path.format(name=name, id=decision, label="c")
    answer = await call(operation.method, path, BODIES.get(operation.name))
    return answer.status_code


@pytest.mark.parametrize("scope", ["decide", "reward", "admin", None])
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
@in_loop
async def test_every_operation_with_every_scope(operation: Operation, scope: str | None) -> None:
    async with served() as call:
        await call.front()
        (decision,) = await call.decide()
        admin = (await call.make_key("admin"))["key"]
        call.key = admin
        call.key = "hf_wrong" if scope is None else (await call.make_key(scope))["key"]
        found = await _status(call, operation, decision["id"])
        if scope is None:
            assert found == 401
        elif scope in (operation.scope, "admin"):
            assert found in (operation.status, 404)
            assert found != 404 or operation.name == "remove_key"
        else:
            assert found == 403


@in_loop
async def test_metrics_and_events_need_a_scope() -> None:
    async with served() as call:
        call.key = admin = (await call.make_key("admin"))["key"]
        for scope, metrics, events in (("decide", 403, None), ("reward", 403, 403)):
            call.key = admin
            call.key = (await call.make_key(scope))["key"]
            assert (await call("GET", "/metrics")).status_code == metrics
            if events:
                assert (await call("GET", "/v1/events")).status_code == events
        call.key = None
        for path in ("/metrics", "/v1/events"):
            refused = await call("GET", path)
            assert refused.status_code == 401
            assert refused.headers["www-authenticate"] == 'Bearer realm="handful"'
        for path in ("/healthz", "/readyz", "/openapi.json"):
            assert (await call("GET", path)).status_code == 200


@in_loop
async def test_a_key_for_one_bandit() -> None:
    async with served() as call:
        await call.front()
        await call.front(name="other")
        (mine,) = await call.decide(key="k")
        (theirs,) = await call.decide("other", key="k")
        call.key = admin = (await call.make_key("admin"))["key"]
        call.key = (await call.make_key("decide", "reward", bandit="front"))["key"]
        listed = (await call("GET", "/v1/bandits")).json()["bandits"]
        assert [each["name"] for each in listed] == ["front"]
        for operation in OPERATIONS:
            if "{name}" in operation.path and operation.scope != "admin":
                assert await _status(call, operation, "", "front") == operation.status
                assert await _status(call, operation, "", "other") == 403
        for operation in OPERATIONS:
            if "{id}" in operation.path and operation.scope != "admin":
                assert await _status(call, operation, theirs["id"]) == 404
        assert (await call("GET", f"/v1/decisions/{mine['id']}")).status_code == 200
        assert (await call("GET", "/v1/events?bandit=other")).status_code == 403
        rewards = [{"id": each["id"], "reward": 1.0} for each in (mine, theirs)]
        keyed = [{"bandit": name, "key": "k", "reward": 1.0} for name in ("front", "other")]
        answer = await call("POST", "/v1/rewards", {"rewards": [*rewards, *keyed]})
        outcomes = answer.json()["outcomes"]
        became = [each["outcome"] for each in outcomes]
        assert became == ["credited", "unknown", "duplicate", "unknown"]
        assert theirs["id"] not in outcomes[3]["detail"]
        call.key = admin
        assert (await call("GET", "/v1/bandits/other")).json()["rewards"] == 0
        refused = await call(
            "POST", "/v1/keys", {"name": "x", "scopes": ["admin"], "bandit": "front"}
        )
        assert refused.status_code == 422


@in_loop
async def test_rotation_without_a_pause() -> None:
    async with served() as call:
        await call.front()
        old = await call.make_key("admin")
        call.key = old["key"]
        new = await call.make_key("admin")

        async def busy(key: str) -> list[int]:
            statuses = []
            for _ in range(20):
                answer = await call(
                    "POST", "/v1/bandits/front/decisions", {}, authorization=f"Bearer {key}"
                )
                statuses.append(answer.status_code)
            return statuses

        async def rotate() -> int:
            call.key = new["key"]
            return (await call("DELETE", f"/v1/keys/{old['id']}")).status_code

        found, removed, _ = await asyncio.gather(busy(new["key"]), rotate(), busy(old["key"]))
        assert removed == 204
        assert set(found) == {201}
        refused = await call("GET", "/v1/bandits", authorization=f"Bearer {old['key']}")
        assert refused.status_code == 401
        keys = (await call("GET", "/v1/keys")).json()["keys"]
        assert [each["id"] for each in keys] == [new["id"]]
        assert all("key" not in each for each in keys)
        assert (await call("DELETE", f"/v1/keys/{old['id']}")).status_code == 404


@in_loop
async def test_a_store_that_had_a_key_is_never_open_again() -> None:
    """Without its last key, a service on a loopback address took requests from everybody."""
    world = World()
    async with served(world=world) as call:
        await call.front()
        made = await call.make_key("admin")
        call.key = made["key"]
        assert (await call("DELETE", f"/v1/keys/{made['id']}")).status_code == 409
        assert (await call("GET", "/v1/bandits/front")).status_code == 200
        second = await call.make_key("admin")
        assert (await call("DELETE", f"/v1/keys/{second['id']}")).status_code == 204
        # As `handful keys remove` does, while nobody serves the store.
        world.do(lambda session: remove_key(session.tx, made["id"]))
        assert (await call("GET", "/v1/bandits/front")).status_code == 200  # not read again yet
    world.desk = Desk(world.storage(), world.clock)
    async with served(world=world) as call:
        assert (await call("GET", "/v1/bandits/front")).status_code == 401
        assert call.service.keys.is_empty


@in_loop
async def test_the_first_key_must_be_one_that_can_make_others() -> None:
    """Another one locked everybody out."""
    async with served() as call:
        body = {"name": "shop", "scopes": ["decide", "reward"]}
        refused = await call("POST", "/v1/keys", body)
        assert (refused.status_code, "admin" in refused.json()["detail"]) == (409, True)
        await call.front()  # the store is open as before
        call.key = (await call.make_key("admin"))["key"]
        assert (await call("POST", "/v1/keys", body)).status_code == 201


@in_loop
async def test_a_key_for_a_bandit_that_is_not_there_is_refused() -> None:
    async with served() as call:
        await call.front()
        call.key = (await call.make_key("admin"))["key"]
        body = {"name": "shop", "scopes": ["decide"], "bandit": "frnot"}
        refused = await call("POST", "/v1/keys", body)
        assert (refused.status_code, "'frnot'" in refused.json()["detail"]) == (422, True)
        assert len((await call("GET", "/v1/keys")).json()["keys"]) == 1


@in_loop
async def test_a_service_that_others_can_reach_needs_a_key_even_if_there_is_none() -> None:
    async with served(key_needed=True) as call:
        assert (await call("GET", "/v1/bandits")).status_code == 401
        assert (await call("GET", "/healthz")).status_code == 200


def test_serving_to_others_without_a_key_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="has no key"):
        serve(tmp_path / "store.db", Address("0.0.0.0", 0), Limits(), False, "info")


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost", True), ("127.0.0.1", True), ("127.9.9.9", True), ("::1", True),
        ("[::1]", True), ("0.0.0.0", False), ("::", False), ("192.168.0.1", False),
        ("example.org", False), ("localhost.example.org", False), ("", False),
    ],
)  # fmt: skip
def test_loopback(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


@pytest.mark.parametrize(
    "header",
    [None, "", "Bearer", "Bearer ", "Basic {key}", "{key}", "Bearer{key}", "Bearer x{key}",
     "Bearer {key}x", "Bearer \ud800", "Bearer é"],
)  # fmt: skip
def test_what_is_no_key(header: str | None) -> None:
    key, row = new_key("name", ["decide"], None, 0)
    keys = Keys([row], needed=False)
    assert keys.caller(f"bearer  {key} ").id == row.id
    with pytest.raises(Problem) as refused:
        keys.caller(None if header is None else header.format(key=key))
    assert refused.value.status == 401
    assert key not in refused.value.detail


def test_a_store_has_only_the_hash_of_a_key() -> None:
    key, row = new_key("name", ["decide", "reward"], "front", 7)
    assert key.startswith("hf_")
    assert len(key) > 40
    assert key not in repr(row)
    assert row.digest == digest_of(key)
    assert new_key("name", ["decide"], None, 7)[0] != key


@pytest.mark.parametrize("scopes", [["all"], ["decide", "decide"], ["DECIDE"], [""]])
def test_scopes_that_are_none(scopes: list[str]) -> None:
    with pytest.raises(Problem) as refused:
        new_key("name", scopes, None, 0)
    assert refused.value.status == 422


def test_without_keys_everybody_may_do_everything_on_this_machine() -> None:
    assert Keys([], needed=False).caller(None) is ANYBODY
    for scope in ("decide", "reward", "admin"):
        ANYBODY.require(scope, "any")
