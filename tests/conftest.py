"""For all tests: Hypothesis takes the same examples every time, and none is timed."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("steady", derandomize=True, deadline=None)
settings.load_profile("steady")
