"""The address of a store in PostgreSQL: how it is read, and how it is shown without secrets.

    postgresql://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME

libpq reads the address, and accepts further parts; only `schema` is specific to handful. An address
is split where libpq splits it: a password may contain `#` and `?`, at which other parsers would end
it.

An address may contain secrets, and so may libpq's message about an address that it cannot read. So
neither is shown: the text that is shown is composed of the parts that are not secret.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

import psycopg
from psycopg import pq
from psycopg.conninfo import conninfo_to_dict

from handful.errors import SettingError

SCHEMA = "handful"
"""The schema of a database that has the tables, unless the address names another."""

_NAME = re.compile(r"[a-z0-9_]{1,63}")
_USER = re.compile(r"\w+://(?:[^@/]*@)?")
"""How an address begins: up to the user and the password."""


class Address(NamedTuple):
    """An address that was read."""

    schema: str
    settings: dict[str, Any]
    """The settings of a connection, by libpq's names."""
    shown: str
    """The address without its secrets."""


def read(address: str) -> Address:
    """Return what an address says."""
    user = _USER.match(address)
    begins = 0 if user is None else user.end()
    place, _, query = address[begins:].partition("?")
    pairs = [pair.partition("=") for pair in query.split("&")] if query else []
    given = [unquote(value) for name, _, value in pairs if name == "schema"]
    rest = "&".join("".join(pair) for pair in pairs if pair[0] != "schema")
    # An @ or a port that is no number: a password has cut the address at the wrong place.
    if "@" in place:
        raise _unreadable()
    try:
        settings = dict(conninfo_to_dict(f"{address[:begins]}{place}?{rest}"))
    except psycopg.Error:
        raise _unknown([unquote(name) for name, sign, _ in pairs if sign], query) from None
    if not re.fullmatch("[0-9,]*", str(settings.get("port", ""))):
        raise _unreadable()
    schema = given[-1] if given else SCHEMA
    if not _NAME.fullmatch(schema):
        raise SettingError(
            f"schema={schema!r}: give up to 63 small letters, digits and underscores"
        )
    return Address(schema, settings, _shown(settings, schema if given else None))


def without_password(address: str) -> str:
    """Return an address as it may be shown: the user, the place, the database, the schema."""
    return read(address).shown


def _shown(settings: dict[str, Any], schema: str | None) -> str:
    user, database = (quote(str(settings.get(name, ""))) for name in ("user", "dbname"))
    hosts = str(settings.get("host") or settings.get("hostaddr") or "").split(",")
    ports = str(settings.get("port", "")).split(",")
    words = [] if schema is None else [f"schema={schema}"]
    if any(host.startswith("/") for host in hosts):  # sockets of this machine
        where = ""
        words = [
            f"host={quote(','.join(hosts), safe='/,')}",
            *([f"port={','.join(ports)}"] if any(ports) else []),
            *words,
        ]
    else:
        ports = ports * len(hosts) if len(ports) == 1 else ports
        where = ",".join(map(_host, hosts, ports))
    at = f"{user}@" if user else ""
    query = f"?{'&'.join(words)}" if words else ""
    return f"postgresql://{at}{where}/{database}{query}"


def _host(host: str, port: str) -> str:
    shown = f"[{host}]" if ":" in host else quote(host)
    return f"{shown}:{port}" if port else shown


def _unknown(names: list[str], query: str) -> SettingError:
    """Return the error of an address that libpq cannot read."""
    known = {each.keyword.decode() for each in pq.Conninfo.get_defaults()} | {"schema"}
    wrong = [name for name in names if name not in known]
    if wrong and "@" not in query:
        return SettingError(
            f"{wrong[0]!r} in the address of the store is not a setting of a connection: take one "
            "of PostgreSQL's, such as sslmode, or schema"
        )
    return _unreadable()


def _unreadable() -> SettingError:
    return SettingError(
        "the address of the store cannot be read: give "
        "postgresql://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME. In a name or a password, write "
        "/ as %2F, @ as %40, : as %3A and % as %25"
    )
