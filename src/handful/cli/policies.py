"""`handful policies`: list the policies with their settings and citations."""

from __future__ import annotations

import json
import math
from typing import Any

import click

from handful.cli.show import HELP, table
from handful.policies import POLICIES, Policy
from handful.simulation.plan import parse_policy


@click.command("policies", context_settings=HELP)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def command(names: tuple[str, ...], as_json: bool) -> None:
    """List the policies; with a NAME, its settings and its citation, too.

    A policy of your own is named module:Class.
    """
    chosen = [parse_policy(name)[0] for name in names] or list(POLICIES.values())
    if as_json:
        click.echo(json.dumps([_data(cls) for cls in chosen]))
    elif names:
        click.echo("\n\n".join(map(_described, chosen)))
    else:
        rows = [(cls.name, arms_in_words(cls), _memory(cls), cls.summary) for cls in chosen]
        table(("policy", "arms", "memory", "what it is"), rows, left=4)


def _data(cls: type[Policy]) -> dict[str, Any]:
    return {
        "policy": cls.name,
        "title": cls.title,
        "summary": cls.summary,
        "memory": _memory(cls),
        "arms": arms_in_words(cls),
        "settings": {
            key: {
                "default": None if math.isnan(s.default) else s.default,
                "summary": s.summary,
                "allowed": s.allowed,
            }
            for key, s in cls.settings.items()
        },
        "citation": cls.citation,
    }


def _described(cls: type[Policy]) -> str:
    lines = [f"{cls.name}: {cls.title}", f"  {cls.summary}"]
    lines.append(f"  for {arms_in_words(cls)} arms; statistics of {_memory(cls)}")
    for key, s in cls.settings.items():
        default = "none" if math.isnan(s.default) else f"{s.default:g}"
        lines.append(f"  {key}: {s.summary} ({s.allowed}; default {default})")
    lines += [f"  {cls.citation}"] * bool(cls.citation)
    return "\n".join(lines)


def arms_in_words(cls: type[Policy]) -> str:
    """Return which arms a policy takes."""
    if cls.any_arms:
        return "finite or endless"
    if cls.own_arms is not None:
        return f"exactly {cls.own_arms}"
    return "endless" if cls.endless else "finite"


def _memory(cls: type[Policy]) -> str:
    if cls.unbounded:
        return "every arm"
    return "M >= 2" if cls.own_memory is None else f"M = {cls.own_memory}"
