"""Fleets past one machine: shards on the workers of a Dask cluster (`handful.ShardedFleet`).

    log.py      the calls of a shard since its last save, in a file
    messages.py what routers and shards send to each other
    shard.py    what a worker does: a fleet of some members, that serves each numbered call once
    places.py   which worker has which shard: actors of Dask
    router.py   calls to shards: numbered, repeated after a loss, counted
    front.py    checks a call, splits it by shard, and joins the answers
    manifest.py how many shards a folder has
    sharded.py  what users see

A member's seed is derived from the fleet's seed and the member's number. So its choices do not
depend on the number or the place of the shards.
"""

from __future__ import annotations

from handful.fleet.shards.sharded import ShardedFleet

__all__ = ["ShardedFleet"]
