"""Fleets past one machine: shards on the workers of a Dask cluster (`handful.ShardedFleet`).

    log.py      the calls of a shard since its last save, in a file
    messages.py what routers and shards say to each other
    shard.py    what a worker does: a fleet of some members, that serves each numbered call once
    places.py   which worker has which shard: actors of Dask
    router.py   calls to shards: numbered, repeated after a loss, counted
    front.py    a call is checked, cut by shard, and put together again
    manifest.py how many shards a folder has
    sharded.py  what users see

A member's seed follows from the fleet's seed and the member's number. So its choices do not depend
on how many shards there are, nor on where they are.
"""

from __future__ import annotations

from handful.fleet.shards.sharded import ShardedFleet

__all__ = ["ShardedFleet"]
