"""Sphinx's settings. The pages are in build/site-source: see `website.staging`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import handful
from website import HERE

project = "handful"
author = "the authors of handful"
project_copyright = f"{author}, MIT licence"
version = release = handful.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "website.mathml", "website.signatures"]
highlight_language = "text"
html_math_renderer = "mathml"

myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 4
myst_dmath_allow_digits = False

nitpicky = True
# Names in annotations that are not on a page: types of Python and of other packages, and our own
# aliases. Names under `handful.` must be found.
nitpick_ignore_regex = [("py:.*", r"(?!handful\b).*")]
# Made by functions that are on a page, not by users.
nitpick_ignore = [
    ("py:class", f"handful.{name}")
    for name in (
        "instances.base.Rows",
        "simulation.outcome.Outcome",
        "sweeps.store.Entry",
        "sweeps.store.Store",
    )
]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 76
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = f"handful {version}"
html_static_path = [str(HERE / "static")]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False
# A page opened from a file may not read other files, which summaries would need.
html_show_search_summary = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
