"""The header of a fleet's folder, `fleet.json`: what all members share, with a checksum."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from zlib import crc32

from handful.errors import DamagedStoreError, NewerStoreError
from handful.fleet.members import Members
from handful.fleet.wide_rows import wide_size

FORMAT = 1
HEADER = "fleet.json"


def header_bytes(header: dict[str, Any]) -> bytes:
    """Return a header as bytes."""
    text = json.dumps({"format": FORMAT, **header}, sort_keys=True)
    return json.dumps({"checksum": crc32(text.encode()), "fleet": text}).encode()


def read_header(data: bytes, path: Path) -> dict[str, Any]:
    """Return the header of a folder from its bytes; refuse one that is damaged."""
    try:
        outer = json.loads(data)
        text = outer["fleet"]
        if crc32(text.encode()) != outer["checksum"]:
            raise ValueError
        header: dict[str, Any] = json.loads(text)
    except (ValueError, KeyError, TypeError):
        raise DamagedStoreError(
            f"{path / HEADER} is damaged: it is not what was written; restore the folder from a "
            "copy"
        ) from None
    if header.pop("format") != FORMAT:
        raise NewerStoreError(f"{path} was written by a newer version of handful: update handful")
    return header


def facts_of(members: Members, names: bytes) -> dict[str, Any]:
    """Return what the header says of members."""
    return {
        "members": members.count,
        "row_size": members.layout.size,
        "wide": len(members.wide),
        "wide_size": wide_size(members),
        "free_wide": members.free_wide(),
        "names_size": len(names),
        "names_sum": crc32(names),
    }
