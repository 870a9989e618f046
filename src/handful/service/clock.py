"""Time, in milliseconds since 1970."""

from __future__ import annotations

import time
from collections.abc import Callable

Clock = Callable[[], int]


def steady_clock() -> Clock:
    """Return a clock that does not follow jumps of the system's."""
    began, monotonic = time.time_ns(), time.monotonic_ns()
    return lambda: (began + time.monotonic_ns() - monotonic) // 1_000_000


def going_on(clock: Clock, start: int) -> Clock:
    """Return a clock that begins at `start`, the time of the last row of the log, or later.

    If the system's clock is behind `start` after a restart, time continues from `start`. It does
    not stand still until the system's clock has caught up: no window would end meanwhile.
    """
    behind = max(0, start - clock())
    return lambda: clock() + behind
