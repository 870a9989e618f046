"""`handful policies`: what there is to choose from."""

from __future__ import annotations

import json
import math

import click

from handful.cli.show import table
from handful.policies import POLICIES, Policy


@click.command("policies")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def command(as_json: bool) -> None:
    """List the policies, what they need and where they come from."""
    if as_json:
        click.echo(
            json.dumps(
                [
                    {
                        "policy": cls.name,
                        "title": cls.title,
                        "summary": cls.summary,
                        "memory": _memory(cls),
                        "arms": "endless" if cls.endless else "finite",
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
                    for cls in POLICIES.values()
                ]
            )
        )
        return
    rows = []
    for cls in POLICIES.values():
        settings = ", ".join(
            key if math.isnan(s.default) else f"{key}={s.default:g}"
            for key, s in cls.settings.items()
        )
        arms = "endless" if cls.endless else "finite"
        rows.append((cls.name, arms, _memory(cls), settings, cls.summary, cls.citation))
    heads = ("policy", "arms", "memory", "settings", "what it is", "from")
    table(heads, rows, left=6)


def _memory(cls: type[Policy]) -> str:
    if cls.unbounded:
        return "every arm"
    return "M >= 2" if cls.own_memory is None else f"M = {cls.own_memory}"
