"""Errors for mistakes in a user's rule or policy, the same from every engine.

Engines call these functions only when a run has failed. The functions of a policy are compiled from
their source, so a failed run is explained from its record alone: the decisions made, and the pulls
and sums of rewards of the arms in memory.
"""

from __future__ import annotations

import re
from pathlib import Path
from types import CodeType
from typing import Any, NoReturn

from handful.errors import HandfulError, MemoryFullError, RuleError
from handful.policies.base import Policy
from handful.policies.mistakes import wrong_slot
from handful.rules import Moment

RAISED = (ArithmeticError, ValueError, LookupError, MemoryFullError)
"""What functions of a user's may raise: division by zero, a domain, an index, a full memory."""
RAISED_IN_A_KERNEL = (ArithmeticError, IndexError, MemoryFullError)
"""Of these, what compiled functions raise. Elsewhere, a domain gives NaN or an infinity."""


def raise_from_kernel(
    error: Exception, policy: type[Policy], decisions: int, room: int
) -> NoReturn:
    """Raise what an exception that ended a compiled run means; a clear one as it is."""
    after = f"{policy.name}, after {decisions} decisions"
    if isinstance(error, MemoryFullError):
        raise MemoryFullError(
            f"{after}: the arm memory holds at most {room} arms: reuse a slot"
        ) from error
    if isinstance(error, HandfulError):
        raise error
    if isinstance(error, IndexError):
        raise RuleError(
            f"{after}, used a slot that its record does not have: there are {room} slots, from 0 "
            "on (engine='python' shows where)"
        ) from error
    raise RuleError(
        f"{after}: {type(error).__name__}: {error} (engine='python' shows where)"
    ) from error


def raise_from_python(error: Exception, policy: Policy) -> NoReturn:
    """Raise what an exception that ended a run of the python engine means; a clear one as it is.

    Of a call that went wrong, the message has the numbers.
    """
    state, cls = policy._state, type(policy)
    after = f"{cls.name}, after {state.clock} decisions"
    if isinstance(error, MemoryFullError):
        raise MemoryFullError(f"{after}: {error}") from error
    if isinstance(error, HandfulError):
        raise error
    called = _last_call(error)
    # `select` looks up the arm of the slot that was proposed.
    if called is not None and called[0] is Policy.select.__code__:
        raise wrong_slot(cls, state.clock, called[1]["slot"], state.held) from error
    raise RuleError(f"{after}{_where(called)}: {type(error).__name__}: {error}") from error


def not_compiled(policy: str, said: str) -> str:
    """Return the message of a policy that Numba cannot compile, given Numba's own.

    Numba tells the whole way from the kernel to the line that it cannot compile, and that comes
    last: what it found, the file and the line, and the function.
    """
    lines = [line.strip() for line in said.rpartition("Failed in nopython mode")[2].splitlines()]
    found = next((line for line in lines[1:] if line), lines[0])
    text = "\n".join(lines)
    file = re.search(r'File "(.*)", line (\d+):', text)
    code = re.search(r"^(.*)\n\^", text, re.MULTILINE)
    function = re.search(r"^During: resolving callee type: Function\(<function (\S+)", text, re.M)
    where = f" ({Path(file[1]).name}, line {file[2]}" if file else ""
    where += f": {code[1]})" if file and code else ")" if file else ""
    return (
        f"{function[1] if function else 'a function'} of {policy} cannot be compiled: scores and "
        "functions of policies may use arithmetic, comparisons, if, loops, math, handful.core.rng, "
        "the fields of their arguments, and plain functions that do the same; engine='python' runs "
        f"it as it is. Numba says: {found}{where}"
    )


def _last_call(error: Exception) -> tuple[CodeType, dict[str, Any]] | None:
    """Return the function that raised an exception, and its variables."""
    last = error.__traceback__
    if last is None:
        return None
    while last.tb_next is not None:
        last = last.tb_next
    return last.tb_frame.f_code, last.tb_frame.f_locals


def _where(called: tuple[CodeType, dict[str, Any]] | None) -> str:
    """Return the call that went wrong with its numbers, in the words of a message."""
    if called is None:
        return ""
    code, values = called
    given = []
    for name in code.co_varnames[: code.co_argcount]:
        value = values.get(name)
        if isinstance(value, int | float):
            given.append(f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}")
        elif isinstance(value, Moment):
            given.append(f"t={value.t}")
    return f", in {code.co_name}({', '.join(given)})"
