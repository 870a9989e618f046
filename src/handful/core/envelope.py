"""The bytes of a saved policy: small, versioned, checked, no pickle.

    magic "hndf" | version | length and text of the policy's name | body | CRC-32 of all before it

All numbers are little-endian. The policy defines the body; see `Policy.to_bytes`. The checksum is
last in every version, so that a damaged state is not mistaken for one of a newer version.
"""

from __future__ import annotations

from binascii import crc32
from struct import Struct, error

from handful.errors import NewerStateError, StateError

MAGIC = b"hndf"
VERSION = 1
_HEAD = Struct("<4sBB")
_SUM = Struct("<I")


def seal(name: str, body: bytes) -> bytes:
    """Put a policy's body in its envelope."""
    text = name.encode()
    data = _HEAD.pack(MAGIC, VERSION, len(text)) + text + body
    return data + _SUM.pack(crc32(data))


def unseal(blob: bytes) -> tuple[str, bytes]:
    """Return the policy's name and body; raise an error that says what is wrong with the bytes."""
    if not isinstance(blob, bytes | bytearray | memoryview):
        raise StateError(f"a saved policy is bytes, not {type(blob).__name__}")
    data = bytes(blob)
    if data[:4] != MAGIC or len(data) < _HEAD.size + _SUM.size:
        raise StateError("these bytes are not a saved policy, or their first bytes are missing")
    if crc32(data[: -_SUM.size]) != _SUM.unpack(data[-_SUM.size :])[0]:
        raise StateError("the saved policy is damaged: its bytes were cut or changed")
    _, version, length = _HEAD.unpack_from(data)
    if version > VERSION:
        raise NewerStateError(
            f"the policy was saved in format {version} by a newer handful; this one reads up to "
            f"format {VERSION}: upgrade handful"
        )
    if version < 1:
        raise StateError("these bytes are not a saved policy: there is no format 0")
    start = _HEAD.size + length
    return data[_HEAD.size : start].decode(errors="replace"), data[start : -_SUM.size]


class Reader:
    """Reads fixed records off the front of a body."""

    def __init__(self, body: bytes) -> None:
        self.rest = body

    def take(self, record: Struct) -> tuple[int | float, ...]:
        """Return the next record."""
        try:
            values = record.unpack_from(self.rest)
        except error:
            raise StateError("the saved policy ends too early") from None
        self.rest = self.rest[record.size :]
        return values
