"""For the tests of the service: failed assertions in their helpers say what was found.

What they leave open is closed after each.
"""

from __future__ import annotations

import pytest

from tests.stores import close_files

__all__ = ["close_files"]

pytest.register_assert_rewrite(
    "tests.service.machine",
    "tests.service.wire",
    "tests.service.requests",
    "tests.service.connection",
)
