"""Formulas as MathML, which browsers draw by themselves: no script, no fonts to load."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx

THIN = '<mspace width="0.167em"/>'
_BEFORE = re.compile(r"(</m(?:i|n|sub|sup|subsup|frac|row)>)(<mi>(?:log|ln|exp)</mi><m)")
_AFTER = re.compile(r"(<mi>(?:log|ln|exp)</mi>)(?=<m(?!o\b))")


def mathml(formula: str, display: str = "inline") -> str:
    """Return a formula as MathML, with the spaces around functions that TeX puts there."""
    return _AFTER.sub(rf"\1{THIN}", _BEFORE.sub(rf"\1{THIN}\2", convert(formula, display=display)))


def inline(writer: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    writer.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def block(writer: Any, node: nodes.math_block) -> None:
    """Write a formula on a line of its own."""
    formula = mathml(node.astext(), "block")
    writer.body.append(f'<div class="formula" tabindex="0">{formula}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
