"""How many arms may have statistics: what is allowed, and what a refusal says."""

from __future__ import annotations

import math
from typing import Any

import pytest

from handful.errors import SettingError
from handful.policies.settings import check_memory
from tests.helpers import refused


@pytest.mark.parametrize("memory", [2, 3, 50, 2**31 - 1])
def test_a_memory_of_two_arms_or_more_is_allowed(memory: int) -> None:
    assert check_memory(memory) == memory


@pytest.mark.parametrize("memory", [1, 0, -1, -(10**30)])
def test_a_memory_of_fewer_than_two_arms_is_refused(memory: int) -> None:
    with refused(SettingError, ValueError, f"memory={memory} ", "memory >= 2"):
        check_memory(memory)


@pytest.mark.parametrize("memory", [True, False, 2.0, 2.5, math.nan, "2", [2], 2j])
def test_a_memory_that_is_not_an_integer_is_refused(memory: Any) -> None:
    with refused(SettingError, ValueError, f"memory={memory!r} ", "not an integer"):
        check_memory(memory)


@pytest.mark.parametrize("memory", [2**31, 10**30])
def test_a_memory_beyond_31_bits_is_refused(memory: int) -> None:
    with refused(SettingError, ValueError, f"memory={memory} ", "2^31"):
        check_memory(memory)


def test_a_memory_that_was_not_given_is_asked_for() -> None:
    with refused(SettingError, ValueError, "memory is missing", "give memory=M"):
        check_memory(None)
