"""The documentation as a site: `make docs` writes it to build/site.

The Markdown files of the tree are its source, and stay readable where they are. `staging` copies
them to build/site-source, where their links become links of the site, and adds the pages that are
generated: a page for each policy, the API reference, the HTTP API. Sphinx makes HTML of it, which
needs no network and no server. `python -m website` does all of it.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parent.parent
HERE = Path(__file__).parent
SOURCE = ROOT / "build" / "site-source"
SITE = ROOT / "build" / "site"
REPOSITORY = "https://github.com/handful-bandits/handful"
