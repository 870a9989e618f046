"""Instances: simulated worlds, by name.

    linear:K            K means from 0.99 down to 0.01             the paper's B_L:K
    power:K:ALPHA       means that fall like (i/K)^ALPHA           the paper's B_ALPHA:K
    bernoulli:P,P,...   the means as listed
    beta:A:B:MU_STAR    endless arms, means MU_STAR x Beta(A, B)   the paper's I1, I2, I3, I4

`linear:K:MU_STAR` and `power:K:ALPHA:MU_STAR` are scaled so that the first mean is MU_STAR; and,
after a plus, a reward law other than Bernoulli: `linear:100+beta`, `+uniform`, `+constant`,
`+truncnorm:0.1`. A new instance is one function in `means.py` and one line in `_PARSERS`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from handful.core.arms import ENDLESS
from handful.core.rng import State
from handful.errors import MissingExtraError, SettingError, UnknownNameError
from handful.instances import distributions, means

__all__ = ["Instance", "instance"]


@dataclass(frozen=True)
class Instance:
    """Arms with means and one reward law: K of them, or endlessly many."""

    name: str
    n_arms: int
    kind: int
    a: float = 1.0
    b: float = 1.0
    top: float = means.TOP
    listed: tuple[float, ...] = ()
    law: int = distributions.BERNOULLI
    spread: float = 0.0
    _centres: dict[float, float] = field(default_factory=dict, repr=False, compare=False)

    @property
    def endless(self) -> bool:
        """Whether this is a reservoir, whose arms follow from the key of the run."""
        return self.kind == means.RESERVOIR

    def mean(self, arm: int, key: int = 0) -> float:
        """The mean reward of an arm."""
        if self.endless:
            return means.reservoir_mean(arm, self.a, self.b, self.top, key, [0, 0])
        return means.mean_of(self.kind, arm, self.n_arms, self.a, self.top, self.listed)

    @property
    def best_mean(self) -> float:
        """mu*, the largest mean, or the least upper bound of all."""
        if self.endless:
            return self.top
        if self.kind == means.LISTED:
            return max(self.listed)
        return max(self.mean(0), self.mean(min(1, self.n_arms - 1)))

    def quantile(self, rho: float) -> float:
        """mu_rho: the least mean that all but a share rho of the arms do not exceed."""
        if not 0.0 < rho < 1.0:
            raise SettingError(f"rho={rho!r} is not between 0 and 1")
        if self.endless:
            try:
                from scipy.special import betaincinv
            except ImportError:
                raise MissingExtraError("quantile regret", "scipy", "sim") from None
            return self.top * float(betaincinv(self.a, self.b, 1.0 - rho))
        if self.n_arms > MAX_SORTED:
            raise SettingError(
                f"the quantile of {self.n_arms} means is not worked out: give at most {MAX_SORTED}"
            )
        ordered = sorted(self.mean(arm) for arm in range(self.n_arms))
        return ordered[max(0, math.ceil((1.0 - rho) * self.n_arms - 1e-9) - 1)]

    def draw(self, arm: int, state: State, key: int = 0) -> float:
        """A reward of an arm."""
        mean = self.mean(arm, key)
        return distributions.draw(self.law, mean, self._centre(mean), self.spread, state)

    def _centre(self, mean: float) -> float:
        if self.law != distributions.TRUNCNORM:
            return 0.0
        if mean not in self._centres:
            if len(self._centres) >= 1024:
                self._centres.clear()
            self._centres[mean] = distributions.centre_of(self.law, mean, self.spread)
        return self._centres[mean]


def instance(spec: str | Instance | Sequence[float]) -> Instance:
    """The instance of that name, or of Bernoulli arms with these means."""
    if isinstance(spec, Instance):
        return spec
    if isinstance(spec, list | tuple):
        spec = "bernoulli:" + ",".join(map(str, spec))
    if not isinstance(spec, str):
        raise SettingError(f"instance={spec!r} is not a name such as 'linear:100', nor means")
    world, *law_text = re.split(r"\+(?=[A-Za-z]|$)", spec.strip(), maxsplit=1)
    kind, _, rest = _ALIASES.get(world, world).partition(":")
    arguments = rest.split(":") if rest else []
    if alias := re.fullmatch(r"B_(L|\d*\.?\d+)", kind):
        if len(arguments) != 1:
            raise SettingError(f"instance {spec!r}: give the number of arms, as in {kind}:100")
        kind, alpha = ("linear", "") if alias[1] == "L" else ("power", alias[1])
        arguments += [alpha] if alpha else []
    if kind not in _PARSERS:
        raise UnknownNameError("instance", kind, [*_PARSERS, *_ALIASES, "B_L", "B_0.3", "B_0.6"])
    law, spread, law_name = _law(law_text[0] if law_text else None, spec)
    parsed = _PARSERS[kind](spec, arguments)
    if law == distributions.TRUNCNORM and any(0.0 < min(p, 1.0 - p) < 1e-6 for p in parsed.listed):
        raise SettingError(f"instance {spec!r}: truncnorm needs means in [1e-6, 1 - 1e-6], or 0, 1")
    return replace(parsed, name=parsed.name + law_name, law=law, spread=spread)


def _linear(spec: str, arguments: list[str]) -> Instance:
    _expect(spec, arguments, (1, 2), "linear:K or linear:K:MU_STAR")
    n = _arms(spec, arguments[0])
    top, scaled = _top(spec, arguments[1:])
    return Instance(f"linear:{n}{scaled}", n, means.LINEAR, top=top)


def _power(spec: str, arguments: list[str]) -> Instance:
    _expect(spec, arguments, (2, 3), "power:K:ALPHA or power:K:ALPHA:MU_STAR")
    n, alpha = _arms(spec, arguments[0]), _number(spec, arguments[1])
    if not 0.0 < alpha <= 100.0:
        raise SettingError(f"instance {spec!r}: ALPHA={alpha:g} must be above 0 and at most 100")
    top, scaled = _top(spec, arguments[2:])
    return Instance(f"power:{n}:{alpha!r}{scaled}", n, means.POWER, a=alpha, top=top)


def _top(spec: str, arguments: list[str]) -> tuple[float, str]:
    """The best mean, and how the name says it: not at all where it is the usual one."""
    if not arguments:
        return means.TOP, ""
    top = _number(spec, arguments[0])
    if not MIN_TOP <= top <= means.TOP:
        raise SettingError(
            f"instance {spec!r}: MU_STAR={top:g} must be from {MIN_TOP:g} to {means.TOP:g}"
        )
    return top, "" if top == means.TOP else f":{top!r}"


def _listed(spec: str, arguments: list[str]) -> Instance:
    _expect(spec, arguments, (1,), "bernoulli:P,P,...")
    listed = tuple(_number(spec, text) for text in arguments[0].split(","))
    for p in listed:
        if not 0.0 <= p <= 1.0:
            raise SettingError(f"instance {spec!r}: the mean {p:g} is not in [0, 1]")
    return Instance(
        f"bernoulli:{','.join(map(repr, listed))}", len(listed), means.LISTED, listed=listed
    )


def _reservoir(spec: str, arguments: list[str]) -> Instance:
    _expect(spec, arguments, (3,), "beta:A:B:MU_STAR")
    a, b, top = (_number(spec, text) for text in arguments)
    if not (0.01 <= a <= 1000.0 and 0.01 <= b <= 1000.0):
        raise SettingError(f"instance {spec!r}: A and B must be from 0.01 to 1000")
    if not 0.0 < top <= 1.0:
        raise SettingError(f"instance {spec!r}: MU_STAR={top:g} must be above 0 and at most 1")
    return Instance(f"beta:{a!r}:{b!r}:{top!r}", ENDLESS, means.RESERVOIR, a=a, b=b, top=top)


_PARSERS: dict[str, Callable[[str, list[str]], Instance]] = {
    "linear": _linear,
    "power": _power,
    "bernoulli": _listed,
    "beta": _reservoir,
}
_ALIASES = {
    "I1": "beta:0.5:2:1",
    "I2": "beta:1:1:1",
    "I3": "beta:0.5:2:0.6",
    "I4": "beta:1:1:0.6",
}
"""The paper's reservoirs (its Table 1)."""
MAX_SORTED = 10**6
MIN_TOP = 1e-4
"""Below that the worst means would be too small for the law truncnorm."""


def _law(text: str | None, spec: str) -> tuple[int, float, str]:
    if text is None:
        return distributions.BERNOULLI, 0.0, ""
    name, _, argument = text.partition(":")
    if not name:
        raise SettingError(f"instance {spec!r}: no reward law after the plus")
    if name not in distributions.LAWS:
        raise UnknownNameError("reward law", name, distributions.LAWS)
    law = distributions.LAWS[name]
    if law not in distributions.DEFAULT_SPREAD:
        if argument:
            raise SettingError(f"instance {spec!r}: the law {name} takes no number")
        return law, 0.0, "" if law == distributions.BERNOULLI else f"+{name}"
    spread = _number(spec, argument) if argument else distributions.DEFAULT_SPREAD[law]
    if not distributions.MIN_SPREAD <= spread <= distributions.MAX_SPREAD[law]:
        raise SettingError(
            f"instance {spec!r}: {name}:{spread:g} must be at least {distributions.MIN_SPREAD:g} "
            f"and at most {distributions.MAX_SPREAD[law]:g}"
        )
    return law, spread, f"+{name}:{spread!r}"


def _expect(spec: str, arguments: list[str], counts: tuple[int, ...], form: str) -> None:
    if len(arguments) not in counts:
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
    if n != int(n) or not 1 <= n < ENDLESS:
        raise SettingError(f"instance {spec!r}: K={text} must be an integer from 1 to 2^62 - 1")
    return int(n)
