"""Access: bearer keys with scopes, of which the store has only hashes.

    decide   decisions, and looking at bandits
    reward   rewards, and looking at decisions
    admin    everything: bandits, arms, keys, metrics

A key may be for one bandit only. As long as the store has never had a key, a service on a loopback
address takes requests from everybody on this machine; any other address needs a key. Once it has
had a key, the store is never open again, even if all its keys are removed. Several keys work at
once: to rotate one, make another, change the callers, and remove the first.
"""

from __future__ import annotations

import hashlib
import ipaddress
import secrets
from typing import NamedTuple

from handful.service.problems import Problem
from handful.storage.contract import Transaction
from handful.storage.rows import KeyRow

SCOPES = ("decide", "reward", "admin")
PREFIX = "hf_"
_HAD_KEY = "had key"


class Caller(NamedTuple):
    """The sender of a request."""

    id: str
    scopes: frozenset[str]
    bandit: str | None

    def require(self, scope: str, bandit: str | None = None) -> None:
        """Refuse a request that the caller's key is not for."""
        if scope not in self.scopes and "admin" not in self.scopes:
            raise Problem(403, f"this key has no scope {scope!r}: take a key that has it")
        if self.bandit is not None and bandit is not None and bandit != self.bandit:
            raise Problem(403, "this key is for another bandit")


ANYBODY = Caller("anybody", frozenset(SCOPES), None)
"""The caller while the store has no key."""


class Keys:
    """The keys of a store, in memory."""

    def __init__(self, rows: list[KeyRow], needed: bool) -> None:
        self.needed = needed
        """Whether a key is needed even if there is none."""
        self.load(rows)

    def load(self, rows: list[KeyRow]) -> None:
        """Take these keys and no others from now on."""
        self.needed = self.needed or bool(rows)
        self._callers = {
            row.digest: Caller(row.id, frozenset(row.scopes.split()), row.bandit) for row in rows
        }
        self._ids = {row.id for row in rows}

    @property
    def is_empty(self) -> bool:
        """Whether there is no key."""
        return not self._callers

    @property
    def is_open(self) -> bool:
        """Whether requests need no key."""
        return not self.needed

    def admits(self, caller: str) -> bool:
        """Return whether a caller who was admitted would be admitted again, by key id."""
        return caller == ANYBODY.id if self.is_open else caller in self._ids

    def caller(self, authorization: str | None) -> Caller:
        """Return whom a request comes from, by its `Authorization` header."""
        if self.is_open:
            return ANYBODY
        kind, _, key = (authorization or "").partition(" ")
        found = None
        if kind.lower() == "bearer" and key:
            found = self._callers.get(digest_of(key.strip()))
        if found is None:
            raise Problem(401, "send a key of this store: `Authorization: Bearer KEY`")
        return found


def had_key(tx: Transaction) -> bool:
    """Return whether a store has, or ever had, a key."""
    return tx.number(_HAD_KEY) > 0 or bool(tx.caller_keys())


def note_key(tx: Transaction) -> None:
    """Note that a store has had a key: it is closed to callers without one from now on."""
    tx.set_number(_HAD_KEY, 1)


def add_key(tx: Transaction, row: KeyRow) -> None:
    """Add a key to a store, which is closed to callers without one from now on."""
    rows = (row, *tx.caller_keys())
    if not any("admin" in each.scopes.split() for each in rows):
        raise Problem(
            409,
            "the first key must have the scope admin: with this one alone, no key could make "
            "another, or change a bandit",
        )
    if row.bandit is not None and tx.bandit_named(row.bandit) is None:
        raise Problem(422, f"there is no bandit {row.bandit!r} that a key could be for")
    tx.put_caller_key(row)
    note_key(tx)


def remove_key(tx: Transaction, id: str) -> bool:
    """Remove a key from a store, which stays closed; return whether there was one."""
    found = tx.remove_caller_key(id)
    if found:
        note_key(tx)
    return found


def digest_of(key: str) -> bytes:
    """Return the hash of a key, as the store has it. Keys are random, so no salt is needed."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def new_key(name: str, scopes: list[str], bandit: str | None, now: int) -> tuple[str, KeyRow]:
    """Return a new key, and what the store keeps of it."""
    unknown = [scope for scope in scopes if scope not in SCOPES]
    if unknown or len(set(scopes)) < len(scopes):
        raise Problem(422, f"scopes are {', '.join(SCOPES)}, each once at most; given: {scopes}")
    if bandit is not None and "admin" in scopes:
        raise Problem(422, "the scope admin is for all bandits: leave `bandit` out")
    key = PREFIX + secrets.token_urlsafe(32)
    row = KeyRow(secrets.token_hex(4), name, digest_of(key), " ".join(scopes), bandit, now)
    return key, row


def is_loopback(host: str) -> bool:
    """Return whether an address can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
