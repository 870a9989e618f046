"""Algorithm 1 with UCB1 as a textbook writes it, one step per pull: the yardstick, C and Numba.

Both loops take (means, M, T, eta, seed) and return the regret of a run. With M >= K they are UCB1
itself. Their random numbers are not those of handful, so their regret has the same distribution,
but is not equal bit for bit.
"""

from __future__ import annotations

import ctypes
import math
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

SOURCE = Path(__file__).with_name("textbook.c")
FLAGS = ("-O2", "-shared", "-fPIC")
COMPILERS = ("cc", "gcc", "clang")

Loop = Callable[[NDArray[np.float64], int, int, float, int], float]


class NoCompilerError(Exception):
    """There is no C loop here; the message says why. Caught where loops are chosen."""


@dataclass(frozen=True)
class CLoop:
    """The loop in C, and what it was built with."""

    run: Loop
    compiler: str
    command: str


def find_compiler() -> list[str]:
    """Return the system's C compiler as a command: $CC if it is set, or the first one found."""
    if given := shlex.split(os.environ.get("CC", "")):
        return given if shutil.which(given[0]) else []
    return next(([name] for name in COMPILERS if shutil.which(name)), [])


def build_c_loop() -> CLoop:
    """Build `textbook.c` and load it; raise `NoCompilerError` if that is impossible."""
    compiler = find_compiler()
    if not compiler:
        raise NoCompilerError(
            f"there is no C compiler: neither $CC nor {', '.join(COMPILERS)} was found"
        )
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        library = Path(folder) / "textbook.so"
        command = [*compiler, *FLAGS, "-o", str(library), str(SOURCE), "-lm"]
        try:
            built = subprocess.run(command, capture_output=True, text=True, check=False)
            if built.returncode:
                said = built.stderr.strip().splitlines() or ["it printed nothing"]
                raise NoCompilerError(f"{compiler[0]} could not build the C loop: {said[0]}")
            function = ctypes.CDLL(str(library)).textbook
        except OSError as error:
            raise NoCompilerError(f"the C loop cannot be built or loaded: {error}") from None
    function.restype = ctypes.c_double
    function.argtypes = [
        ctypes.POINTER(ctypes.c_double),
        ctypes.c_int64,
        ctypes.c_int64,
        ctypes.c_int64,
        ctypes.c_double,
        ctypes.c_uint64,
    ]

    def run(means: NDArray[np.float64], M: int, T: int, eta: float, seed: int) -> float:
        values = np.ascontiguousarray(means, dtype=np.float64)
        start = values.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
        return float(function(start, len(values), M, T, eta, seed))

    return CLoop(run, _version(compiler), shlex.join([*compiler, *FLAGS, SOURCE.name, "-lm"]))


def _version(compiler: list[str]) -> str:
    printed = subprocess.run([*compiler, "--version"], capture_output=True, text=True, check=False)
    return (printed.stdout.splitlines() or [compiler[0]])[0]


def plain_loop(means: NDArray[np.float64], M: int, T: int, eta: float, seed: int) -> float:
    """Return the regret of a run; Numba compiles this loop."""
    np.random.seed(seed)
    K = len(means)
    M = min(M, K)
    order = np.random.permutation(K)
    incumbent = order[0]
    # With all arms in memory there is one sub-phase, which never ends.
    h0 = math.ceil((K - 1) / (M - 1)) if M < K else 1
    b = M * (M + 2) if M < K else T
    regret = 0.0
    clock = 0
    top = means.max()
    arms = np.zeros(M, np.int64)
    n = np.zeros(M)
    s = np.zeros(M)
    while clock < T:
        challengers = order[order != incumbent]
        for j in range(h0):
            low = j * (M - 1)
            high = min(low + M - 1, K - 1)
            m = high - low + 1
            arms[0] = incumbent
            arms[1:m] = challengers[low:high]
            n[:] = 0.0
            s[:] = 0.0
            end = min(b, T - clock)
            for t in range(end):
                best = t
                if t >= m:
                    log_t = math.log(t)
                    best = 0
                    highest = -math.inf
                    for i in range(m):
                        index = s[i] / n[i] + eta * math.sqrt(2.0 * log_t / n[i])
                        if index > highest:
                            highest = index
                            best = i
                mean = means[arms[best]]
                n[best] += 1.0
                s[best] += 1.0 if np.random.random() < mean else 0.0
                regret += top - mean
            clock += end
            incumbent = arms[np.argmax(n[:m])]
            if clock >= T:
                return regret
        b *= 2
    return regret


@cache
def numba_loop() -> Loop:
    """Return `plain_loop`, compiled at its first call."""
    compiled: Any = numba.njit(nogil=True)(plain_loop)
    return lambda means, M, T, eta, seed: float(compiled(means, M, T, eta, seed))
