"""What a saved record looks like, pinned together with the version of the format.

A state that was saved yesterday must be read today. If a test here fails, a field has changed its
name, type, place or number: then `VERSION` in `core/envelope.py` must change, and the old format
must still be read. `python -m tests.golden.write` writes the layout of a new policy, and of all
policies for a new version.
"""

from __future__ import annotations

import json
from struct import calcsize

import numpy as np
import pytest

import handful
from handful.core.envelope import VERSION
from handful.policies.saving import FRAME, RESCALE
from tests.golden.write import FOLDER, layout_of

PINNED = json.loads((FOLDER / f"format-{VERSION}" / "layout.json").read_text("utf-8"))
NAMES = [name for name in handful.POLICIES if name in PINNED]

NUMPY = {"q": "<i8", "i": "<i4", "b": "i1", "Q": "<u8", "d": "<f8"}


def test_the_frame_of_the_format_is_as_it_was() -> None:
    assert (VERSION, FRAME.format, RESCALE.format) == (1, "<QQIB", "<dd")


def test_every_policy_has_a_layout() -> None:
    assert sorted(PINNED) == sorted(handful.POLICIES), "run `python -m tests.golden.write`"


@pytest.mark.parametrize("name", NAMES)
def test_the_record_and_the_settings_of_a_policy_are_as_they_were(name: str) -> None:
    assert layout_of(handful.POLICIES[name]) == PINNED[name]


@pytest.mark.parametrize("name", NAMES)
def test_the_record_of_an_array_is_laid_out_alike(name: str) -> None:
    declared = PINNED[name]["fields"].split()
    past = [field for field in declared if "+" in field]
    dtype = np.dtype(handful.POLICIES[name].State.layout(3, entries=2))
    size = 0
    names: list[str] = []
    for of_flight, nested in ((False, "slots"), (True, "flights")):
        part = [field for field in declared if ("~" in field) is of_flight and field not in past]
        scalars = [field for field in part if "*" not in field]
        slots = [field for field in part if "*" in field]
        names += [*(field.split(":")[0] for field in scalars), nested]
        assert dtype[nested].shape == (3,)
        assert dtype[nested].base.names == tuple(field.split(":")[0] for field in slots)
        for field in (*scalars, *slots):
            key, code = field.strip("*!~").split(":")
            own = dtype[nested].base[key] if field in slots else dtype[key]
            assert own.base == np.dtype(NUMPY[code[-1]])
            assert own.itemsize == calcsize(f"<{code}")
            size += own.itemsize * (3 if field in slots else 1)
    if past:
        names.append("history")
        of = {field.strip("+").split(":")[0]: field.strip("+")[-1] for field in past}
        entry = dtype["history"].base
        assert dtype["history"].shape == (2,)
        assert {key: entry[key] for key in entry.names or ()} == {
            key: np.dtype(NUMPY[code]) for key, code in of.items()
        }
        size += 2 * entry.itemsize
    assert dtype.names == tuple(names)
    assert dtype.itemsize == size
