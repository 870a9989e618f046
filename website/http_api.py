"""The page of the HTTP API, from the OpenAPI document that the service itself gives out."""

from __future__ import annotations

import json
from typing import Any

from handful.service.openapi import document
from website import HERE

COMMON = ("400", "401", "403", "408", "413", "415", "422", "429", "503")


def page() -> str:
    """Return the page as Markdown."""
    api = json.loads(document())
    lines = [
        (HERE / "http-api.md")
        .read_text(encoding="utf-8")
        .format(common=", ".join(f"`{status}`" for status in COMMON))
    ]
    lines += ["## Paths", "", "| path | what it does |", "|---|---|"]
    calls = [
        (method.upper(), path, call)
        for path, methods in api["paths"].items()
        for method, call in methods.items()
    ]
    for method, path, call in calls:
        lines.append(f"| [`{method} {path}`](#{_anchor(call)}) | {call['summary']} |")
    for method, path, call in calls:
        lines += ["", *_call(method, path, call)]
    lines += ["", "## Structures", ""]
    for name, schema in api["components"]["schemas"].items():
        lines += ["", *_structure(name, schema)]
    return "\n".join(lines) + "\n"


def _anchor(call: dict[str, Any]) -> str:
    return str(call["operationId"]).replace("_", "-")


def _call(method: str, path: str, call: dict[str, Any]) -> list[str]:
    lines = [f"({_anchor(call)})=", f"### `{method} {path}`", "", call["summary"]]
    if "description" in call:
        lines[-1] += f" {call['description']}"
    given = [each for each in call.get("parameters", []) if each["name"] != "Idempotency-Key"]
    if given:
        lines += ["", "| parameter | in | type | |", "|---|---|---|---|"]
        lines += [
            f"| `{each['name']}` | {each['in']} | {_kind(each['schema'])} | "
            f"{each.get('description', '')} |"
            for each in given
        ]
    if "requestBody" in call:
        lines += ["", f"Body: {_content(call['requestBody'])}"]
    for status, answer in call["responses"].items():
        if status.startswith("2"):
            lines += ["", f"Answer: `{status}` {answer['description']} {_content(answer)}".rstrip()]
    refusals = [s for s in call["responses"] if s not in COMMON and not s.startswith("2")]
    if refusals:
        shown = (f"`{s}` {call['responses'][s]['description']}" for s in refusals)
        lines += ["", f"Refusals: {', '.join(shown)}"]
    return lines


def _content(part: dict[str, Any]) -> str:
    kinds = part.get("content", {})
    return ", ".join(_kind(kind["schema"]) for kind in kinds.values())


def _structure(name: str, schema: dict[str, Any]) -> list[str]:
    lines = [f"### {name}", "", *([schema["description"]] if "description" in schema else [])]
    if "enum" in schema:
        return [*lines, "", "One of " + ", ".join(f"`{each}`" for each in schema["enum"]) + "."]
    lines += ["", "| field | type | |", "|---|---|---|"]
    required = schema.get("required", [])
    for field, kind in schema.get("properties", {}).items():
        said = [kind["description"]] if "description" in kind else []
        if field not in required and "default" in kind:
            said.append(f"Default: `{json.dumps(kind['default'])}`.")
        lines.append(f"| `{field}` | {_kind(kind)} | {' '.join(said)} |")
    return lines


def _kind(schema: dict[str, Any]) -> str:
    """Return what a value may be, in words, with links to the structures."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_kind(each) for each in schema["anyOf"])
    if "enum" in schema:
        known = schema["enum"]
        if "race" in known:
            return "the name of [a policy](policies/index.md)"
        return ", ".join(f"`{json.dumps(each)}`" for each in known)
    kind = str(schema.get("type", "any"))
    if "prefixItems" in schema:
        return f"list of {', '.join(map(_kind, schema['prefixItems']))}"
    if kind == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        return f"{kind}, {low:,} to {high:,}"
    if low is not None:
        return f"{kind}, at least {low:,}"
    return kind
