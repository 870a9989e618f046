"""The operations of the HTTP API: for each its path, its scope, its JSON, and what it does.

The routes of the application and the OpenAPI document are both made from this list. An operation
is a function of a `Session` and of the `Call`, and is run by the writer, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from handful.service import bodies as b
from handful.service.auth import Caller, add_key, new_key, remove_key
from handful.service.desk import Session
from handful.service.problems import Problem

MOST_LISTED = 1000


class Call(NamedTuple):
    """A request, as an operation sees it."""

    caller: Caller
    path: dict[str, str]
    query: dict[str, str]
    body: Any

    @property
    def name(self) -> str:
        """The bandit in the path."""
        return self.path["name"]


class Query(NamedTuple):
    """A parameter in the query of a request."""

    name: str
    schema: dict[str, object]
    summary: str


class Operation(NamedTuple):
    """One operation of the API."""

    method: str
    path: str
    name: str
    summary: str
    scope: str
    run: Callable[[Session, Call], Any]
    status: int = 200
    takes: Any = None
    gives: Any = None
    refuses: tuple[int, ...] = ()
    query: tuple[Query, ...] = ()
    gives_secret: bool = False
    """Whether the answer must not be stored."""


AFTER_NAME = Query("after", {"type": "string", "maxLength": 100}, "List bandits after this name.")
AFTER_ARM = Query(
    "after", {"type": "integer", "minimum": 0}, "List arms from `next` of the last answer on."
)
LIMIT = Query(
    "limit", {"type": "integer", "minimum": 1, "maximum": MOST_LISTED}, "At most so many."
)


def _integer(call: Call, name: str, default: int, low: int, high: int) -> int:
    given = call.query.get(name)
    if given is None:
        return default
    if not given.isascii() or not given.isdigit() or len(given) > 18:
        raise Problem(422, f"{name}={given!r} is not an integer from {low} to {high}")
    if not low <= int(given) <= high:
        raise Problem(422, f"{name}={given} is not from {low} to {high}")
    return int(given)


def _create(session: Session, call: Call) -> Any:
    return session.create(call.body)


def _list(session: Session, call: Call) -> Any:
    if call.caller.bandit is not None:
        found = session.listed_one(call.caller.bandit)
        return b.BanditList([] if found is None else [found], None)
    limit = _integer(call, "limit", 100, 1, MOST_LISTED)
    return session.listed(call.query.get("after", ""), limit)


def _describe(session: Session, call: Call) -> Any:
    return session.describe(call.name)


def _change(session: Session, call: Call) -> Any:
    return session.change(call.name, call.body)


def _delete(session: Session, call: Call) -> None:
    session.delete(call.name)


def _arms(session: Session, call: Call) -> Any:
    after = _integer(call, "after", 0, 0, 2**53)
    return session.arms(call.name, after, _integer(call, "limit", MOST_LISTED, 1, MOST_LISTED))


def _add_arms(session: Session, call: Call) -> Any:
    return session.add_arms(call.name, call.body.arms)


def _remove_arms(session: Session, call: Call) -> Any:
    return session.remove_arms(call.name, call.body.arms)


def _remove_arm(session: Session, call: Call) -> Any:
    return session.remove_arms(call.name, [call.path["label"]])


def _decide(session: Session, call: Call) -> Any:
    return session.decide(call.name, call.body)


def _decision(session: Session, call: Call) -> Any:
    return session.decision(call.path["id"], call.caller.bandit)


def _reward(session: Session, call: Call) -> Any:
    outcome = session.reward(call.path["id"], call.body.reward, call.caller.bandit)
    if outcome.outcome == "expired":
        # It is in the log, so the transaction must not be undone: no exception.
        return Problem(410, f"{outcome.detail}; the reward is kept in the log and counts no more")
    return outcome


def _rewards(session: Session, call: Call) -> Any:
    return session.rewards(call.body, call.caller.bandit)


def _drop(session: Session, call: Call) -> Any:
    return session.drop(call.path["id"], call.caller.bandit)


def _history(session: Session, call: Call) -> Any:
    return session.history(call.name)


def _keys(session: Session, call: Call) -> Any:
    return b.KeyList([_key_shown(row) for row in session.tx.caller_keys()])


def _make_key(session: Session, call: Call) -> Any:
    given: b.NewKey = call.body
    key, row = new_key(given.name, given.scopes, given.bandit, session.now)
    add_key(session.tx, row)
    shown = _key_shown(row)
    return b.KeyMade(shown.id, shown.name, shown.scopes, shown.bandit, shown.created_at, key)


def _remove_key(session: Session, call: Call) -> None:
    id = call.path["id"]
    left = [row.id for row in session.tx.caller_keys() if "admin" in row.scopes.split()]
    if left == [id]:
        raise Problem(
            409,
            "this is the last key with the scope admin, and no other could make a new one: make "
            "one first, or stop the service and use `handful keys`",
        )
    if not remove_key(session.tx, id):
        raise Problem(404, f"there is no key {id!r}")


def _key_shown(row: Any) -> b.KeyShown:
    return b.KeyShown(
        row.id, row.name, row.scopes.split(), row.bandit, b.shown_time(row.created_at)
    )


OPERATIONS = (
    Operation(
        "POST", "/v1/bandits", "create_bandit", "Create a bandit.", "admin", _create,
        201, b.NewBandit, b.BanditShown, (409,),
    ),
    Operation(
        "GET", "/v1/bandits", "list_bandits", "List the bandits by name.", "decide", _list,
        gives=b.BanditList, query=(AFTER_NAME, LIMIT),
    ),
    Operation(
        "GET", "/v1/bandits/{name}", "get_bandit", "Show a bandit and what it knows.", "decide",
        _describe, gives=b.BanditShown, refuses=(404,),
    ),
    Operation(
        "PATCH", "/v1/bandits/{name}", "change_bandit", "Change settings of a bandit.", "admin",
        _change, takes=b.BanditChange, gives=b.BanditShown, refuses=(404, 409),
    ),
    Operation(
        "DELETE", "/v1/bandits/{name}", "delete_bandit",
        "Delete a bandit. Its rows stay in the log.", "admin", _delete, 204, refuses=(404,),
    ),
    Operation(
        "GET", "/v1/bandits/{name}/arms", "list_arms", "List the arms of a bandit.", "decide",
        _arms, gives=b.ArmList, refuses=(404,), query=(AFTER_ARM, LIMIT),
    ),
    Operation(
        "POST", "/v1/bandits/{name}/arms", "add_arms", "Add arms.", "admin", _add_arms,
        200, b.Arms, b.ArmsAdded, (404, 409),
    ),
    Operation(
        "DELETE", "/v1/bandits/{name}/arms", "remove_arms",
        "Remove arms. They are never returned again.", "admin", _remove_arms,
        200, b.Arms, b.ArmsRemoved, (404,),
    ),
    Operation(
        "DELETE", "/v1/bandits/{name}/arms/{label}", "remove_arm", "Remove one arm.", "admin",
        _remove_arm, gives=b.ArmsRemoved, refuses=(404,),
    ),
    Operation(
        "POST", "/v1/bandits/{name}/decisions", "decide",
        "Choose an arm, or several one after the other.", "decide", _decide,
        201, b.NewDecisions, b.Decisions, (404, 409),
    ),
    Operation(
        "GET", "/v1/bandits/{name}/history", "get_history", "Show a bandit over time.", "decide",
        _history, gives=b.History, refuses=(404,),
    ),
    Operation(
        "GET", "/v1/decisions/{id}", "get_decision", "Show a decision.", "reward", _decision,
        gives=b.DecisionShown, refuses=(404,),
    ),
    Operation(
        "PUT", "/v1/decisions/{id}/reward", "reward",
        "Report the reward of a decision. The first value counts; the same again is a duplicate.",
        "reward", _reward, takes=b.Reward, gives=b.Outcome, refuses=(404, 409, 410),
    ),
    Operation(
        "DELETE", "/v1/decisions/{id}", "drop",
        "Say that the reward of a decision will never come.", "reward", _drop,
        gives=b.Outcome, refuses=(404, 409, 410),
    ),
    Operation(
        "POST", "/v1/rewards", "reward_many",
        "Report rewards of several decisions; each has an outcome of its own.", "reward", _rewards,
        200, b.Rewards, b.Outcomes,
    ),
    Operation(
        "GET", "/v1/keys", "list_keys", "List the keys of callers.", "admin", _keys,
        gives=b.KeyList,
    ),
    Operation(
        "POST", "/v1/keys", "make_key", "Make a key. It is shown this once.", "admin", _make_key,
        201, b.NewKey, b.KeyMade, (409,), gives_secret=True,
    ),
    Operation(
        "DELETE", "/v1/keys/{id}", "remove_key", "Remove a key; it works no more.", "admin",
        _remove_key, 204, refuses=(404, 409),
    ),
)  # fmt: skip


def encoded(result: Any) -> bytes:
    """Return the JSON of what an operation returned."""
    return b"" if result is None else msgspec.json.encode(result)
