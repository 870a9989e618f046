"""The kinds of instances, and how a name such as `power:100:0.3+beta` is read.

A kind is registered by its parser, which checks the arguments of the name and returns an
`Instance` under its canonical name. Adding one is described in CONTRIBUTING.md.
"""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from handful.core.arms import ENDLESS
from handful.errors import SettingError, UnknownNameError, shortened
from handful.instances import data, means
from handful.instances.base import Instance
from handful.instances.distributions import BERNOULLI, CODES, DISTRIBUTIONS, MIN_SPREAD

Parser: TypeAlias = Callable[[str, list[str]], Instance]


class Kind(NamedTuple):
    """A kind of instance: the form of its names, the numbers of arguments allowed, the parser."""

    form: str
    arguments: tuple[int, ...]
    parse: Parser


KINDS: dict[str, Kind] = {}
ALIASES = {
    "I1": "beta:0.5:2:1",
    "I2": "beta:1:1:1",
    "I3": "beta:0.5:2:0.6",
    "I4": "beta:1:1:0.6",
}
"""The paper's reservoirs (its Table 1)."""


def instance(spec: str | Instance | Sequence[float] | Mapping[Any, float]) -> Instance:
    """Return the instance of that name, or Bernoulli arms with these means."""
    if isinstance(spec, Instance):
        return spec
    if hasattr(type(spec), "columns"):
        raise SettingError(
            f"instance is a {type(spec).__name__}: for rewards from rows give "
            "handful.from_data(frame, arm=..., reward=...), for means one column as a list"
        )
    if isinstance(spec, Mapping):
        spec = list(spec.values())
    if isinstance(spec, list | tuple):
        spec = "bernoulli:" + ",".join(map(str, spec))
    if not isinstance(spec, str):
        forms = ", ".join([*(kind.form for kind in KINDS.values()), data.FORM])
        raise SettingError(
            f"instance={reprlib.repr(spec)} is not a name such as 'linear:100', nor a list of "
            f"means: give means or a name of the form {forms}"
        )
    if spec.strip().startswith(data.PREFIX):
        return data.from_name(spec)
    world, *distribution = re.split(r"\+(?=[A-Za-z]|$)", spec.strip(), maxsplit=1)
    name, _, rest = ALIASES.get(world, world).partition(":")
    arguments = rest.split(":") if rest else []
    if alias := re.fullmatch(r"B_(L|\d*\.?\d+)", name):
        if len(arguments) != 1:
            raise SettingError(f"instance {spec!r}: give the number of arms, as in {name}:100")
        name, alpha = ("linear", "") if alias[1] == "L" else ("power", alias[1])
        arguments += [alpha] if alpha else []
    if name not in KINDS:
        if re.fullmatch(r"[\d.,eE+-]+", name):
            raise SettingError(
                f"instance {shortened(spec)!r} has no name: for arms with these means give "
                f"'bernoulli:{shortened(spec)}'"
            )
        raise UnknownNameError(
            "instance", name, [*KINDS, "data", *ALIASES, "B_L", "B_0.3", "B_0.6"]
        )
    code, spread, suffix = _distribution(spec, *distribution)
    kind = KINDS[name]
    if len(arguments) not in kind.arguments:
        raise SettingError(f"instance {spec!r} is not of the form {kind.form}")
    parsed = kind.parse(spec, arguments)
    margin = DISTRIBUTIONS[code].margin
    if any(0.0 < min(p, 1.0 - p) < margin for p in parsed.listed):
        raise SettingError(
            f"instance {spec!r}: {DISTRIBUTIONS[code].name} needs means in [{margin:g}, 1 - "
            f"{margin:g}], or 0, 1"
        )
    return replace(parsed, name=parsed.name + suffix, distribution=code, spread=spread)


def instance_of(settings: Mapping[str, Any]) -> Instance:
    """Return the instance that a result with these settings was simulated on.

    Data are read again: an error is raised if they are not there, or are not what they were.
    """
    name = settings["instance"]
    if "digest" not in settings:
        return instance(name)
    if not settings["file"]:
        raise SettingError(f"{name} was simulated on a frame, which is not part of its results")
    options = name.rpartition("?")[2]
    found = instance(f"{data.PREFIX}{settings['file']}?{options}")
    if found.origin is None or found.origin.digest != settings["digest"]:
        raise SettingError(f"{settings['file']} is not what it was when {name} was simulated")
    return found


def _kind(name: str, form: str, *arguments: int) -> Callable[[Parser], Parser]:
    """Register the parser of a kind of instance, for names with so many arguments."""

    def register(parse: Parser) -> Parser:
        KINDS[name] = Kind(form, arguments, parse)
        return parse

    return register


@_kind("linear", "linear:K[:MU_STAR]", 1, 2)
def _linear(spec: str, arguments: list[str]) -> Instance:
    n = _arms(spec, arguments[0])
    top, scaled = _top(spec, arguments[1:])
    return Instance(f"linear:{n}{scaled}", n, means.LINEAR, top=top)


@_kind("power", "power:K:ALPHA[:MU_STAR]", 2, 3)
def _power(spec: str, arguments: list[str]) -> Instance:
    n, alpha = _arms(spec, arguments[0]), _number(spec, arguments[1])
    if not 0.0 < alpha <= 100.0:
        raise SettingError(f"instance {spec!r}: ALPHA={alpha:g} must be above 0 and at most 100")
    top, scaled = _top(spec, arguments[2:])
    return Instance(f"power:{n}:{alpha!r}{scaled}", n, means.POWER, a=alpha, top=top)


@_kind("bernoulli", "bernoulli:P,P,...", 1)
def _listed(spec: str, arguments: list[str]) -> Instance:
    listed = tuple(_number(spec, text) for text in arguments[0].split(","))
    for p in listed:
        if not 0.0 <= p <= 1.0:
            raise SettingError(f"instance {spec!r}: the mean {p:g} is not in [0, 1]")
    n = len(listed)
    name = f"bernoulli:{','.join(map(repr, listed))}"
    return Instance(name, n, means.LISTED, listed=listed, best_among=n)


@_kind("beta", "beta:A:B:MU_STAR", 3)
def _reservoir(spec: str, arguments: list[str]) -> Instance:
    a, b, top = (_number(spec, text) for text in arguments)
    if not (0.01 <= a <= 1000.0 and 0.01 <= b <= 1000.0):
        raise SettingError(f"instance {spec!r}: A and B must be from 0.01 to 1000")
    if not 0.0 < top <= 1.0:
        raise SettingError(f"instance {spec!r}: MU_STAR={top:g} must be above 0 and at most 1")
    return Instance(f"beta:{a!r}:{b!r}:{top!r}", ENDLESS, means.RESERVOIR, a=a, b=b, top=top)


def _distribution(spec: str, text: str = "bernoulli") -> tuple[int, float, str]:
    """Return the code and the spread of a distribution, and its part of the canonical name."""
    name, _, argument = text.partition(":")
    if not name:
        raise SettingError(f"instance {spec!r}: no reward distribution after the plus")
    if name not in CODES:
        raise UnknownNameError("reward distribution", name, CODES)
    code = CODES[name]
    if (spread := DISTRIBUTIONS[code].default_spread) is None:
        if argument:
            raise SettingError(f"instance {spec!r}: the distribution {name} takes no number")
        return code, 0.0, "" if code == BERNOULLI else f"+{name}"
    if argument:
        spread = _number(spec, argument)
    highest = DISTRIBUTIONS[code].max_spread
    if not MIN_SPREAD <= spread <= highest:
        raise SettingError(
            f"instance {spec!r}: {name}:{spread:g} must be at least {MIN_SPREAD:g} and at most "
            f"{highest:g}"
        )
    return code, spread, f"+{name}:{spread!r}"


def _top(spec: str, arguments: list[str]) -> tuple[float, str]:
    """Return the best mean and its part of the canonical name, empty for the usual 0.99."""
    if not arguments:
        return means.TOP, ""
    top = _number(spec, arguments[0])
    if not means.MIN_TOP <= top <= means.TOP:
        raise SettingError(
            f"instance {spec!r}: MU_STAR={top:g} must be from {means.MIN_TOP:g} to {means.TOP:g}"
        )
    return top, "" if top == means.TOP else f":{top!r}"


def _number(spec: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise SettingError(f"instance {spec!r}: {text!r} is not a number") from None
    if not math.isfinite(value):
        raise SettingError(f"instance {spec!r}: {text!r} is not a finite number")
    return value


def _arms(spec: str, text: str) -> int:
    # Through int first: a float would round the largest numbers of arms.
    plain = re.fullmatch(r"[+-]?\d{1,40}", text.strip())
    n = int(text) if plain else _number(spec, text)
    if n != int(n) or not 1 <= n < ENDLESS:
        raise SettingError(f"instance {spec!r}: K={text} must be an integer from 1 to 2^62 - 1")
    return int(n)
