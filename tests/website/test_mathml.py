"""Formulas of the pages become MathML."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from tests.pages import ROOT
from website.mathml import THIN, mathml

PAGE = (ROOT / "docs" / "mathematics.md").read_text(encoding="utf-8")
FORMULAS = sorted({a or b for a, b in re.findall(r"\$\$([^$]+)\$\$|\$([^$]+)\$", PAGE)})


def test_every_formula_of_the_page_is_understood() -> None:
    assert len(FORMULAS) > 100
    for formula in FORMULAS:
        shown = ElementTree.fromstring(mathml(formula))
        assert "\\" not in "".join(shown.itertext()), formula


@pytest.mark.parametrize(
    ("formula", "spaces"), [(r"M \log T", 2), (r"\ln n", 1), (r"\ln(t)", 0), (r"x_\ln", 0)]
)
def test_functions_have_spaces_around_them(formula: str, spaces: int) -> None:
    assert mathml(formula).count(THIN) == spaces
