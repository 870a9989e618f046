"""The client for asyncio: the calls of `Client` as coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from types import TracebackType
from typing import Any, Self, Unpack, overload

import httpx

from handful.client.answers import Bandit, Decision, Outcome, OwnKey, Summary
from handful.client.exchange import NoReply, Reply, Send, Steps, T
from handful.client.limits import Limits
from handful.client.options import BanditOptions, ManyDecisions, OneDecision
from handful.client.shared import Connected
from handful.client.wire import headers_of, no_reply, sent_headers


class AsyncClient(Connected):
    """The service at an address, for asyncio. The arguments and calls are those of `Client`.

    `http` is an `httpx.AsyncClient` of yours. A client belongs to one event loop.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        limits: Limits | None = None,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        super().__init__(url, key, limits)
        self._http = http or httpx.AsyncClient()
        self._is_ours = http is None

    async def create_bandit(
        self, name: str, *, arms: Iterable[str], **options: Unpack[BanditOptions]
    ) -> Bandit:
        """Create a bandit. See `Client.create_bandit`."""
        return await self._run(self._calls.create_bandit(name, arms, options))

    async def bandit(self, name: str) -> Bandit:
        """Return a bandit. See `Client.bandit`."""
        return await self._run(self._calls.bandit(name))

    async def bandits(self, after: str | None = None, page: int = 100) -> AsyncIterator[Summary]:
        """Iterate over all bandits by name, with `async for`. See `Client.bandits`."""
        while True:
            listing = await self._run(self._calls.bandits(after, page))
            for summary in listing.bandits:
                yield summary
            after = listing.next
            if after is None:
                return

    async def change_bandit(self, name: str, **changes: float | None) -> Bandit:
        """Change a bandit, and return it. See `Client.change_bandit`."""
        return await self._run(self._calls.change_bandit(name, changes))

    async def delete_bandit(self, name: str) -> None:
        """Delete a bandit."""
        await self._run(self._calls.delete_bandit(name))

    async def add_arms(self, name: str, arms: Iterable[str]) -> int:
        """Add arms to a bandit, and return how many it has now."""
        return await self._run(self._calls.add_arms(name, arms))

    async def remove_arms(self, name: str, arms: Iterable[str]) -> int:
        """Remove arms from a bandit, and return how many it has left."""
        return await self._run(self._calls.remove_arms(name, arms))

    @overload
    async def decide(self, name: str, **options: Unpack[OneDecision]) -> Decision: ...

    @overload
    async def decide(
        self, name: str, n: int, **options: Unpack[ManyDecisions]
    ) -> list[Decision]: ...

    async def decide(
        self, name: str, n: int | None = None, **options: Any
    ) -> Decision | list[Decision]:
        """Return an arm and the id for its reward; with n, a list. See `Client.decide`."""
        made = await self._run(self._calls.decide(name, n, options))
        return made if n is not None else made[0]

    async def reward(self, decision: Decision | str, reward: float) -> Outcome:
        """Give the reward of a decision. See `Client.reward`."""
        return await self._run(self._calls.reward(decision, reward))

    async def rewards(
        self, pairs: Iterable[tuple[Decision | str | OwnKey, float]]
    ) -> list[Outcome]:
        """Give many rewards at once. See `Client.rewards`."""
        return await self._run(self._calls.rewards(pairs))

    async def drop(self, decision: Decision | str) -> Outcome:
        """Close a decision whose reward will not come. See `Client.drop`."""
        return await self._run(self._calls.drop(decision))

    async def close(self) -> None:
        """Close the connections."""
        if self._is_ours:
            await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _run(self, steps: Steps[T]) -> T:
        """Carry out the steps of a call, and return its answer."""
        result: Reply | NoReply | None = None
        try:
            while True:
                step = steps.send(result)
                if isinstance(step, Send):
                    result = await self._send(step)
                else:
                    await asyncio.sleep(step.seconds)
                    result = None
        except StopIteration as end:
            answer: T = end.value
            return answer

    async def _send(self, step: Send) -> Reply | NoReply:
        request = step.request
        try:
            async with asyncio.timeout(step.timeout):
                response = await self._http.request(
                    request.method,
                    self._url + request.path,
                    content=request.body,
                    headers=sent_headers(request, self._key),
                    timeout=step.timeout,
                )
            return Reply(response.status_code, headers_of(response), response.content)
        except (httpx.RequestError, TimeoutError) as error:
            return no_reply(error, self._url)
