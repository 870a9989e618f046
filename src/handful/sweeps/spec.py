"""The spec of a sweep: tables of values in TOML, whose products are cells.

    runs = 100                      # for every grid, unless it says otherwise

    [[grid]]
    policy = ["ucb-m", "ucb-m:eta=0.2", "race"]
    memory = [2, 10]
    instance = ["linear:100", "power:100:0.3"]
    horizon = 1e6

    [[grid]]
    policy = "race"
    memory = 8
    instance = "linear:50:0.9"
    horizon = 1e5
    delay = ["none", 200, "geometric:200"]

A key of `VARIED` has a value or a list of values, one of `FIXED` a value. The spec is checked as a
whole: an error lists every mistake, with its table and its key. All keys of a table that are wrong
by themselves are named; the cells of a table are checked only if there are none.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

from handful.errors import HandfulError, SettingError, integer
from handful.instances import instance
from handful.instances.traffic import SETTINGS as TRAFFIC
from handful.instances.traffic import traffic
from handful.policies.settings import check_memory, check_settings
from handful.simulation.plan import (
    MAX_HORIZON,
    MAX_RUNS,
    cell,
    check_engine,
    parse_policy,
    whole,
)
from handful.sweeps.part import Part, sources_of

Given: TypeAlias = str | os.PathLike[str] | Mapping[str, Any]
"""A spec: the name of a TOML file, or what one contains."""
GRID = "grid"
NONE = "none"
"""In a list of traffic: without it."""
REQUIRED = ("policy", "instance", "horizon")
DEFAULTS: dict[str, Any] = {
    "runs": 100, "seed": 0, "engine": "auto", "tape": False, "record": False
}  # fmt: skip
VARIED = ("policy", "memory", "instance", "horizon", "seed", *TRAFFIC)
FIXED = ("runs", "engine", "tape", "record")
_MEANT = {
    "policies": "policy", "memories": "memory", "instances": "instance", "horizons": "horizon",
    "t": "horizon", "m": "memory", "seeds": "seed", "grids": "[[grid]]",
}  # fmt: skip
_SETTINGS = ("eta", "alpha", "rho")


@dataclass(frozen=True)
class Spec:
    """A spec without mistakes."""

    cells: list[Part]
    text: str
    """The spec as it was given, for the manifest."""


class _Mistakes:
    """The mistakes of a spec, each once, in order."""

    def __init__(self) -> None:
        self.found: dict[str, None] = {}

    def add(self, where: str, said: object) -> None:
        self.found[f"{where}: {said}"] = None

    def catch(self, where: str, check: Callable[[], object]) -> None:
        """Note what a check has to say."""
        try:
            check()
        except HandfulError as error:
            self.add(where, error)


def read_spec(given: Given) -> Spec:
    """Read a spec and check it as a whole; an error has all mistakes."""
    source, text, tables = _read(given)
    mistakes = _Mistakes()
    shared = {key: value for key, value in tables.items() if key != GRID}
    at_the_top = _checked("at the top", shared, mistakes)
    complete = not mistakes.found
    grids = tables.get(GRID)
    if not (isinstance(grids, list) and grids and all(isinstance(g, Mapping) for g in grids)):
        mistakes.add("grid", "give one or more tables [[grid]]")
        grids = []
    parts: dict[str, Part] = {}
    where: dict[str, str] = {}
    for number, grid in enumerate(grids, 1):
        name = f"grid {number}"
        own = _checked(name, grid, mistakes)
        if not complete or len(own) < len(grid):
            continue
        for part in _parts(name, {**at_the_top, **own}, "memory" in own, mistakes):
            if part.key in parts:
                both = (
                    f"twice in {name}" if where[part.key] == name else f"in {where[part.key]}, too"
                )
                mistakes.add(name, f"the cell {part.shown} is {both}: leave one of them out")
            parts[part.key] = part
            where[part.key] = name
    if mistakes.found:
        many = len(mistakes.found)
        head = f"{source}: " if many == 1 else f"{source}: {many} mistakes\n  "
        raise SettingError(head + "\n  ".join(mistakes.found))
    return Spec(list(parts.values()), text)


def _read(given: Given) -> tuple[str, str, Mapping[str, Any]]:
    """Return where a spec comes from, its text, and its tables."""
    if isinstance(given, Mapping):
        return "the spec", json.dumps(given, default=str), given
    path = Path(given)
    try:
        text = path.read_text(encoding="utf-8")
        return str(path), text, tomllib.loads(text)
    except OSError as error:
        raise SettingError(f"the spec {path} cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingError(f"{path} is not TOML: {error}") from None


def _checked(where: str, table: Mapping[str, Any], mistakes: _Mistakes) -> dict[str, Any]:
    """Return the keys of a table that are valid by themselves, those of `VARIED` as lists."""
    found: dict[str, Any] = {}
    before = len(mistakes.found)
    for key, value in table.items():
        if key in FIXED:
            mistakes.catch(f"{where}, {key}", partial(_check_fixed, key, value))
            found[key] = value
        elif key not in VARIED:
            mistakes.add(f"{where}, {key}", _unknown(key))
        elif value == []:
            mistakes.add(f"{where}, {key}", "the list is empty: leave the key out, or give a value")
        else:
            values = [
                _as_given(key, one) for one in (value if isinstance(value, list) else [value])
            ]
            for one in values:
                mistakes.catch(f"{where}, {key}", partial(_check_varied, key, one))
            found[key] = [None if one == NONE and key in TRAFFIC else one for one in values]
    return found if len(mistakes.found) == before else {}


def _as_given(key: str, value: Any) -> Any:
    """Return a value as `cell` takes it: TOML reads 1e3 as a float."""
    integral = isinstance(value, float) and value.is_integer() and key not in ("delay", "lost")
    return int(value) if integral else value


def _unknown(key: str) -> str:
    if key in _SETTINGS:
        return f'write a setting into the name of its policy, such as policy = "ucb-m:{key}=0.2"'
    known = (*VARIED, *FIXED)
    near = [_MEANT[key.lower()]] if key.lower() in _MEANT else get_close_matches(key, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
    return f"there is no such key: {hint}"


def _check_fixed(key: str, value: Any) -> None:
    if isinstance(value, list):
        raise SettingError("give one value: this key is the same for all cells of a grid")
    if key == "runs":
        whole(key, value, MAX_RUNS)
    elif key == "engine":
        check_engine(str(value))
    elif not isinstance(value, bool):
        raise SettingError(f"{value!r} is neither true nor false")


def _check_varied(key: str, value: Any) -> None:
    """Check one value by itself."""
    if key in ("policy", "instance") and not isinstance(value, str):
        raise SettingError(f"{value!r} is not the name of one: give a string")
    if key == "policy":
        cls, settings = parse_policy(value)
        check_settings(cls, settings)
        sources_of(cls)
    elif key == "instance":
        instance(value)
    elif key == "memory":
        check_memory(value)
    elif key == "horizon":
        whole(key, value, MAX_HORIZON)
    elif key == "seed":
        integer(key, value)
    elif value != NONE:
        traffic(*(value if name == key else None for name in TRAFFIC))


def _parts(
    where: str, values: Mapping[str, Any], own_memory: bool, mistakes: _Mistakes
) -> Iterator[Part]:
    """Return the cells of a grid; none if a key is missing."""
    for key in REQUIRED:
        if key not in values:
            mistakes.add(where, f"{key} is missing: give it here, or above all grids")
            return
    classes = {name: parse_policy(name)[0] for name in values["policy"]}
    if own_memory and not any(cls.takes_memory() for cls in classes.values()):
        names = ", ".join(classes)
        mistakes.add(
            f"{where}, memory", f"every policy of the grid has a memory of its own: {names}"
        )
    fixed = {key: values.get(key, default) for key, default in DEFAULTS.items() if key != "seed"}
    engine = fixed.pop("engine")
    varied = [key for key in VARIED if key not in ("policy", "memory")]
    for name, cls in classes.items():
        memories = values.get("memory") if cls.takes_memory() else [None]
        if memories is None:
            mistakes.add(where, f"{name} needs memory: how many arms may have statistics?")
            continue
        lists = [values.get(key, [DEFAULTS.get(key)]) for key in varied]
        for memory, *others in product(memories, *lists):
            given = dict(zip(varied, others, strict=True))
            try:
                yield _part(name, memory, given, fixed, engine)
            except HandfulError as error:
                mistakes.add(f"{where}, {name} on {given['instance']}", error)


def _part(
    policy: str, memory: int | None, given: dict[str, Any], fixed: dict[str, Any], engine: str
) -> Part:
    world, horizon = given["instance"], given["horizon"]
    more = {key: value for key, value in given.items() if key not in ("instance", "horizon")}
    return Part.whole(cell(policy, world, memory, horizon, **more, **fixed), engine)
