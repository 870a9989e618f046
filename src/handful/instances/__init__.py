"""Instances: simulated worlds, by name.

    linear:K            K means from 0.99 down to 0.01             the paper's B_L:K
    power:K:ALPHA       means that fall like (i/K)^ALPHA           the paper's B_ALPHA:K
    bernoulli:P,P,...   the means as listed

and, after a plus, a reward law other than Bernoulli: `linear:100+beta`, `+uniform`, `+constant`,
`+truncnorm:0.1`. A new instance is one function in `means.py` and one line in `_PARSERS`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from handful.arms import MAX_ARMS
from handful.errors import SettingError, UnknownNameError
from handful.instances import laws, means
from handful.rng import State

__all__ = ["Instance", "instance"]


@dataclass(frozen=True)
class Instance:
    """K arms with means and one reward law."""

    name: str
    n_arms: int
    kind: int
    alpha: float = 1.0
    listed: tuple[float, ...] = ()
    law: int = laws.BERNOULLI
    spread: float = 0.0
    _centres: dict[int, float] = field(default_factory=dict, repr=False, compare=False)

    def mean(self, arm: int) -> float:
        """The mean reward of an arm."""
        return means.mean_of(self.kind, arm, self.n_arms, self.alpha, self.listed)

    @property
    def best_mean(self) -> float:
        """mu*, the largest mean."""
        if self.kind == means.LISTED:
            return max(self.listed)
        return max(self.mean(0), self.mean(min(1, self.n_arms - 1)))

    def draw(self, arm: int, state: State) -> float:
        """A reward of an arm."""
        mean = self.mean(arm)
        return laws.draw(self.law, mean, self._centre(arm, mean), self.spread, state)

    def _centre(self, arm: int, mean: float) -> float:
        if self.law != laws.TRUNCNORM:
            return 0.0
        if arm not in self._centres:
            if len(self._centres) >= 1024:
                self._centres.clear()
            self._centres[arm] = laws.centre_of(self.law, mean, self.spread)
        return self._centres[arm]


def instance(spec: str | Instance) -> Instance:
    """The instance of that name."""
    if isinstance(spec, Instance):
        return spec
    if not isinstance(spec, str):
        raise SettingError(f"instance={spec!r} is not a name such as 'linear:100'")
    world, _, law_text = spec.strip().partition("+")
    kind, _, rest = world.partition(":")
    arguments = rest.split(":") if rest else []
    if alias := re.fullmatch(r"B_(L|\d*\.?\d+)", kind):
        if len(arguments) != 1:
            raise SettingError(f"instance {spec!r}: give the number of arms, as in {kind}:100")
        kind, alpha = ("linear", "") if alias[1] == "L" else ("power", alias[1])
        arguments += [alpha] if alpha else []
    if kind not in _PARSERS:
        raise UnknownNameError("instance", kind, [*_PARSERS, "B_L", "B_0.3", "B_0.6"])
    law, spread, law_name = _law(law_text, spec)
    parsed = _PARSERS[kind](spec, arguments)
    return Instance(
        name=parsed.name + law_name,
        n_arms=parsed.n_arms,
        kind=parsed.kind,
        alpha=parsed.alpha,
        listed=parsed.listed,
        law=law,
        spread=spread,
    )


def _linear(spec: str, arguments: list[str]) -> Instance:
    _expect(spec, arguments, 1, "linear:K")
    n = _arms(spec, arguments[0])
    return Instance(f"linear:{n}", n, means.LINEAR)


def _power(spec: str, arguments: list[str]) -> Instance:
    _expect(spec, arguments, 2, "power:K:ALPHA")
    n, alpha = _arms(spec, arguments[0]), _number(spec, arguments[1])
    if not 0.0 < alpha <= 100.0:
        raise SettingError(f"instance {spec!r}: ALPHA={alpha:g} must be above 0 and at most 100")
    return Instance(f"power:{n}:{alpha!r}", n, means.POWER, alpha=alpha)


def _listed(spec: str, arguments: list[str]) -> Instance:
    _expect(spec, arguments, 1, "bernoulli:P,P,...")
    listed = tuple(_number(spec, text) for text in arguments[0].split(","))
    for p in listed:
        if not 0.0 <= p <= 1.0:
            raise SettingError(f"instance {spec!r}: the mean {p:g} is not in [0, 1]")
    return Instance(
        f"bernoulli:{','.join(map(repr, listed))}", len(listed), means.LISTED, 1.0, listed
    )


_PARSERS: dict[str, Callable[[str, list[str]], Instance]] = {
    "linear": _linear,
    "power": _power,
    "bernoulli": _listed,
}


def _law(text: str, spec: str) -> tuple[int, float, str]:
    name, _, argument = text.partition(":")
    if not name:
        if "+" in spec:
            raise SettingError(f"instance {spec!r}: no reward law after the plus")
        return laws.BERNOULLI, 0.0, ""
    if name not in laws.LAWS:
        raise UnknownNameError("reward law", name, laws.LAWS)
    law = laws.LAWS[name]
    if law not in laws.DEFAULT_SPREAD:
        if argument:
            raise SettingError(f"instance {spec!r}: the law {name} takes no number")
        return law, 0.0, "" if law == laws.BERNOULLI else f"+{name}"
    spread = _number(spec, argument) if argument else laws.DEFAULT_SPREAD[law]
    if not 0.0 < spread <= laws.MAX_SPREAD[law]:
        raise SettingError(
            f"instance {spec!r}: {name}:{spread:g} must be above 0 and at most "
            f"{laws.MAX_SPREAD[law]:g}"
        )
    return law, spread, f"+{name}:{spread!r}"


def _expect(spec: str, arguments: list[str], count: int, form: str) -> None:
    if len(arguments) != count:
        raise SettingError(f"instance {spec!r} is not of the form {form}")


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
    if n != int(n) or not 1 <= n <= MAX_ARMS:
        raise SettingError(f"instance {spec!r}: K={text} must be a whole number from 1 to 2^63")
    return int(n)
