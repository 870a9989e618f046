"""Every error that handful raises.

    HandfulError
    ├── SettingError (ValueError)        an argument that cannot work, refused before any work
    │   └── UnknownNameError             no policy, instance or distribution of that name
    ├── RewardError (ValueError)         a reward that is not a number in the allowed range
    ├── UnknownArmError (LookupError)    an arm that was never given to the policy
    ├── ForgottenArmError (LookupError)  a known arm whose statistics have left the memory
    ├── ExhaustedError (RuntimeError)    a reservoir that ended although the policy needs an arm
    ├── MemoryFullError (RuntimeError)   an (M+1)st arm was about to get statistics
    ├── StateError (ValueError)          a state that cannot be saved, or invalid bytes
    │   ├── NewerStateError              ... written by a newer version of handful
    │   └── OtherArmsError               ... of a policy on other arms
    ├── RuleError (ArithmeticError)      a score that is NaN, a slot that is not in use
    ├── ContractError (AssertionError)   a policy that fails a check of handful.testing
    ├── WriteError (OSError)             a file that could not be written
    ├── EngineError (RuntimeError)       a compiled kernel that disagrees with the policy itself
    ├── StoreError (RuntimeError)        a store of the service that cannot be used
    │   ├── DamagedStoreError            ... whose contents are not what was written
    │   ├── NewerStoreError              ... written by a newer version of handful
    │   ├── StoreInUseError              ... that another process has open
    │   └── StoreUnavailableError        ... that cannot be read or written now: a full disk
    │       └── StoreAccessError         ... or reached, or that the user may not use
    ├── ClientError (RuntimeError)       a call of the client that got no usable answer
    │   ├── RefusedError (ValueError)    ... that the service refused; the message says why
    │   │   ├── NotFoundError (LookupError)      ... since there is no such bandit or decision
    │   │   ├── ConflictError                    ... since it exists, or has another value
    │   │   └── AccessError (PermissionError)    ... since the key is missing or not enough
    │   └── UnavailableError (ConnectionError)   ... although it was tried again
    ├── SweepError (RuntimeError)        a sweep of which some cells failed
    ├── ClusterError (RuntimeError)      a cluster, or an executor, that cannot be used or was lost
    │   └── ShardLostError               ... with calls of a sharded fleet that were not saved
    └── MissingExtraError (ImportError)  a feature whose packages are not installed

A message says what was given, what is allowed and what to do.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import index
from typing import Any


class HandfulError(Exception):
    """The root of all errors of this package."""


class SettingError(HandfulError, ValueError):
    """An argument that cannot work."""


class UnknownNameError(SettingError):
    """No policy, instance or distribution of that name; the message lists the nearest ones."""

    def __init__(self, kind: str, given: str, known: Iterable[str]) -> None:
        from difflib import get_close_matches  # slow to import, and seldom needed

        names = sorted(known)
        near = get_close_matches(given.lower(), names, n=3, cutoff=0.6)
        near = near or get_close_matches(given, names, n=3, cutoff=0.6)
        hint = f"known: {', '.join(names)}" if names else "there are none"
        if near:
            hint = f"did you mean {' or '.join(near)}?"
        super().__init__(f"there is no {kind} {given!r}: {hint}")


def integer(name: str, value: Any) -> int:
    """Return a setting that must be an integer, of Python or of NumPy; refuse True and False."""
    try:
        if not isinstance(value, bool):
            return int(index(value))
    except TypeError:
        pass
    raise SettingError(f"{name}={value!r} is not an integer")


def shortened(text: str, most: int = 70) -> str:
    """Shorten a text to fit a line: the name of an instance may list a hundred means."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


class RewardError(HandfulError, ValueError):
    """A reward that is not a number in the allowed range."""


class UnknownArmError(HandfulError, LookupError):
    """An arm that was never given to the policy."""


class ForgottenArmError(HandfulError, LookupError):
    """An arm that has no statistics in memory, so that its reward cannot be credited.

    Arms that come from a function or an iterator cannot be listed: there, this is any label that
    does not belong to an arm in memory.
    """


class ExhaustedError(HandfulError, RuntimeError):
    """A reservoir that ended, or that released an arm, although the policy needs the arm."""


class MemoryFullError(HandfulError, RuntimeError):
    """An (M+1)st arm was about to get statistics."""


class StateError(HandfulError, ValueError):
    """Bytes that are not the state of a policy, or a policy whose state cannot be saved."""


class NewerStateError(StateError):
    """A state written by a newer version of handful."""


class OtherArmsError(StateError):
    """A state that belongs to a policy on other arms."""


class RuleError(HandfulError, ArithmeticError):
    """A rule or a policy that returns an invalid value.

    A score that is NaN, a slot that is not in use, an arm that does not exist, or an exception in a
    user's function.
    """


class ContractError(HandfulError, AssertionError):
    """A policy that fails a check of `handful.testing`."""


class WriteError(HandfulError, OSError):
    """A file that could not be written, such as on a full disk; nothing is left of it."""


class EngineError(HandfulError, RuntimeError):
    """A compiled kernel that does not make the choices of the policy itself."""


class StoreError(HandfulError, RuntimeError):
    """A store of the service that cannot be used."""


class DamagedStoreError(StoreError):
    """A store whose contents are not what was written to it, or a file that is not a store."""


class NewerStoreError(StoreError):
    """A store written by a newer version of handful."""


class StoreInUseError(StoreError):
    """A store that another process has open, or a file that would be overwritten."""


class StoreUnavailableError(StoreError):
    """A store that cannot be read or written now, such as on a full disk; nothing was changed."""


class StoreAccessError(StoreUnavailableError):
    """A store that cannot be reached, or that the user of its address may not use.

    The message names the address and the user: it is for operators of the service, not for callers.
    """


class SweepError(HandfulError, RuntimeError):
    """A sweep of which some cells failed; the others are finished and saved."""


class ClusterError(HandfulError, RuntimeError):
    """A cluster, or another executor, that cannot be used or was lost.

    Results that had come back are saved: the same sweep continues from there.
    """


class ShardLostError(ClusterError):
    """Shards of a fleet that went back to their last save, since their workers were lost.

    `shards` says how many answered calls each of these shards has lost. They did not serve the call
    that raised this error. The other shards did: `served` says for which of its ids, None for a
    call without ids, and `answer` is what it returned for those.
    """

    def __init__(
        self, message: str, shards: dict[int, int], served: Any = None, answer: Any = None
    ) -> None:
        super().__init__(message)
        self.shards = shards
        self.served = served
        self.answer = answer


class MissingExtraError(HandfulError, ImportError):
    """A feature whose packages are not installed."""

    def __init__(self, feature: str, package: str, extra: str) -> None:
        super().__init__(
            f"{feature} needs {package}, which is not installed: pip install 'handful[{extra}]'"
        )


class ClientError(HandfulError, RuntimeError):
    """A call of `handful.client` that got no usable answer.

    `status` is that of the last answer, None if there was none. `title`, `detail` and `request_id`
    are those of the service's problem report, "" if it sent none.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        title: str = "",
        detail: str = "",
        request_id: str = "",
    ) -> None:
        super().__init__(message)
        self.status = status
        self.title = title
        self.detail = detail
        self.request_id = request_id


class RefusedError(ClientError, ValueError):
    """A call that the service refused (4xx). Repeating it unchanged would not help."""


class NotFoundError(RefusedError, LookupError):
    """A call about a bandit, an arm or a decision that the service does not have (404)."""


class ConflictError(RefusedError):
    """A call about what exists already, or has another value (409)."""


class AccessError(RefusedError, PermissionError):
    """A call without a key, or with a key that does not allow it (401, 403)."""


class UnavailableError(ClientError, ConnectionError):
    """A call that failed although it was tried again: no connection, no answer in time, or 5xx.

    The service may have carried it out: an answer can be lost on its way. Repeating a decision is
    harmless, since a decision without a reward expires, and a repeated reward counts once.
    """
