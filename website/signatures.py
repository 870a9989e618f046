"""What autodoc shows: docstrings as they are meant, and policies with all their settings."""

from __future__ import annotations

import inspect
import math
from typing import Any

from sphinx.application import Sphinx

import handful
from handful.policies import Policy
from website.docstrings import restructured

GENERIC = ("seed", "rescale", "window", "default", "clicks_only")
"""What every policy can be given besides arms, memory and settings."""
NAMES = {name: f"handful.{name}" for name in handful.__all__ if not name.startswith("__")}
NAMES |= {f"handful.{name}": full for name, full in NAMES.items()}


def default_of(cls: type[Policy], name: str) -> str | None:
    """Return the default of a setting as it is written in a call; None if it must be given."""
    default = cls.settings[name].default
    if math.isnan(default):
        return None if name == "horizon" and cls.needs_horizon else "None"
    return f"{default:g}"


def setting_of(cls: type[Policy], name: str) -> str:
    """Return a setting as it is written in a call: with its default, or T for a horizon."""
    return f"{name}={default_of(cls, name) or 'T'}"


def arguments_of(policy: type[Policy]) -> list[str]:
    """Return the arguments of a policy's class as they stand in its signature."""
    return [
        "arms: int | Iterable[Hashable] | Callable[[int], Hashable] | FiniteArms | Reservoir",
        "memory: int | None = None",
        "*",
        *(_argument(policy, name) for name in policy.settings),
        "seed: int | None = None",
        "rescale: tuple[float, float] | None = None",
        "window: int | None = None",
        "default: float | None = None",
        "clicks_only: int | None = None",
    ]


def _argument(policy: type[Policy], name: str) -> str:
    default = default_of(policy, name)
    if default is None:
        return f"{name}: float"
    if default == "None":
        return f"{name}: float | None = None"
    return f"{name}: {'bool | float' if policy.settings[name].flag else 'float'} = {default}"


def signature(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, shown: str, returned: str
) -> tuple[str, str] | None:
    """Give a policy's class its settings in place of `**settings`."""
    if obj is handful.policy:
        given = arguments_of(handful.Policy)
        return f"(name: str, {', '.join(given)}, **settings: float)", "handful.Policy"
    if inspect.isclass(obj) and issubclass(obj, Policy) and obj.__dict__.get("name"):
        return f"({', '.join(arguments_of(obj))})", ""
    return None


def docstring(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Turn a docstring into reStructuredText."""
    lines[:] = [*restructured("\n".join(lines), NAMES).splitlines(), ""]


def skipped(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out fields of tuples that have nothing to say."""
    said = str(getattr(obj, "__doc__", "") or "")
    return True if said.startswith("Alias for field number") else None


def setup(app: Sphinx) -> dict[str, Any]:
    """Register what autodoc asks."""
    app.connect("autodoc-process-signature", signature)
    app.connect("autodoc-process-docstring", docstring)
    app.connect("autodoc-skip-member", skipped)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
