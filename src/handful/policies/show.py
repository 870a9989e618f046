"""How a policy is printed: the arms in memory as a table, in text and in HTML for notebooks."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TypeAlias

Row: TypeAlias = tuple[str, str, str, str, str]
"""A star for the recommended arm, its label, pulls, mean and share of the pulls."""
HEADS: Row = ("", "arm in memory", "pulls", "mean", "share")


def as_text(head: str, table: Sequence[Row], foot: str) -> str:
    """For a terminal."""
    rows = [HEADS, *table]
    wide = [max(len(row[column]) for row in rows) for column in range(len(HEADS))]
    lines = [
        f"{row[0]:<1} {row[1]:<{wide[1]}}  {row[2]:>{wide[2]}}  {row[3]:>{wide[3]}}"
        f"  {row[4]:>{wide[4]}}".rstrip()
        for row in rows
    ]
    return "\n".join([head, *lines, f"* recommended; {foot}"])


def as_html(head: str, table: Sequence[Row], foot: str) -> str:
    """For a notebook."""
    rows = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in table
    )
    heads = "".join(f"<th>{name}</th>" for name in HEADS)
    return (
        f"<table><caption>{html.escape(head)}<br>{html.escape(foot)}</caption>"
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    )
