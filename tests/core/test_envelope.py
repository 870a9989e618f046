from __future__ import annotations

from binascii import crc32
from struct import Struct, pack
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handful.core.envelope import MAGIC, VERSION, Reader, seal, unseal
from handful.errors import NewerStateError, StateError
from tests.helpers import refused

steady = settings(derandomize=True, deadline=None)
SEALED = seal("ucb-m", bytes(range(40)))


def with_sum(data: bytes) -> bytes:
    return data + pack("<I", crc32(data))


@steady
@given(st.text(max_size=40), st.binary(max_size=300))
def test_what_is_sealed_comes_out_again(name: str, body: bytes) -> None:
    assert unseal(seal(name, body)) == (name, body)


def test_the_envelope_is_as_documented() -> None:
    data = MAGIC + bytes([VERSION, 5]) + b"ucb-m" + bytes(range(40))
    assert with_sum(data) == SEALED


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_kind_of_bytes_is_read(kind: Any) -> None:
    assert unseal(kind(SEALED)) == ("ucb-m", bytes(range(40)))


@pytest.mark.parametrize("given", ["text", None, 7, [1, 2], {}])
def test_what_is_not_bytes_is_refused(given: Any) -> None:
    with refused(StateError, ValueError, type(given).__name__):
        unseal(given)


@pytest.mark.parametrize("size", range(len(SEALED)))
def test_bytes_cut_at_any_length_are_refused(size: int) -> None:
    with refused(StateError, ValueError):
        unseal(SEALED[:size])
    with refused(StateError, ValueError):
        unseal(SEALED[len(SEALED) - size :])


def test_bytes_with_something_after_them_are_refused() -> None:
    with refused(StateError, ValueError):
        unseal(SEALED + b"\0")
    with refused(StateError, ValueError):
        unseal(SEALED + SEALED)


@pytest.mark.parametrize("place", range(len(SEALED)))
def test_any_byte_flipped_is_seen(place: int) -> None:
    for mask in (0x01, 0x80, 0xFF):
        flipped = bytearray(SEALED)
        flipped[place] ^= mask
        with refused(StateError, ValueError):
            unseal(bytes(flipped))


@pytest.mark.parametrize("version", [VERSION + 1, 255])
def test_a_newer_version_is_distinguished_from_damage(version: int) -> None:
    newer = bytearray(SEALED[:-4])
    newer[4] = version
    with refused(NewerStateError, ValueError, str(version), str(VERSION), "upgrade"):
        unseal(with_sum(bytes(newer)))


def test_a_damaged_newer_version_counts_as_damage() -> None:
    newer = bytearray(SEALED)
    newer[4] = VERSION + 1
    with pytest.raises(StateError) as caught:
        unseal(bytes(newer))
    assert not isinstance(caught.value, NewerStateError)


@steady
@given(st.binary(max_size=100))
def test_other_bytes_are_refused(data: bytes) -> None:
    with refused(StateError, ValueError):
        unseal(data)
    with refused(StateError, ValueError):
        unseal(MAGIC + data)


def test_a_reader_takes_records_off_the_front() -> None:
    reader = Reader(pack("<IdB", 7, 0.5, 3))
    assert reader.take(Struct("<I")) == (7,)
    assert reader.take(Struct("<dB")) == (0.5, 3)
    assert reader.rest == b""


def test_a_reader_refuses_to_read_past_the_end() -> None:
    reader = Reader(b"\1\2\3")
    with refused(StateError, ValueError, "too early"):
        reader.take(Struct("<I"))
    assert reader.rest == b"\1\2\3"
