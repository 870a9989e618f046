"""A store in PostgreSQL, which several servers share.

storage.py      opening, examining and closing a store
schema.py       its tables
address.py      the address of a store, and how it is shown without secrets
link.py         the connection: its time limits, and interrupted commits
transaction.py  begin and end, holding bandits, drawing numbers
log.py          the rows of the log; tables.py has the other tables
refusals.py     translation of PostgreSQL's errors to those of handful
"""

from __future__ import annotations

from handful.storage.postgres.address import without_password
from handful.storage.postgres.storage import PostgresStorage

__all__ = ["PostgresStorage", "without_password"]
