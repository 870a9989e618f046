"""For the tests of the service: failed assertions in their helpers say what was found."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite(
    "tests.service.machine",
    "tests.service.wire",
    "tests.service.requests",
    "tests.service.connection",
)
