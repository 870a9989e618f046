"""Docstrings become Markdown and reStructuredText that show what they say."""

from __future__ import annotations

from docutils.core import publish_doctree
from docutils.nodes import system_message

from website.docstrings import Code, Items, Text, as_markdown, parts, restructured

DOCSTRING = """Return `x_1` for *any* b_w.

    score = mean + sqrt(2 ln t / n)

    next line

arms     a number of arms, or
         labels
memory   the most arms with `b`

- a first
  point
- a second

Args:
    n: how many,
        at least 1.
    rest: the others.

>>> 1 + 1
2
"""


def test_every_kind_of_part_is_recognised() -> None:
    assert parts(DOCSTRING) == [
        Text("Return `x_1` for *any* b_w."),
        Code("score = mean + sqrt(2 ln t / n)\n\nnext line"),
        Items((("arms", "a number of arms, or labels"), ("memory", "the most arms with `b`"))),
        Items((("", "a first point"), ("", "a second"))),
        Items((("n", "how many, at least 1."), ("rest", "the others."))),
        Code(">>> 1 + 1\n2", "pycon"),
    ]


def test_markdown_escapes_what_is_no_markup() -> None:
    shown = as_markdown(parts("In [0, 1] a_b * c with $x$, `a_b` and **bold**."))
    assert shown == r"In \[0, 1\] a\_b \* c with \$x\$, `a_b` and **bold**."


def test_public_names_become_links() -> None:
    names = {"Policy": "handful.Policy"}
    assert restructured("A `Policy`, `x`s.", names) == (
        r"A :py:obj:`Policy <handful.Policy>`, ``x``\ s."
    )


def test_restructured_text_is_valid() -> None:
    tree = publish_doctree(restructured(DOCSTRING, {}), settings_overrides={"report_level": 5})
    assert not list(tree.findall(system_message))
    assert "x_1" in tree.astext()
    assert "b_w" in tree.astext()
