"""A small stand-in for the service, which can be told to fail, and which shows what it counted.

It keeps bandits and decisions in dictionaries, picks arms in turn, and answers a repeated
Idempotency-Key with the stored answer. `faults` has one entry for each request to come; when it is
empty, requests succeed. `transport()` is for httpx without a network; `served()` listens on a free
port of the loopback address.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import httpx


class Fault(StrEnum):
    """How a request fails. The second word says whether it was carried out before."""

    CUT_BEFORE = "the connection breaks before anything is done"
    CUT_AFTER = "the connection breaks after everything is done"
    BUSY_BEFORE = "429 with Retry-After: 0"
    DOWN_BEFORE = "503"
    GATEWAY_BEFORE = "502"
    GATEWAY_AFTER = "504, although everything is done"
    HANG_AFTER = "no answer, although everything is done"
    BROKEN_BEFORE = "500"
    LETTERS_BEFORE = "200 with a page that is no JSON"
    NONE = "no fault"


STATUS = {
    Fault.BUSY_BEFORE: 429, Fault.DOWN_BEFORE: 503, Fault.GATEWAY_BEFORE: 502,
    Fault.GATEWAY_AFTER: 504, Fault.BROKEN_BEFORE: 500, Fault.LETTERS_BEFORE: 200,
}  # fmt: skip
# A page without an icon makes a browser ask for /favicon.ico, at a time that nobody knows.
PAGE = b'<!doctype html><link rel="icon" href="data:,">'
RETRIED = [
    Fault.CUT_BEFORE, Fault.CUT_AFTER, Fault.BUSY_BEFORE, Fault.DOWN_BEFORE,
    Fault.GATEWAY_BEFORE, Fault.GATEWAY_AFTER, Fault.HANG_AFTER,
]  # fmt: skip


@dataclass(frozen=True)
class Seen:
    """A request as it arrived."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def idempotency_key(self) -> str | None:
        return self.headers.get("idempotency-key")


@dataclass(frozen=True)
class Answer:
    """An answer: a status, JSON or raw bytes, and more headers."""

    status: int
    data: Any = None
    raw: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def body(self) -> bytes:
        if self.raw is not None:
            return self.raw
        return b"" if self.data is None else json.dumps(self.data).encode()

    @property
    def all_headers(self) -> dict[str, str]:
        kind = "problem+json" if self.status >= 400 else "json"
        return {"content-type": f"application/{kind}", **self.headers}


def problem(status: int, title: str, detail: str) -> Answer:
    data = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    return Answer(status, {**data, "request_id": "r1"})


@dataclass
class Stub:
    """The service's part of the conversation, and all that it saw."""

    faults: deque[Fault] = field(default_factory=deque)
    replays: bool = True
    files: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    bandits: dict[str, dict[str, Any]] = field(default_factory=dict)
    decisions: dict[str, dict[str, Any]] = field(default_factory=dict)
    answers: dict[str, tuple[bytes, Answer]] = field(default_factory=dict)
    credited: int = 0
    seen: list[Seen] = field(default_factory=list)
    released: Event = field(default_factory=Event)
    lock: Lock = field(default_factory=Lock)

    def calls(self, method: str) -> list[Seen]:
        """The requests of a method, in order."""
        return [seen for seen in self.seen if seen.method == method]

    def take(self, request: Seen) -> tuple[Fault, Answer]:
        """Carry a request out as its fault allows; say which fault it is, and the answer."""
        with self.lock:
            self.seen.append(request)
            fault = self.faults.popleft() if self.faults else Fault.NONE
            answer = Answer(204)
            if not fault.name.endswith("BEFORE"):
                answer = self._once(request)
            if fault in STATUS:
                retry = {"retry-after": "0"} if fault is Fault.BUSY_BEFORE else {}
                answer = Answer(STATUS[fault], raw=b"<html>", headers=retry)
            return fault, answer

    def _once(self, request: Seen) -> Answer:
        """Answer a repeated Idempotency-Key from the store."""
        key = request.idempotency_key if self.replays else None
        if key is None:
            return self._answer(request)
        if key not in self.answers:
            self.answers[key] = (request.body, self._answer(request))
        body, answer = self.answers[key]
        return answer if body == request.body else problem(422, "Another body", "")

    def _answer(self, request: Seen) -> Answer:
        if request.headers.get("authorization") == "Bearer wrong":
            return problem(401, "Unknown key", "give a key that `handful keys` lists")
        parts = urlsplit(request.target)
        path = [unquote(part) for part in parts.path.strip("/").split("/")]
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        body = json.loads(request.body) if request.body else {}
        match (request.method, path):
            case "GET", [_]:
                kind, content = self.files.get(parts.path, ("text/html", PAGE))
                return Answer(200, raw=content, headers={"content-type": kind})
            case "POST", ["v1", "bandits"]:
                return self._create(body)
            case "GET", ["v1", "bandits"]:
                return self._list(asked.get("after", ""), int(asked["limit"]))
            case "POST", ["v1", "rewards"]:
                return Answer(200, {"outcomes": [self._batched(item) for item in body["rewards"]]})
            case _, ["v1", "bandits", name, *rest]:
                if name not in self.bandits:
                    return problem(404, "No such bandit", f"there is no bandit {name!r}")
                return self._about(request.method, name, rest, body)
            case _, ["v1", "decisions", number, *_]:
                if number not in self.decisions:
                    return problem(404, "No such decision", f"there is no decision {number!r}")
                if request.method == "DELETE":
                    self.decisions[number]["status"] = "dropped"
                    return Answer(200, {"outcome": "dropped"})
                return self._reward(number, body["reward"])
        return problem(404, "No such page", parts.path)

    def _create(self, body: dict[str, Any]) -> Answer:
        if body["name"] in self.bandits:
            return problem(409, "The bandit exists", "choose another name")
        self.bandits[body["name"]] = {"memory": None, **body, "arms": list(body.get("arms", []))}
        return Answer(201, self._shown(body["name"]))

    def _shown(self, name: str) -> dict[str, Any]:
        bandit = self.bandits[name]
        made = [d for d in self.decisions.values() if d["bandit"] == name]
        rewarded = sum(d["reward"] is not None for d in made)
        return {
            **bandit, "arms": len(bandit["arms"]), "decisions": len(made), "rewards": rewarded,
            "recommended": None, "settings": {}, "arms_in_memory": [], "new": "field",
        }  # fmt: skip

    def _list(self, after: str, limit: int) -> Answer:
        names = sorted(name for name in self.bandits if name > after)
        page = names[:limit]
        following = page[-1] if len(names) > limit else None
        return Answer(200, {"bandits": [self._shown(name) for name in page], "next": following})

    def _about(self, method: str, name: str, rest: list[str], body: dict[str, Any]) -> Answer:
        arms = self.bandits[name]["arms"]
        match (method, rest):
            case "GET", []:
                return Answer(200, self._shown(name))
            case "PATCH", []:
                self.bandits[name] |= body
                return Answer(200, self._shown(name))
            case "DELETE", []:
                del self.bandits[name]
                return Answer(204)
            case "POST", ["arms"]:
                arms += body["arms"]
                return Answer(200, {"arms": len(arms), "added": len(body["arms"])})
            case "DELETE", ["arms"]:
                for arm in body["arms"]:
                    if arm not in arms:
                        return problem(404, "Not found", f"{arm!r} is not an arm of {name!r}")
                    arms.remove(arm)
                return Answer(200, {"arms": len(arms), "removed": len(body["arms"])})
        keys = body.get("keys") or [body.get("key")] * body.get("n", 1)
        return Answer(201, {"decisions": [self._decide(name, body, key) for key in keys]})

    def _decide(self, name: str, body: dict[str, Any], key: str | None) -> dict[str, Any]:
        choice = body.get("allowed") or self.bandits[name]["arms"]
        number = f"d{len(self.decisions)}"
        arm = choice[len(self.decisions) % len(choice)]
        self.decisions[number] = {"bandit": name, "arm": arm, "key": key, "reward": None}
        return {"id": number, "arm": arm, "probability": 0.5} | ({"key": key} if key else {})

    def _reward(self, number: str, reward: float) -> Answer:
        decision = self.decisions[number]
        if decision.get("status") == "expired":
            return problem(410, "Too late", "the window of the decision is over")
        if decision["reward"] is None:
            decision["reward"] = reward
            self.credited += 1
            return Answer(200, {"outcome": "credited"})
        if decision["reward"] != reward:
            return problem(409, "Another reward", f"it is {decision['reward']}")
        return Answer(200, {"outcome": "duplicate"})

    def _batched(self, item: dict[str, Any]) -> dict[str, str]:
        found = [n for n, d in self.decisions.items() if d["key"] == item.get("key", "") != ""]
        number = item.get("id", found[0] if found else None)
        if number not in self.decisions:
            return {"outcome": "unknown"}
        answer = self._reward(number, item["reward"])
        return {"outcome": {409: "conflict", 410: "expired"}.get(answer.status, "")} | (
            answer.data if answer.status == 200 else {}
        )

    def transport(self) -> httpx.MockTransport:
        """The stub for httpx, plain or asyncio, without a network."""

        def handle(request: httpx.Request) -> httpx.Response:
            seen = Seen(request.method, request.url.raw_path.decode(), request.headers,
                        request.content)  # fmt: skip
            fault, answer = self.take(seen)
            if fault in (Fault.CUT_BEFORE, Fault.CUT_AFTER):
                raise httpx.RemoteProtocolError("the stub cut the connection")
            if fault is Fault.HANG_AFTER:
                raise httpx.ReadTimeout("the stub hangs")
            return httpx.Response(answer.status, headers=answer.all_headers, content=answer.body)

        return httpx.MockTransport(handle)

    @contextmanager
    def served(self) -> Iterator[str]:
        """The address of the stub on a port of this computer."""
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def handle_one_request(self) -> None:
                self.raw_requestline = self.rfile.readline(65537)
                if not self.raw_requestline or not self.parse_request():
                    self.close_connection = True
                    return
                body = self.rfile.read(int(self.headers.get("content-length", "0")))
                headers = {name.lower(): value for name, value in self.headers.items()}
                fault, answer = stub.take(Seen(self.command, self.path, headers, body))
                if fault is Fault.HANG_AFTER:
                    stub.released.wait(30)
                if fault in (Fault.CUT_BEFORE, Fault.CUT_AFTER, Fault.HANG_AFTER):
                    self.close_connection = True
                    return
                self.send_response_only(answer.status)
                for name, value in answer.all_headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            self.released.set()
            server.shutdown()
            thread.join()
            server.server_close()
