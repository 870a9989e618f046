"""An OpenFeature provider whose flags are bandits of the service.

    api.set_provider(HandfulProvider(Client("http://127.0.0.1:8000")))
    flags = api.get_client()
    visitor = EvaluationContext(targeting_key="visitor 4711")
    headline = flags.get_string_value("front", "Welcome", visitor)
    flags.track("front", visitor, TrackingEventDetails(1.0))

| OpenFeature | the service |
|---|---|
| flag key | name of the bandit |
| targeting key | the caller's own key of the decision: the same key gets the same arm |
| variant | arm |
| value | the arm itself; of other types than strings, the arm read as JSON: true, 8, 0.5, [] |
| `track` | reward of the targeting key's decision: the value of the event, 1 if it has none |

An event is a reward of the flag that has its name. With `events={"checkout": ["front", "banner"]}`,
the events named there are rewards of those flags, and all others are left alone.

If the service does not answer, or with an arm of another type, the value is the default of the
call, with the reason ERROR. Rewards of such a key are not sent: the service may have made a
decision, and the visitor did not see its arm. A reward that cannot be sent is logged, and does not
disturb the caller.
"""

from __future__ import annotations

import json
import logging
from asyncio import to_thread
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Lock
from typing import Any, TypeVar

from handful.client import Client, OwnKey
from handful.errors import ClientError, MissingExtraError, NotFoundError, SettingError

try:
    from openfeature.evaluation_context import EvaluationContext
    from openfeature.exception import ErrorCode
    from openfeature.flag_evaluation import FlagResolutionDetails, FlagValueType, Reason
    from openfeature.provider import AbstractProvider, Metadata
    from openfeature.track import TrackingEventDetails
except ImportError as error:
    if error.name != "openfeature":
        raise
    raise MissingExtraError(
        "the provider for OpenFeature", "openfeature-sdk", "openfeature"
    ) from None

__all__ = ["HandfulProvider"]
MOST_FALLBACKS = 10_000
"""How many of the last keys that got a default value are remembered."""
T = TypeVar("T")
Structure = Sequence[FlagValueType] | Mapping[str, FlagValueType]
_log = logging.getLogger(__name__)


class HandfulProvider(AbstractProvider):
    """Flags that are bandits of a service.

    client   of the service. It is not closed with the provider
    events   names of tracking events, and the flags that they are rewards of; None: each event is
             one of the flag with its name
    total    how many seconds an evaluation may take before the default value is used
    """

    def __init__(
        self,
        client: Client,
        *,
        events: Mapping[str, Iterable[str]] | None = None,
        total: float = 1.0,
    ) -> None:
        super().__init__()
        for name, flags in (events or {}).items():
            if isinstance(flags, str):
                raise SettingError(f"events={{{name!r}: {flags!r}}} has no list: give [{flags!r}]")
        self._client = client
        self._events = (
            None if events is None else {name: tuple(flags) for name, flags in events.items()}
        )
        self._total = total
        self._fallbacks: OrderedDict[OwnKey, None] = OrderedDict()
        self._lock = Lock()

    def get_metadata(self) -> Metadata:
        """Return the name of the provider."""
        return Metadata(name="handful")

    def track(
        self,
        tracking_event_name: str,
        evaluation_context: EvaluationContext | None = None,
        tracking_event_details: TrackingEventDetails | None = None,
    ) -> None:
        """Give the reward of the decisions that a targeting key got."""
        flags: tuple[str, ...] = (tracking_event_name,)
        if self._events is not None:
            flags = self._events.get(tracking_event_name, ())
        key = None if evaluation_context is None else evaluation_context.targeting_key
        value = None if tracking_event_details is None else tracking_event_details.value
        if not flags:
            return
        if not key:
            _log.warning("the event %r has no targeting key: no reward", tracking_event_name)
            return
        named = [OwnKey(flag, key) for flag in flags]
        with self._lock:
            decided = [each for each in named if each not in self._fallbacks]
        if not decided:
            return
        try:
            outcomes = self._client.rewards(
                [(each, 1.0 if value is None else value) for each in decided]
            )
        except (ClientError, RuntimeError, ValueError) as error:  # of a closed client, too
            _log.warning("the reward of the event %r was not sent: %s", tracking_event_name, error)
            return
        for each, outcome in zip(decided, outcomes, strict=True):
            if outcome in ("unknown", "invalid", "conflict", "unavailable"):
                _log.warning("the reward of %s for %r: %s", each.bandit, each.key, outcome)

    def _resolve(
        self,
        kind: str,
        flag_key: str,
        default_value: T,
        evaluation_context: EvaluationContext | None,
    ) -> FlagResolutionDetails[T]:
        key = None if evaluation_context is None else evaluation_context.targeting_key
        if not key:
            return _failed(
                default_value, ErrorCode.TARGETING_KEY_MISSING,
                "a decision needs a targeting key, by which its reward is given",
            )  # fmt: skip
        answer: FlagResolutionDetails[T]
        answer = self._answer(kind, flag_key, default_value, key)
        self._remember(OwnKey(flag_key, key), answer.error_code is not None)
        return answer

    def _answer(
        self, kind: str, flag_key: str, default_value: T, key: str
    ) -> FlagResolutionDetails[T]:
        try:
            decision = self._client.decide(flag_key, key=key, fallback="", total=self._total)
        except NotFoundError as error:
            return _failed(default_value, ErrorCode.FLAG_NOT_FOUND, str(error))
        except (ClientError, RuntimeError, ValueError) as error:
            return _failed(default_value, ErrorCode.GENERAL, str(error))
        if decision.is_fallback:
            return _failed(default_value, ErrorCode.GENERAL, "the service did not answer")
        try:
            value = READ[kind](decision.arm)
        except (TypeError, ValueError, OverflowError, RecursionError):
            return _failed(
                default_value, ErrorCode.TYPE_MISMATCH, f"the arm {decision.arm!r} is no {kind}"
            )
        return FlagResolutionDetails(value, reason=Reason.SPLIT, variant=decision.arm)

    def _remember(self, key: OwnKey, is_fallback: bool) -> None:
        with self._lock:
            self._fallbacks.pop(key, None)
            if is_fallback:
                self._fallbacks[key] = None
                if len(self._fallbacks) > MOST_FALLBACKS:
                    self._fallbacks.popitem(last=False)

    def resolve_string_details(
        self,
        flag_key: str,
        default_value: str,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[str]:
        """Return the arm of a decision, as it is."""
        return self._resolve("string", flag_key, default_value, evaluation_context)

    async def resolve_string_details_async(
        self,
        flag_key: str,
        default_value: str,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[str]:
        """Do the same in another thread."""
        return await to_thread(
            self.resolve_string_details, flag_key, default_value, evaluation_context
        )

    def resolve_boolean_details(
        self,
        flag_key: str,
        default_value: bool,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[bool]:
        """Return the arm of a decision, which is true or false."""
        return self._resolve("boolean", flag_key, default_value, evaluation_context)

    async def resolve_boolean_details_async(
        self,
        flag_key: str,
        default_value: bool,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[bool]:
        """Do the same in another thread."""
        return await to_thread(
            self.resolve_boolean_details, flag_key, default_value, evaluation_context
        )

    def resolve_integer_details(
        self,
        flag_key: str,
        default_value: int,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[int]:
        """Return the arm of a decision, which is an integer."""
        return self._resolve("integer", flag_key, default_value, evaluation_context)

    async def resolve_integer_details_async(
        self,
        flag_key: str,
        default_value: int,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[int]:
        """Do the same in another thread."""
        return await to_thread(
            self.resolve_integer_details, flag_key, default_value, evaluation_context
        )

    def resolve_float_details(
        self,
        flag_key: str,
        default_value: float,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[float]:
        """Return the arm of a decision, which is a number."""
        return self._resolve("float", flag_key, default_value, evaluation_context)

    async def resolve_float_details_async(
        self,
        flag_key: str,
        default_value: float,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[float]:
        """Do the same in another thread."""
        return await to_thread(
            self.resolve_float_details, flag_key, default_value, evaluation_context
        )

    def resolve_object_details(
        self,
        flag_key: str,
        default_value: Structure,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[Structure]:
        """Return the arm of a decision, which is a list or an object as JSON."""
        return self._resolve("object", flag_key, default_value, evaluation_context)

    async def resolve_object_details_async(
        self,
        flag_key: str,
        default_value: Structure,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[Structure]:
        """Do the same in another thread."""
        return await to_thread(
            self.resolve_object_details, flag_key, default_value, evaluation_context
        )


def _failed(default: T, code: ErrorCode, message: str) -> FlagResolutionDetails[T]:
    return FlagResolutionDetails(
        default, reason=Reason.ERROR, error_code=code, error_message=message
    )


def _reader(*kinds: type) -> Callable[[str], Any]:
    """Return the function that reads an arm as JSON of one of these types."""

    def read(arm: str) -> Any:
        value = json.loads(arm)
        if type(value) not in kinds:
            raise TypeError(arm)
        return float(value) if float in kinds else value

    return read


READ: dict[str, Callable[[str], Any]] = {
    "string": str,
    "boolean": _reader(bool),
    "integer": _reader(int),
    "float": _reader(float, int),
    "object": _reader(list, dict),
}
"""What reads the value of an arm, for each type of flags."""
