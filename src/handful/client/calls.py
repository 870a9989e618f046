"""Every call of the service: its request, what the answer means, and when a fallback is used.

Each method checks its arguments at once and returns a generator (`handful.client.exchange`) that a
client carries out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode
from uuid import uuid4

from handful.client.answers import Bandit, Decision, Listing, Outcome, OwnKey, Summary
from handful.client.exchange import Exchange, Request, Steps, T
from handful.client.options import BanditOptions, ManyDecisions, OneDecision
from handful.errors import ClientError, RefusedError, RewardError, SettingError, integer

BATCH = 1000
"""The most rewards that are sent in one request."""


class Calls:
    """The calls of one client."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    def create_bandit(
        self, name: str, arms: Iterable[str], options: BanditOptions
    ) -> Steps[Bandit]:
        """Create a bandit; options that are None are left to the service."""
        _check_names("create_bandit", options, BanditOptions)
        given = {key: value for key, value in options.items() if value is not None}
        body = {"name": name, "policy": "race", "arms": _labels("arms", arms), **given}
        return self._ask(_post("/v1/bandits", body), Bandit.of)

    def bandit(self, name: str) -> Steps[Bandit]:
        """Look at a bandit."""
        return self._ask(Request("GET", _path(name)), Bandit.of)

    def bandits(self, after: str | None, limit: int) -> Steps[Listing]:
        """List the bandits after a name, one page."""
        asked: dict[str, Any] = {"limit": integer("limit", limit)}
        if after is not None:
            asked["after"] = after
        return self._ask(Request("GET", f"/v1/bandits?{urlencode(asked)}"), _listing)

    def change_bandit(self, name: str, changes: Mapping[str, float | None]) -> Steps[Bandit]:
        """Change the window, the default or the exploration of a bandit."""
        return self._ask(Request("PATCH", _path(name), _json(changes)), Bandit.of)

    def delete_bandit(self, name: str) -> Steps[None]:
        """Delete a bandit."""
        return self._ask(_delete(_path(name)), lambda data: None)

    def add_arms(self, name: str, arms: Iterable[str]) -> Steps[int]:
        """Add arms to a bandit."""
        body = {"arms": _labels("arms", arms)}
        return self._ask(_post(_path(name, "arms"), body), lambda data: int(data["arms"]))

    def remove_arms(self, name: str, arms: Iterable[str]) -> Steps[int]:
        """Remove arms from a bandit."""
        body = {"arms": _labels("arms", arms)}
        return self._ask(_delete(_path(name, "arms"), body), lambda data: int(data["arms"]))

    def decide(
        self,
        name: str,
        n: int | None,
        options: Mapping[str, Any],
    ) -> Steps[list[Decision]]:
        """Decide n times, or once; always a list."""
        _check_names("decide", options, OneDecision, ManyDecisions)
        allowed, fallback = options.get("allowed"), options.get("fallback")
        total: float | None = options.get("total")
        key = options.get("key")
        keys = [key] if key is not None else options.get("keys")
        body: dict[str, Any] = {}
        if n is not None:
            body["n"] = integer("n", n)
            if n < 1:
                raise SettingError(f"n={n!r}: give at least 1")
        if allowed is not None:
            body["allowed"] = _labels("allowed", allowed)
        if keys is not None:
            keys = _labels("keys", keys)
            if len(keys) != (n or 1):
                raise SettingError(f"{len(keys)} keys for {n or 1} decisions: give one for each")
            body |= {"keys": keys} if n is not None else {"key": keys[0]}
        if fallback is not None and fallback not in body.get("allowed", (fallback,)):
            raise SettingError(f"the fallback {fallback!r} is not among the allowed arms")
        request = _post(_path(name, "decisions"), body)
        if fallback is None:
            return self._ask(request, _decisions, total)
        named: Sequence[str | None] = keys or [None] * (n or 1)
        stand_ins = [Decision.fallback(fallback, key) for key in named]
        return self._ask_or(stand_ins, request, total)

    def reward(self, decision: Decision | str, reward: float) -> Steps[Outcome]:
        """Give the reward of a decision. After its window that is `expired`, and no error."""
        body = _json({"reward": _reward(reward)})
        if _id(decision) is None:
            return _nothing("ignored")
        path = f"/v1/decisions/{quote(str(_id(decision)), safe='')}/reward"
        return self._reward(Request("PUT", path, body))

    def rewards(
        self, pairs: Iterable[tuple[Decision | str | OwnKey, float]]
    ) -> Steps[list[Outcome]]:
        """Give many rewards, in requests of at most `BATCH`."""
        items: list[dict[str, Any] | None] = []
        for decision, reward in pairs:
            value = _reward(reward)
            if isinstance(decision, OwnKey):
                items.append({**decision._asdict(), "reward": value})
            else:
                known = _id(decision)
                items.append(None if known is None else {"id": known, "reward": value})
        return self._rewards(items)

    def drop(self, decision: Decision | str) -> Steps[Outcome]:
        """Close a decision whose reward will not come."""
        if _id(decision) is None:
            return _nothing("ignored")
        path = f"/v1/decisions/{quote(str(_id(decision)), safe='')}"
        return self._ask(_delete(path), _outcome)

    def _ask(
        self, request: Request, read: Callable[[Any], T], total: float | None = None,
        has_fallback: bool = False,
    ) -> Steps[T]:  # fmt: skip
        """Return what an answer means; an answer that makes no sense is an error."""
        data = yield from self._exchange.call(request, total, has_fallback)
        try:
            return read(data)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ClientError(
                f"{request.method} {request.path} was answered by something else than expected "
                f"({error!r}): is this the address of `handful serve`?"
            ) from error

    def _ask_or(
        self, stand_ins: list[Decision], request: Request, total: float | None
    ) -> Steps[list[Decision]]:
        """Return decisions, or those that stand in for them where the service does not answer."""
        exchange = self._exchange
        if not exchange.breaker.allows(exchange.clock()):
            return stand_ins
        try:
            return (yield from self._ask(request, _decisions, total, has_fallback=True))
        except RefusedError:
            raise
        except ClientError:
            return stand_ins

    def _reward(self, request: Request) -> Steps[Outcome]:
        try:
            return (yield from self._ask(request, _outcome))
        except RefusedError as error:
            if error.status != 410:
                raise
            return "expired"

    def _rewards(self, items: list[dict[str, Any] | None]) -> Steps[list[Outcome]]:
        sent = [item for item in items if item is not None]
        outcomes: list[Outcome] = []
        for start in range(0, len(sent), BATCH):
            batch = sent[start : start + BATCH]
            outcomes += yield from self._ask(
                _post("/v1/rewards", {"rewards": batch}), _outcomes(len(batch))
            )
        coming = iter(outcomes)
        return ["ignored" if item is None else next(coming) for item in items]


def _post(path: str, body: Mapping[str, Any]) -> Request:
    """Return a POST with an Idempotency-Key of its own."""
    return Request("POST", path, _json(body), uuid4().hex)


def _delete(path: str, body: Mapping[str, Any] | None = None) -> Request:
    """Return a DELETE with an Idempotency-Key of its own."""
    return Request("DELETE", path, None if body is None else _json(body), uuid4().hex)


def _json(body: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(body, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError) as error:
        raise SettingError(f"this cannot be sent as JSON: {error}") from None


def _path(name: str, *rest: str) -> str:
    if not isinstance(name, str) or not name:
        raise SettingError(f"name={name!r}: give the name of a bandit, a string that is not empty")
    return "/".join(("/v1/bandits", quote(name, safe=""), *rest))


def _labels(what: str, labels: Iterable[str]) -> list[str]:
    """Return a list of labels. A string is refused: it would be a list of its letters."""
    if isinstance(labels, str):
        raise SettingError(f"{what}={labels!r} is one string: give a list of strings")
    return list(labels)


def _reward(reward: float) -> float:
    try:
        value = float(reward)
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise RewardError(f"reward={reward!r} is not a finite number")
    return value


def _id(decision: Decision | str) -> str | None:
    """Return the id of a decision, None for a fallback, of which the service knows nothing."""
    given = decision.id if isinstance(decision, Decision) else decision
    if not isinstance(given, str) or not given:
        raise SettingError(f"decision={decision!r}: give a decision or its id")
    return None if Decision(given, "").is_fallback else given


def _decisions(data: Any) -> list[Decision]:
    return [
        Decision(item["id"], item["arm"], item.get("key"), item.get("probability"))
        for item in data["decisions"]
    ]


def _outcome(data: Any) -> Outcome:
    outcome: Outcome = data["outcome"]
    return outcome


def _outcomes(expected: int) -> Callable[[Any], list[Outcome]]:
    def read(data: Any) -> list[Outcome]:
        outcomes = [item["outcome"] for item in data["outcomes"]]
        if len(outcomes) != expected:
            raise ValueError(f"{len(outcomes)} outcomes of {expected} rewards")
        return outcomes

    return read


def _listing(data: Any) -> Listing:
    return Listing([Summary.of(item) for item in data["bandits"]], data["next"])


def _nothing(outcome: Outcome) -> Steps[Outcome]:
    """Return an outcome without asking the service."""
    return outcome
    yield


def _check_names(call: str, options: Mapping[str, Any], *known: type) -> None:
    """Refuse options that a call does not have, as Python does."""
    names = {name for kind in known for name in kind.__annotations__}
    unknown = next((name for name in options if name not in names), None)
    if unknown is not None:
        raise TypeError(f"{call}() has no option {unknown!r}: it has {', '.join(sorted(names))}")
