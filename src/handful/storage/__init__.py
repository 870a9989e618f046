"""Stores of the service: a contract, and the stores that satisfy it.

contract.py   what a store is, in prose and as two base classes
rows.py       the rows of the log and of the tables beside it
sqlite.py     one file on disk; schema.py says what tables it has, transaction.py reads and writes
              the log, tables.py the tables beside it
memory.py     nothing on disk: for tests and experiments
shared.py     the contract of stores that several processes share; postgres/ is one
opening.py    stores by name: the path of a file, or the address of a database
"""

from __future__ import annotations

from handful.storage.contract import Storage, Transaction
from handful.storage.memory import MemoryStorage
from handful.storage.sqlite import SQLiteStorage

__all__ = ["MemoryStorage", "SQLiteStorage", "Storage", "Transaction"]
