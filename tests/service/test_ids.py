from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handful.service.ids import Ids

IDS = Ids(b"0123456789abcdef")


@given(number=st.integers(1, 2**59))
def test_a_name_gives_its_number_back(number: int) -> None:
    assert IDS.number(IDS.name(number)) == number


def test_other_names_are_unknown() -> None:
    """Of names of another store, one in 65,536 is taken for one of this."""
    other = Ids(b"another store....")
    taken = sum(IDS.number(other.name(number)) is not None for number in range(1, 5000))
    assert taken <= 2


@given(name=st.text(max_size=30))
def test_any_text_is_a_name_or_not(name: str) -> None:
    number = IDS.number(name)
    assert number is None or IDS.name(number) == name


@pytest.mark.parametrize("form", ["{} ", "0{}", "{}\n", " {}", "{}0", "+{}"])
def test_a_name_has_one_form(form: str) -> None:
    name = IDS.name(10**6)
    assert IDS.number(form.format(name)) is None
    assert IDS.number(name[:-1]) is None
    assert IDS.number(name.upper()) is None or name.upper() == name
