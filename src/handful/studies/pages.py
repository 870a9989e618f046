"""The pages that studies write into one folder: their names, figures, and links to each other.

Both pages contain their figures and open without a network.
"""

from __future__ import annotations

from base64 import b64encode
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from handful.plots.style import STYLE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REPORT = "index.html"
LEADERBOARD = "leaderboard.html"
PLACE_OF_LINK = "<!-- the leaderboard is linked here once it is in the same folder -->"


def embedded(made: Figure) -> str:
    """Return a figure as a data URL that contains it as SVG."""
    import matplotlib as mpl

    buffer = BytesIO()
    # The same numbers make the same bytes: no date, and names of shapes that are not random.
    with mpl.rc_context({**STYLE, "svg.hashsalt": "handful"}):
        made.savefig(buffer, format="svg", metadata={"Date": None})
    return "data:image/svg+xml;base64," + b64encode(buffer.getvalue()).decode()


def link_leaderboard(folder: Path) -> None:
    """Link the leaderboard from the report if both are there, whichever was written first."""
    page = folder / REPORT
    if page.exists() and (folder / LEADERBOARD).exists():
        text = page.read_text(encoding="utf-8")
        link = f'<a href="{LEADERBOARD}">Leaderboard of all policies</a>'
        page.write_text(text.replace(PLACE_OF_LINK, link), encoding="utf-8")
