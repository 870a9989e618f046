"""The OpenAPI document: valid, complete, and kept to by every answer, whatever is sent.

schemathesis makes requests from the document, right ones and wrong ones. `/v1/events` is left out:
it has no end.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jsonschema_rs
import msgspec
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from handful.service import openapi
from handful.service.api import OPERATIONS
from handful.service.app import Service
from handful.service.auth import new_key
from handful.service.bodies import NewBandit, NewDecisions
from handful.service.desk import Session
from tests.service.requests import FRONT, in_loop, running, served
from tests.service.world import World

CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
)
SCOPES = {"all": ("admin",), "few": ("reward",), "none": ()}


def document() -> Any:
    """Return the document that is served."""
    return msgspec.json.decode(openapi.document())


@contextmanager
def threaded(service: Service) -> Iterator[Any]:
    """A service that runs in a thread, as an application that starts by itself."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        context = running(service)

        def wait(work: Any) -> Any:
            return asyncio.run_coroutine_threadsafe(work, loop).result()

        async def app(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "lifespan":
                while True:
                    kind = (await receive())["type"]
                    await send({"type": f"{kind}.complete"})
                    if kind == "lifespan.shutdown":
                        return
            await _handed_over(service, loop, scope, receive, send)

        wait(context.__aenter__())
        yield app
        wait(context.__aexit__(None, None, None))
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _handed_over(service: Any, loop: Any, scope: Any, receive: Any, send: Any) -> None:
    """Answer a request of one event loop in another."""
    parts = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            break
    sent: list[Any] = []
    body = [{"type": "http.request", "body": b"".join(parts), "more_body": False}]

    async def take() -> Any:
        return body.pop() if body else {"type": "http.disconnect"}

    async def keep(message: Any) -> None:
        sent.append(message)

    task = asyncio.run_coroutine_threadsafe(service(scope, take, keep), loop)
    await asyncio.wrap_future(task)
    for message in sent:
        await send(message)


class Target:
    """A service that runs, with two bandits and a key."""

    def __init__(self, service: Service, scopes: tuple[str, ...]) -> None:
        self.service = service
        key, row = new_key("first", list(scopes or ("admin",)), None, 0)
        service.keys.load([row])
        self._row = row
        self.headers = {"Authorization": f"Bearer {key}"} if scopes else {}
        self.decision = ""

    def prepare(self) -> None:
        """See to it that there are the bandits, a decision and the key."""
        assert self.service.writer._task is not None
        loop = self.service.writer._task.get_loop()
        asyncio.run_coroutine_threadsafe(self.service.writer.run(self._prepare), loop).result()
        self.service.keys.load([self._row])

    def _prepare(self, session: Session) -> None:
        for name, policy, is_open in (("front", "race", False), ("other", "qucb-m", True)):
            if session.tx.bandit_named(name) is None:
                arms = ["a", "b", "c"]
                given = NewBandit(name=name, policy=policy, memory=2, arms=arms, open=is_open)
                session.create(given)
        self.decision = session.decide("front", NewDecisions()).decisions[0].id

    def known(self, parameters: Any, name: str) -> None:
        """Let the path of a request name what there is."""
        for key, value in (("name", name), ("id", self.decision), ("label", "b")):
            if key in parameters:
                parameters[key] = value


def _attack(scopes: tuple[str, ...], examples: int) -> set[tuple[str, int]]:
    """Send requests to every operation; return the statuses that came."""
    seen: set[tuple[str, int]] = set()
    service = Service(World().desk, key_needed=True)
    with threaded(service) as app:
        target = Target(service, scopes)
        schema = schemathesis.openapi.from_dict(document())
        schema.app = app
        for result in schema.exclude(path="/v1/events").get_all_operations():
            assert isinstance(result, Ok)
            operation = result.ok()
            target.prepare()
            right, wrong = (
                operation.as_strategy(generation_mode=mode)
                for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
            )

            @settings(
                max_examples=examples, database=None, deadline=None, derandomize=True,
                phases=(Phase.explicit, Phase.generate), suppress_health_check=list(HealthCheck),
            )  # fmt: skip
            @given(case=right | wrong, name=st.sampled_from((None, "front", "other")))
            def attack(case: Any, name: str | None) -> None:
                if name is not None and isinstance(case.path_parameters, dict):
                    target.known(case.path_parameters, name)
                answer = case.call(headers=target.headers)
                seen.add((case.operation.label, answer.status_code))
                case.validate_response(answer, checks=CHECKS)

            attack()
    return seen


@pytest.mark.parametrize("scopes", SCOPES, ids=list(SCOPES))
def test_answers_keep_to_the_document(scopes: str) -> None:
    seen = _attack(SCOPES[scopes], 8)
    statuses = {status for _, status in seen}
    if scopes == "none":
        assert statuses <= {200, 401, 405}
        assert 401 in statuses
    elif scopes == "few":
        assert 403 in statuses
    else:
        assert {200, 201, 404, 422} <= statuses


@pytest.mark.parametrize("scopes", SCOPES, ids=list(SCOPES))
def test_long_answers_keep_to_the_document(scopes: str) -> None:
    _attack(SCOPES[scopes], 400)


def test_it_is_openapi() -> None:
    """By the rules of the specification that do not need its own schema."""
    found = document()
    assert found["openapi"] == "3.1.0"
    ids = [each["operationId"] for path in found["paths"].values() for each in path.values()]
    assert len(set(ids)) == len(ids)
    for schema in found["components"]["schemas"].values():
        assert jsonschema_rs.meta.is_valid(schema)
    text = openapi.document().decode()
    references = {part.split('"')[0] for part in text.split('"$ref":"#/components/schemas/')[1:]}
    assert references <= set(found["components"]["schemas"])
    for path, methods in found["paths"].items():
        names = {name.strip("{}") for name in path.split("/") if name.startswith("{")}
        for each in methods.values():
            given = {p["name"] for p in each.get("parameters", []) if p["in"] == "path"}
            assert given == names


def test_every_operation_is_in_it() -> None:
    paths = document()["paths"]
    for operation in OPERATIONS:
        said = paths[operation.path][operation.method.lower()]
        assert str(operation.status) in said["responses"]
        assert f"`{operation.scope}`" in said["description"]
    assert set(paths) >= {"/healthz", "/readyz", "/v1/events"}


@in_loop
async def test_a_wrong_answer_would_be_seen() -> None:
    """The checks find an answer that the document does not have."""
    async with served() as call:
        await call.front()
        answer = await call("GET", "/v1/bandits/front")
    schema = document()["components"]
    shown = {**schema["schemas"]["BanditShown"], "components": schema}
    assert jsonschema_rs.is_valid(shown, answer.json())
    for wrong in ({"decisions": "7"}, {"arms_in_memory": [1]}, {"recommended": 3}):
        assert not jsonschema_rs.is_valid(shown, {**answer.json(), **wrong})
    assert FRONT["name"] == answer.json()["name"]
