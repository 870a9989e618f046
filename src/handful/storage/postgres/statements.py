"""The longer statements of a transaction."""

from __future__ import annotations

from typing import Any

import psycopg

PAGE = 1000
"""Rows that are read at once. Between two pages they are folded; PostgreSQL rolls back what takes
too long."""
COLUMNS = "seq, at, bandit, kind, ref, mark, value, subset, note, wide, prev, checksum"
WITH_ANSWER = f"{', '.join(f'l.{name}' for name in COLUMNS.split(', '))}, a.seq"
ONE_MOMENT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

LIMITS_TRANSACTIONS = 170_000
"""The first PostgreSQL that has a time limit of transactions."""


def unlimited(connection: psycopg.Connection[Any], *limits: str) -> list[str]:
    """Return the statements that lift time limits from a transaction, and that of transactions."""
    names = list(limits)
    if connection.info.server_version >= LIMITS_TRANSACTIONS:
        names.append("transaction_timeout")
    return [f"SET LOCAL {name} = 0" for name in names]


DRAW = "SELECT seq, at FROM draw(%s::bigint, %s::bigint)"
ADVANCE = (
    "SELECT setval('drawn', greatest(%s, d.last_value)), setval('drawn_at', "
    "greatest(%s, a.last_value)) FROM drawn d, drawn_at a"
)
INSERT = (
    "INSERT INTO log (seq, at, bandit, kind, ref, mark, value, subset, note, wide, prev, checksum) "
    "SELECT * FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::smallint[], %s::bigint[], "
    "%s::bigint[], %s::double precision[], %s::bigint[], %s::bytea[], %s::text[], %s::bigint[], "
    "%s::bigint[])"
)
ADD_HEADS = "INSERT INTO heads SELECT * FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[])"
# The division fails, and the transaction with it, if the bandit has another last row than the one
# that was held: then somebody has written to it all the same.
SET_HEADS = (
    "UPDATE heads SET seq = n.seq / (heads.seq = n.was)::integer, at = n.at FROM "
    "unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[]) AS n (bandit, seq, at, was) "
    "WHERE heads.bandit = n.bandit"
)
COUNT = (
    "INSERT INTO writers VALUES (%s, %s, now()) ON CONFLICT (id) DO UPDATE "
    "SET commits = excluded.commits, seen = now()"
)
HEAD, ANSWER = 1, 3
"""What a row that `hold` returns is; 2: numbers that were drawn."""
HOLD = (
    "SELECT kind, id, seq, at FROM "
    "hold(%s::bigint[], %s::bigint[], %s::bigint, %s::bigint, %s::bigint[])"
)
DUE = (
    "SELECT bandit, seq, at FROM heads WHERE next_due <= greatest("
    "(SELECT last_value FROM drawn_at), "
    "coalesce(%s::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)) "
    "ORDER BY next_due LIMIT %s FOR UPDATE SKIP LOCKED"
)
TAILS = (
    f"SELECT {', '.join(f'l.{name}' for name in COLUMNS.split(', '))} "
    "FROM unnest(%s::bigint[], %s::bigint[]) AS u (bandit, seq), LATERAL ("
    "SELECT * FROM log WHERE log.bandit = u.bandit AND log.seq > u.seq ORDER BY log.seq LIMIT %s"
    ") l ORDER BY l.bandit, l.seq"
)

CHAINS = """
SELECT bandit, seq, prev FROM (
    SELECT bandit, seq, prev,
        lag(seq, 1, 0::bigint) OVER (PARTITION BY bandit ORDER BY seq) AS before
    FROM log
) chain WHERE prev <> before LIMIT %s
"""
HEADS = """
SELECT coalesce(h.bandit, l.bandit), coalesce(l.seq, 0), coalesce(h.seq, 0) FROM heads h
FULL JOIN (SELECT bandit, max(seq) AS seq FROM log GROUP BY bandit) l ON l.bandit = h.bandit
WHERE h.seq IS DISTINCT FROM l.seq LIMIT %s
"""
SIZE = """
SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
WHERE relkind = 'r'
AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
"""
