"""The OpenAPI 3.1 document, made from the operations and their structures."""

from __future__ import annotations

import re
from functools import cache
from http import HTTPStatus
from typing import Any

import msgspec

from handful import __version__
from handful.service.api import OPERATIONS, Operation
from handful.service.bodies import Health, ProblemShown

COMMON_REFUSALS = (400, 401, 403, 408, 413, 415, 422, 429, 503)
"""Refusals that any operation may answer with."""
PARAMETERS: dict[str, dict[str, object]] = {
    "name": {"type": "string", "minLength": 1, "description": "The name of a bandit."},
    "id": {"type": "string", "minLength": 1, "description": "The id that was returned."},
    "label": {"type": "string", "minLength": 1, "description": "The label of an arm."},
}


@cache
def document() -> bytes:
    """Return the document as JSON."""
    types = {operation.takes for operation in OPERATIONS} | {o.gives for o in OPERATIONS}
    ordered = sorted(types - {None}, key=lambda each: str(each.__name__))
    _, schemas = msgspec.json.schema_components(
        [*ordered, ProblemShown, Health], ref_template="#/components/schemas/{name}"
    )
    paths: dict[str, dict[str, object]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    for path, summary in (
        ("/healthz", "Whether the process answers."),
        ("/readyz", "Whether the store can be written to."),
    ):
        paths[path] = {"get": _probe(path, summary)}
    paths["/v1/events"] = {"get": _events()}
    return msgspec.json.encode(
        {
            "openapi": "3.1.0",
            "info": {
                "title": "handful",
                "version": __version__,
                "summary": "Bandits that only ever remember a handful of arms.",
                "license": {"name": "MIT", "identifier": "MIT"},
            },
            "servers": [{"url": "/"}],
            "security": [{"key": []}, {}],
            "paths": paths,
            "components": {
                "schemas": schemas,
                "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
            },
        }
    )


def _operation(operation: Operation) -> dict[str, object]:
    parameters: list[dict[str, object]] = [
        {"name": name, "in": "path", "required": True, "schema": PARAMETERS[name]}
        for name in re.findall(r"{(\w+)}", operation.path)
    ]
    parameters += [
        {"name": q.name, "in": "query", "schema": q.schema, "description": q.summary}
        for q in operation.query
    ]
    if operation.method != "GET":
        parameters.append(
            {
                "name": "Idempotency-Key",
                "in": "header",
                "schema": {"type": "string", "minLength": 1, "maxLength": 200},
                "description": "The same key with the same body gives the same answer again.",
            }
        )
    said: dict[str, object] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "description": f"Needs the scope `{operation.scope}`.",
        "parameters": parameters,
        "responses": _responses(operation),
    }
    if operation.takes is not None:
        said["requestBody"] = {"required": True, "content": _json(operation.takes)}
    return said


def _responses(operation: Operation) -> dict[str, object]:
    phrase = HTTPStatus(operation.status).phrase
    answer: dict[str, Any] = {"description": phrase}
    if operation.gives is not None:
        answer["content"] = _json(operation.gives)
    responses: dict[str, object] = {str(operation.status): answer}
    for status in sorted({*COMMON_REFUSALS, *operation.refuses}):
        responses[str(status)] = _problem(status)
    return responses


def _json(kind: Any) -> dict[str, object]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{kind.__name__}"}}}


def _problem(status: int) -> dict[str, object]:
    schema = {"$ref": "#/components/schemas/ProblemShown"}
    return {
        "description": HTTPStatus(status).phrase,
        "content": {"application/problem+json": {"schema": schema}},
    }


def _probe(path: str, summary: str) -> dict[str, object]:
    return {
        "operationId": path.strip("/"),
        "summary": summary,
        "security": [{}],
        "responses": {"200": {"description": "OK", "content": _json(Health)}, "503": _problem(503)},
    }


def _events() -> dict[str, object]:
    return {
        "operationId": "events",
        "summary": "Bandits as they change: server-sent events.",
        "description": "Needs the scope `decide`. The stream has no end.",
        "parameters": [
            {"name": "bandit", "in": "query", "schema": {"type": "string"}, "description": "One."}
        ],
        "responses": {
            "200": {
                "description": "A stream.",
                "content": {"text/event-stream": {"schema": {"type": "string"}}},
            },
            **{str(status): _problem(status) for status in (400, 401, 403, 429, 503)},
        },
    }
