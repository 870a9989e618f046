"""Which worker has which shard: each shard is a Dask actor.

Dask does not restore an actor whose worker is lost: its future is in error from then on. A call in
progress raises an error, or is never answered, since Dask catches only some exceptions there. So a
call is waited for in short steps, and the future is checked between them.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple
from uuid import uuid4

from handful.errors import ClusterError
from handful.fleet.shards.messages import Reply
from handful.fleet.shards.shard import Shard

STEP = 0.5
"""Seconds between two looks at the worker of a call that is not answered yet."""


class LostError(Exception):
    """The worker of a shard is lost, or does not answer."""


class _Held(NamedTuple):
    future: Any
    actor: Any


class Places:
    """The actors of all shards, by the client of a cluster."""

    def __init__(self, client: Any, patience: float) -> None:
        self._client = client
        self._patience = patience
        self._held: dict[int, _Held] = {}

    def start(self, shards: list[int]) -> None:
        """Make an actor for each of some shards, on workers that have few."""
        client = self._client
        for shard in shards:
            self._held.pop(shard, None)
        futures = {
            shard: client.submit(
                Shard, actor=True, pure=False, key=f"handful-shard-{shard}-{uuid4().hex}"
            )
            for shard in shards
        }
        for shard, future in futures.items():
            try:
                with client.as_current():
                    self._held[shard] = _Held(future, future.result(timeout=self._patience))
            except Exception as error:
                raise ClusterError(
                    f"no worker takes shard {shard}: see that the cluster has workers, and call "
                    f"again ({type(error).__name__}: {error})"
                ) from None

    def ask(self, shard: int, method: str, *given: Any) -> Any:
        """Send a call; return what `wait` waits for."""
        held = self._held.get(shard)
        if held is None or held.future.status != "finished":
            return None
        try:
            with self._client.as_current():
                return getattr(held.actor, method)(*given)
        except RuntimeError:  # the future was found to be in error meanwhile
            return None

    def wait(self, shard: int, pending: Any) -> Reply:
        """Wait for the reply to a call, or until its worker is lost."""
        if pending is None:
            raise LostError
        while True:
            try:
                reply: Reply = pending.result(timeout=STEP)
                return reply
            except TimeoutError:
                if self._client.status != "running":
                    raise ClusterError(
                        "the client of the cluster was closed, or lost its scheduler: open the "
                        "fleet again with ShardedFleet.open"
                    ) from None
                if self._held[shard].future.status != "finished":
                    raise LostError from None
            except Exception as error:
                raise LostError from error

    def close(self, patience: float) -> None:
        """Release all shards; a worker that does not answer does so when its actor is gone."""
        pending = {shard: self.ask(shard, "close") for shard in self._held}
        for call in pending.values():
            if call is not None:
                with suppress(Exception):
                    call.result(timeout=patience)
        self._held.clear()
