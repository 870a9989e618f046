"""How numbers and formulas are written in HTML, Markdown and LaTeX, and the template engine."""

from __future__ import annotations

import math
import re
from functools import partial
from typing import TYPE_CHECKING, Any

from handful.errors import MissingExtraError

if TYPE_CHECKING:
    from jinja2 import Environment

MINUS = "\N{MINUS SIGN}"
DASH = "\N{EN DASH}"


def environment(template: str) -> Environment:
    """Return the template engine for a file of `templates/`."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise MissingExtraError("the report", "jinja2", "sim") from None
    tex = template.endswith(".tex")
    made = Environment(
        loader=PackageLoader("handful.studies"),
        autoescape=template.endswith(".html"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Braces and percent signs mean something else in LaTeX.
        block_start_string="<%" if tex else "{%",
        block_end_string="%>" if tex else "%}",
        variable_start_string="<<" if tex else "{{",
        variable_end_string=">>" if tex else "}}",
        comment_start_string="<#" if tex else "{#",
        comment_end_string="#>" if tex else "#}",
    )
    made.filters.update(
        number=partial(_number, none="-" if tex else DASH),
        z=_z,
        level=_level,
        typeset=_typeset,
        texed=_texed,
        slug=_slug,
        capitalized=_capitalized,
    )
    return made


def _number(value: float, digits: int = 2, none: str = DASH) -> str:
    return none if math.isnan(value) else f"{value:,.{digits}f}"


def _z(value: float) -> str:
    return DASH if math.isnan(value) else f"{value:+.1f}".replace("-", MINUS)


def _level(z: float) -> str:
    """Return how far apart: near, far beyond 3 standard errors, apart beyond 5."""
    return "apart" if abs(z) > 5 else "far" if abs(z) > 3 else "near"


def _slug(text: str) -> str:
    return re.sub(r"\W+", "-", text.lower()).strip("-")


def _capitalized(text: str) -> str:
    """Return the text with a capital first letter and the rest as it is."""
    return text[:1].upper() + text[1:]


def _typeset(text: str) -> Any:
    """Return text as HTML, with formulas such as $B_{0.3}^{100}$."""
    from markupsafe import Markup, escape

    def shown(match: re.Match[str]) -> str:
        inner = re.sub(r"_\{?([^{}^]+)\}?", r"<sub>\1</sub>", match[1])
        return re.sub(r"\^\{?([^{}<]+)\}?", r"<sup>\1</sup>", inner)

    return Markup(re.sub(r"\$(.+?)\$", shown, str(escape(text))))


def _texed(text: str) -> str:
    """Return text as LaTeX; formulas in dollars stay."""
    special = {"&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_", "±": r"$\pm$", DASH: "--"}
    special |= {"μ": r"$\mu$", "η": r"$\eta$", "^": r"\^{}", MINUS: "$-$", "<": "$<$", ">": "$>$"}
    named = {"sqrt(T)": r"$\sqrt{T}$", "eta=0.2": r"$\eta=0.2$", "ln T": r"$\ln T$"}
    pieces = re.split(r"(\$.+?\$)", text)
    for i in range(0, len(pieces), 2):
        plain = "".join(special.get(letter, letter) for letter in pieces[i])
        for word, formula in named.items():
            plain = plain.replace(word, formula)
        pieces[i] = plain
    return "".join(pieces)
