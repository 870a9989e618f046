"""For the tests of stores: what they leave open is closed after each."""

from __future__ import annotations

from tests.stores import close_files

__all__ = ["close_files"]
