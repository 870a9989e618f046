"""Requests that no honest caller sends, as bytes; the same for the same seed.

Each has a kind, and says how its sender behaves: whether the answer to a whole request is read and
the connection used again, or whether the sender hangs up, waits, or dribbles.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import NamedTuple

MARK = "payload-marker-5b1f"
"""In everything that must not be in a log."""
NAMES = [f"bandit{number}" for number in range(6)]
POLICIES = ["race", "ucb-m", "qucb-m", "random", "ucb1", "cover", "mbse", "nobody", "", "__class__"]
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE"]
TAKES = [
    ("POST", "/v1/bandits"), ("PATCH", "/v1/bandits/{n}"), ("POST", "/v1/bandits/{n}/arms"),
    ("DELETE", "/v1/bandits/{n}/arms"), ("POST", "/v1/bandits/{n}/decisions"),
    ("PUT", "/v1/decisions/{i}/reward"), ("POST", "/v1/rewards"), ("POST", "/v1/keys"),
]  # fmt: skip
"""Addresses that take a body."""
PATHS = [
    "/v1/bandits", "/v1/bandits/{n}", "/v1/bandits/{n}/arms", "/v1/bandits/{n}/decisions",
    "/v1/bandits/{n}/history", "/v1/bandits/{n}/arms/{l}", "/v1/decisions/{i}",
    "/v1/decisions/{i}/reward", "/v1/rewards", "/v1/keys", "/v1/keys/{i}", "/healthz", "/readyz",
    "/metrics", "/openapi.json", "/", "/static/{l}", "/v1/nothing",
]  # fmt: skip
VALUES = [
    "null", "true", "0", "-0.0", "1", "-1", "1e999", "-1e999", "NaN", "Infinity", "1e-400",
    "9" * 400, "9" * 5000, "0.1", "1e308", "2147483648", "9223372036854775808", '""', '"a"', "[]",
    "{}", "[[]]", '{"a":1}', '"\\ud800"', '"\\u0000"', '"\\udfff\\ud800"', '"' + "x" * 3000 + '"',
    '"\U0001f400"', "[1,", "'a'", "01", "+1", ".5", "1.", "0x10", '"\\x"', '"\t"', "/**/1",
]  # fmt: skip
FIELDS = [
    "name", "policy", "memory", "arms", "settings", "seed", "window", "default", "explore",
    "rescale", "open", "n", "allowed", "key", "keys", "reward", "rewards", "id", "bandit", "scopes",
    "self", "__init__", "\u0000", MARK,
]  # fmt: skip


class Hostile(NamedTuple):
    """A request, and how it is sent."""

    kind: str
    raw: bytes
    whole: bool = False
    """Whether it is one well-formed request, after which the connection may be used again."""
    answers: int = 1
    """How many answers the sender waits for; 0: he waits until the connection is closed."""
    parts: int = 1
    """In how many pieces it is sent."""
    hang_up: bool = False
    """Whether the sender closes his half of the connection at once."""


class Forge:
    """Makes hostile requests."""

    def __init__(self, seed: int, key: str) -> None:
        self.draw = random.Random(seed)
        self.key = key

    def requests(self, count: int) -> Iterator[Hostile]:
        """Yield so many requests; the dear ones are rare."""
        common: list[Callable[[], Hostile]] = [
            self.fields, self.fields, self.fields, self.fields, self.values, self.values,
            self.mutated, self.mutated, self.mutated, self.path, self.path, self.labels,
            self.settings, self.honest, self.honest, self.honest, self.method, self.headers,
            self.query,
        ]  # fmt: skip
        odd: list[Callable[[], Hostile]] = [
            self.garbage, self.length, self.chunked, self.version, self.absolute, self.pipelined,
            self.smuggled, self.upgrade, self.nested, self.arms, self.half_closed,
        ]  # fmt: skip
        rare: list[Callable[[], Hostile]] = [self.flood, self.huge, self.dribbled, self.slow]
        for number in range(count):
            if number % 499 == 17:
                yield rare[number // 499 % len(rare)]()
            elif number % 10 == 3:
                yield self.draw.choice(odd)()
            else:
                yield self.draw.choice(common)()

    def _head(
        self, method: str, path: str, body: bytes = b"", *more: str, key: bool = True
    ) -> bytes:
        lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1"]
        if key and self.draw.random() < 0.97:
            lines.append(f"Authorization: Bearer {self.key}")
        if body or method in ("POST", "PUT", "PATCH"):
            lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
        head = "\r\n".join([*lines, *more, "", ""])
        return head.encode("utf-8", "surrogatepass") + body

    def _target(self, path: str | None = None) -> str:
        path = path or self.draw.choice(PATHS)
        return path.format(
            n=self.draw.choice([*NAMES, MARK]), l=MARK, i=f"{self.draw.getrandbits(24):x}"
        )

    def _object(self) -> bytes:
        fields = self.draw.choices(FIELDS, k=self.draw.randint(0, 6))
        parts = [f"{json.dumps(each)}:{self.draw.choice(VALUES)}" for each in fields]
        return ("{" + ",".join(parts) + "}").encode("utf-8", "surrogatepass")

    def _valid(self) -> tuple[str, str, bytes]:
        name = self.draw.choice(NAMES)
        own = f"{MARK}{self.draw.randrange(50)}"
        if self.draw.random() < 0.03:
            return "DELETE", f"/v1/bandits/{name}", b""
        method, path, body = self.draw.choice([
            ("POST", "/v1/bandits", {"name": name, "memory": 2, "arms": ["a", "b", MARK]}),
            ("POST", "/v1/bandits", {"name": name, "policy": "race", "memory": 2, "open": True,
                                     "arms": ["a", "b", MARK], "window": 0.01}),
            ("POST", f"/v1/bandits/{name}/decisions", {"key": own}),
            ("POST", f"/v1/bandits/{name}/decisions", {"n": 2, "keys": [own, f"{own}2"]}),
            ("POST", f"/v1/bandits/{name}/decisions", {"n": 3, "allowed": ["a", MARK]}),
            ("POST", f"/v1/bandits/{name}/decisions", {}),
            ("POST", "/v1/rewards", {"rewards": [{"bandit": name, "key": own, "reward": 1.0}]}),
            ("POST", f"/v1/bandits/{name}/arms", {"arms": [f"{self.draw.getrandbits(16)}"]}),
            ("PATCH", f"/v1/bandits/{name}", {"window": 1.0, "explore": 0.5}),
            ("DELETE", f"/v1/bandits/{name}/arms", {"arms": ["a"]}),
        ])  # fmt: skip
        return method, path, json.dumps(body).encode()

    def honest(self) -> Hostile:
        """What an honest caller sends."""
        method, path, body = self._valid()
        return Hostile("honest", self._head(method, path, body), True)

    def fields(self) -> Hostile:
        """Fields and values at random."""
        method, path = self.draw.choice(TAKES)
        return Hostile("fields", self._head(method, self._target(path), self._object()), True)

    def values(self) -> Hostile:
        """A right body in which one value is another."""
        method, path, body = self._valid()
        found = json.loads(body or b"{}")
        if found:
            field = self.draw.choice(list(found))
            found[field] = MARK
            value = self.draw.choice(VALUES).encode("utf-8", "surrogatepass")
            body = json.dumps(found).encode().replace(b'"%s"' % MARK.encode(), value, 1)
        return Hostile("values", self._head(method, path, body), True)

    def mutated(self) -> Hostile:
        """A right body with other bytes in it."""
        method, path, body = self._valid()
        raw = bytearray(body)
        for _ in range(self.draw.randint(1, 4)):
            place = self.draw.randrange(len(raw) + 1)
            kind = self.draw.randrange(3)
            if kind == 0:
                raw[place:place] = self.draw.randbytes(self.draw.randint(1, 4))
            elif kind == 1:
                del raw[place : place + self.draw.randint(1, 8)]
            else:
                raw[place : place + 1] = self.draw.randbytes(1)
        return Hostile("mutated", self._head(method, path, bytes(raw)), True)

    def path(self) -> Hostile:
        """Odd paths."""
        odd = self.draw.choice([
            "/%", "/%zz", "/%00", "/%ff%fe", "/v1/bandits/%2e%2e", "/../../etc/passwd", "//", "/.",
            "/v1/bandits/%F0%9F%90%80", "/v1//bandits", "/v1/bandits/" + "x" * 20_000, "/\x7f",
            "/v1/bandits/" + "%41" * 3000, "/v1/bandits/%ED%A0%80", "/v1/decisions/%0a", "/é",
            "/v1/bandits/a/arms/" + "%2F" * 50, "/v1/bandits/*", "/;a=b", "/?", "/#x", "/v1\\keys",
            f"/v1/bandits/{MARK}%0d%0aX-Injected:%20yes", "/static/..%2f__init__.py",
        ])  # fmt: skip
        return Hostile("path", self._head(self.draw.choice(METHODS[:1] + METHODS[4:6]), odd))

    def query(self) -> Hostile:
        """Odd queries."""
        odd = self.draw.choice([
            "?", "?limit=", "?limit=1e3", "?limit=99999999999999999999", "?limit=%31", "?after=%ff",
            "?after=%00", "?limit=1&limit=2", "?" + "a=1&" * 500, "?limit=\u0663", "?&&&", "?=",
            f"?after={MARK}", "?after=" + "x" * 10_000, "?limit=-0", "?limit=+1",
            "?bandit=%ED%A0%80",
        ])  # fmt: skip
        path = self.draw.choice(["/v1/bandits", f"/v1/bandits/{NAMES[0]}/arms"])
        return Hostile("query", self._head("GET", path + odd))

    def labels(self) -> Hostile:
        """Labels of any Unicode."""
        arms = [self._text() for _ in range(self.draw.randint(1, 6))]
        name = self.draw.choice(NAMES)
        body = json.dumps({"arms": arms}, ensure_ascii=self.draw.random() < 0.5).encode()
        if self.draw.random() < 0.3:
            made = {"name": name, "memory": 2, "arms": arms}
            return Hostile(
                "labels", self._head("POST", "/v1/bandits", json.dumps(made).encode()), True
            )
        method = self.draw.choice(("POST", "DELETE"))
        return Hostile("labels", self._head(method, f"/v1/bandits/{name}/arms", body), True)

    def _text(self) -> str:
        """Return a few characters out of all that there are."""
        points = (self.draw.randrange(0x110000 - 0x800) for _ in range(self.draw.randint(1, 12)))
        return "".join(chr(each if each < 0xD800 else each + 0x800) for each in points)

    def settings(self) -> Hostile:
        """Policies and settings that do not fit."""
        named = [
            "arms",
            "seed",
            "window",
            "memory",
            "self",
            "rescale",
            "horizon",
            "K",
            "alpha",
            MARK,
        ]
        body = {
            "name": self.draw.choice([*NAMES, f"set{self.draw.randrange(300)}"]),
            "policy": self.draw.choice(POLICIES),
            "memory": self.draw.choice([None, 1, 2, 3, 1000, 100_001]),
            "arms": ["a", "b"],
            "settings": {self.draw.choice(named): self.draw.choice([0, 1, -1, 0.5, 1e300])},
            "open": self.draw.random() < 0.3,
            "rescale": self.draw.choice([None, [0, 1], [-1e308, 1e307], [1, 1], [1, 0]]),
            "window": self.draw.choice([None, 1e-300, 1, 1e9]),
            "default": self.draw.choice([None, None, 0, -1]),
            "explore": self.draw.choice([0, 0, 1, 0.5]),
        }
        if self.draw.random() < 0.5:
            body["settings"] = {}
        return Hostile(
            "settings", self._head("POST", "/v1/bandits", json.dumps(body).encode()), True
        )

    def method(self) -> Hostile:
        """Methods that an address does not take, or nobody knows."""
        known = [*METHODS, "CONNECT", "PROPFIND", "BREW", "get", "G" * 1000, "", "POST\x00", MARK]
        return Hostile("method", self._head(self.draw.choice(known), self._target()))

    def headers(self) -> Hostile:
        """Odd headers."""
        odd = self.draw.choice([
            "Host: evil.example", "Host: ", "Host: a\r\nHost: b", "Authorization: Bearer " + MARK,
            "Authorization: Basic " + MARK, "X-Request-Id: " + "x" * 5000, "X-Request-Id: é\x01",
            "Idempotency-Key: " + MARK, "Idempotency-Key: ", "Idempotency-Key: " + "k" * 300,
            "Expect: 100-continue", "Expect: 200-ok", "Connection: close, keep-alive",
            "X" * 10_000 + ": 1", "No colon", ": no name", " folded", "A: b\r\n folded",
            "Content-Encoding: gzip", "Accept: " + "*/*," * 2000, "Range: bytes=0-1,2-3",
            "X-Forwarded-For: 8.8.8.8", "Cookie: " + MARK, "Content-Type: text/plain",
        ])  # fmt: skip
        method, path, body = self._valid()
        return Hostile("headers", self._head(method, path, body, odd))

    def garbage(self) -> Hostile:
        """Bytes that are not HTTP."""
        raw = self.draw.choice([
            self.draw.randbytes(self.draw.randint(1, 2000)),
            b"\x16\x03\x01\x02\x00" + b"\x00" * 500,
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\r\n" * 500, b"GET\r\n\r\n", b"\x00" * 1000,
            b"GET / HTTP/9.9\r\n\r\n", b"GET  /  HTTP/1.1\r\n\r\n", b"GET /\r\n\r\n", b"\n\n\n",
            b"GET / HTTP/1.1\nHost: x\n\n",
        ])  # fmt: skip
        return Hostile("garbage", raw + b"\r\n\r\n")

    def length(self) -> Hostile:
        """A length that is not that of the body."""
        _, path, body = self._valid()
        given = self.draw.choice([
            "0", "1", str(len(body) + 5), "-1", "+5", "1e3", "0x10", "9" * 30, "9" * 6000, "5, 5",
            "5\r\nContent-Length: 6", "", " ", "999999999999",
        ])  # fmt: skip
        head = (
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {given}\r\n\r\n"
        )
        return Hostile("length", head.encode() + body, answers=0, hang_up=True)

    def chunked(self) -> Hostile:
        """Odd chunks."""
        _, path, body = self._valid()
        size = b"%x" % len(body)
        coded = self.draw.choice([
            size + b"\r\n" + body + b"\r\n0\r\n\r\n", b"1\r\n{\r\n1\r\n}\r\n0\r\n\r\n",
            size + b";ext=1\r\n" + body + b"\r\n0\r\nTrailer: x\r\n\r\n", b"zz\r\n{}\r\n0\r\n\r\n",
            b"f" * 30 + b"\r\n{}\r\n", b"-1\r\n{}\r\n0\r\n\r\n", b"2\n{}\n0\n\n", b"0\r\n\r\n",
            b"2\r\n{}" + b"0\r\n\r\n", b"2;" + b"x" * 5000 + b"\r\n{}\r\n0\r\n\r\n", b"",
        ])  # fmt: skip
        head = (
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.key}\r\n"
            "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        return Hostile("chunked", head.encode() + coded, answers=0, hang_up=True)

    def version(self) -> Hostile:
        """HTTP/1.0, with a host and without."""
        host = self.draw.choice(("", "Host: localhost\r\n"))
        return Hostile("version", f"GET {self._target()} HTTP/1.0\r\n{host}\r\n".encode())

    def absolute(self) -> Hostile:
        """Targets that are not paths."""
        target = self.draw.choice([
            "http://127.0.0.1/healthz", "http://evil.example/v1/keys", "https://x:99999/", "*",
            "evil.example:443", "file:///etc/passwd", "http://", "http://[::1", "//evil/v1/bandits",
        ])  # fmt: skip
        return Hostile("absolute", self._head("GET", target))

    def pipelined(self) -> Hostile:
        """Many requests at once."""
        many = [self._head(*self._valid()) for _ in range(self.draw.randint(2, 20))]
        return Hostile("pipelined", b"".join(many), answers=len(many))

    def smuggled(self) -> Hostile:
        """Two lengths, of which a proxy might believe the other."""
        body = b"0\r\n\r\nGET /v1/keys HTTP/1.1\r\nHost: localhost\r\n\r\n"
        more = self.draw.choice(["chunked", " chunked", "xchunked", "chunked, identity", "gzip"])
        raw = self._head("POST", "/v1/rewards", body, f"Transfer-Encoding: {more}")
        return Hostile("smuggled", raw, answers=0, hang_up=True)

    def upgrade(self) -> Hostile:
        """Other protocols."""
        more = self.draw.choice(["websocket", "h2c", "TLS/1.0", MARK])
        raw = self._head(
            "GET", self._target(), b"", f"Upgrade: {more}", "Connection: Upgrade",
            "Sec-WebSocket-Key: x3JJHMbDL1EzLkh9GBhXDw==", "Sec-WebSocket-Version: 13",
        )  # fmt: skip
        return Hostile("upgrade", raw)

    def nested(self) -> Hostile:
        """Deep nesting."""
        depth = self.draw.choice((100, 5000, 100_000))
        form = self.draw.choice((b"[", b'{"arms":', b'{"arms":[', b'{"settings":{"a":'))
        _, path, _ = self._valid()
        return Hostile("nested", self._head("POST", path, form * depth), True)

    def arms(self) -> Hostile:
        """Very many arms."""
        arms = [f"{MARK}{number}" for number in range(self.draw.choice((1000, 5000)))]
        body = {"name": self.draw.choice(NAMES), "memory": 4, "arms": arms}
        return Hostile("arms", self._head("POST", "/v1/bandits", json.dumps(body).encode()), True)

    def half_closed(self) -> Hostile:
        """A sender who hangs up at any byte."""
        raw = self._head(*self._valid())
        return Hostile("half closed", raw[: self.draw.randrange(len(raw))], answers=0, hang_up=True)

    def flood(self) -> Hostile:
        """A head without an end."""
        line = b"X-Flood: " + MARK.encode() * 20 + b"\r\n"
        return Hostile("flood", b"GET / HTTP/1.1\r\nHost: localhost\r\n" + line * 2000)

    def huge(self) -> Hostile:
        """Ten megabytes."""
        body = self.draw.choice([
            b'{"arms":["' + b"x" * 10_000_000 + b'"]}', b" " * 10_000_000, b"1" * 10_000_000,
            b'{"n":' + b"1" * 10_000_000 + b"}", b"[" * 10_000_000, b"\xff" * 20_000_000,
        ])  # fmt: skip
        _, path, _ = self._valid()
        return Hostile("huge", self._head("POST", path, body))

    def dribbled(self) -> Hostile:
        """A request in small pieces."""
        return Hostile("dribbled", self._head(*self._valid(), "Connection: close"), parts=60)

    def slow(self) -> Hostile:
        """A sender who never ends, and does not hang up either."""
        raw = self._head(*self._valid())
        return Hostile("slow", raw[: self.draw.randrange(1, len(raw))], answers=0)
