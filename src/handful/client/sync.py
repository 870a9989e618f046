"""The synchronous client."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, Self, Unpack, overload

import httpx

from handful.client.answers import Bandit, Decision, Outcome, OwnKey, Summary
from handful.client.deadline import Deadline, bounded_client
from handful.client.exchange import NoReply, Reply, Send, Steps, T
from handful.client.limits import Limits
from handful.client.options import BanditOptions, ManyDecisions, OneDecision
from handful.client.shared import Connected
from handful.client.wire import headers_of, no_reply, sent_headers


class Client(Connected):
    """The service at an address, for plain Python. May be used by several threads.

    url      where `handful serve` listens, such as "http://127.0.0.1:8000"
    key      a bearer key, if the service asks for one
    limits   time-outs, retries and the circuit breaker (`Limits`)
    http     an `httpx.Client` of yours, for proxies or certificates; it is not closed with this
             one, and its time-outs are for each read, so that the head of an answer that trickles
             in may take longer than `limits` say

    Every call is tried again where that can help, and counted once (`handful.client.exchange`).
    What the service refuses is a `RefusedError` at once; no answer is an `UnavailableError`.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        limits: Limits | None = None,
        http: httpx.Client | None = None,
    ) -> None:
        super().__init__(url, key, limits)
        self._is_ours = http is None
        self._http, self._deadline = bounded_client() if http is None else (http, Deadline())

    def create_bandit(
        self, name: str, *, arms: Iterable[str], **options: Unpack[BanditOptions]
    ) -> Bandit:
        """Create a bandit (`BanditOptions`); one of that name that exists is a `ConflictError`."""
        return self._run(self._calls.create_bandit(name, arms, options))

    def bandit(self, name: str) -> Bandit:
        """Return a bandit: its settings, its counters and the arms that it remembers."""
        return self._run(self._calls.bandit(name))

    def bandits(self, after: str | None = None, page: int = 100) -> Iterator[Summary]:
        """Iterate over all bandits by name, one request for each page."""
        while True:
            listing = self._run(self._calls.bandits(after, page))
            yield from listing.bandits
            after = listing.next
            if after is None:
                return

    def change_bandit(self, name: str, **changes: float | None) -> Bandit:
        """Change `window`, `default` or `explore` of a bandit, and return it."""
        return self._run(self._calls.change_bandit(name, changes))

    def delete_bandit(self, name: str) -> None:
        """Delete a bandit."""
        self._run(self._calls.delete_bandit(name))

    def add_arms(self, name: str, arms: Iterable[str]) -> int:
        """Add arms to a bandit, and return how many it has now."""
        return self._run(self._calls.add_arms(name, arms))

    def remove_arms(self, name: str, arms: Iterable[str]) -> int:
        """Remove arms from a bandit, and return how many it has left."""
        return self._run(self._calls.remove_arms(name, arms))

    @overload
    def decide(self, name: str, **options: Unpack[OneDecision]) -> Decision: ...

    @overload
    def decide(self, name: str, n: int, **options: Unpack[ManyDecisions]) -> list[Decision]: ...

    def decide(self, name: str, n: int | None = None, **options: Any) -> Decision | list[Decision]:
        """Return an arm and the id for its reward; with n, a list of so many.

        The options are those of `OneDecision`; with n, those of `ManyDecisions`.
        """
        made = self._run(self._calls.decide(name, n, options))
        return made if n is not None else made[0]

    def reward(self, decision: Decision | str, reward: float) -> Outcome:
        """Give the reward of a decision, or of its id, and return what became of it.

        The first value counts: the same again is `duplicate` (so is a retry of ours whose first
        answer was lost), another one a `ConflictError`. After its window a reward is `expired`. The
        reward of a fallback is `ignored`.
        """
        return self._run(self._calls.reward(decision, reward))

    def rewards(self, pairs: Iterable[tuple[Decision | str | OwnKey, float]]) -> list[Outcome]:
        """Give many rewards at once, and return what became of each, in order.

        If this fails half-way, call it again with the same pairs: none counts twice.
        """
        return self._run(self._calls.rewards(pairs))

    def drop(self, decision: Decision | str) -> Outcome:
        """Close a decision whose reward will not come, without waiting for its window."""
        return self._run(self._calls.drop(decision))

    def close(self) -> None:
        """Close the connections."""
        if self._is_ours:
            self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _run(self, steps: Steps[T]) -> T:
        """Carry out the steps of a call, and return its answer."""
        result: Reply | NoReply | None = None
        try:
            while True:
                step = steps.send(result)
                if isinstance(step, Send):
                    result = self._send(step)
                else:
                    time.sleep(step.seconds)
                    result = None
        except StopIteration as end:
            answer: T = end.value
            return answer

    def _send(self, step: Send) -> Reply | NoReply:
        request = step.request
        self._deadline.until = until = time.monotonic() + step.timeout
        try:
            with self._http.stream(
                request.method,
                self._url + request.path,
                content=request.body,
                headers=sent_headers(request, self._key),
                timeout=step.timeout,
            ) as response:
                body = bytearray()
                # For a client that was given, whose time-outs are for each read.
                for chunk in response.iter_bytes():
                    body += chunk
                    if time.monotonic() > until:
                        raise httpx.ReadTimeout("the answer took too long")
                return Reply(response.status_code, headers_of(response), bytes(body))
        except httpx.RequestError as error:
            return no_reply(error, self._url)
