"""A shard on a worker: a fleet of some members, which serves each numbered call exactly once.

    shard-0003/term-5/fleet/         the fleet as it was last saved (`handful.fleet.saving`)
    shard-0003/term-5/calls-120-5    the calls since call 120, at which it was saved, if durable

A router claims a shard for a worker with a *term*, one higher than any before. The worker locks the
folder and renames it after the term. So a former worker that is wrongly believed to be lost can no
longer write: even if the file system lost its lock, its paths no longer exist.

No exception is sent to the router: some cannot be pickled, and an exception of Dask's means that
the worker is lost. Errors are sent as a `Reply`.
"""

from __future__ import annotations

import shutil
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from numpy.typing import NDArray

from handful.errors import HandfulError, OtherArmsError, StoreInUseError
from handful.files.writing import PART, sync_folder
from handful.fleet.fleet import Fleet
from handful.fleet.header import HEADER
from handful.fleet.ids import Numbers
from handful.fleet.members import Members
from handful.fleet.shards.log import Arrays, Call, CallLog, read_log, remove
from handful.fleet.shards.messages import DONE, FAILED, OTHER, REFUSED, Reply, Spec
from handful.fleet.shared import Shared
from handful.policies import Policy, from_bytes

SAVED = ("change", "grow")
"""Calls after which a shard is saved. They are not logged: labels may be such that they cannot be,
and whether there is room for more members depends on the machine."""


class ShardFleet(Fleet):
    """A fleet whose saves say up to which call they go."""

    _ids: Numbers
    number = 0
    token = 0

    def _facts(self) -> dict[str, Any]:
        return {**super()._facts(), "calls": self.number, "token": str(self.token)}

    @classmethod
    def made(
        cls, shared: Shared, seed: int, members: range, threads: int | None, rows: bool = True
    ) -> Self:
        """Return a new fleet of a model; without `rows`, one that only knows what all share."""
        fleet = object.__new__(cls)
        fleet._shared = shared
        fleet._seed = seed
        fleet._ids = Numbers(seed, members.start, len(members))
        count = fleet._ids.count if rows else 0
        fleet._members = Members(shared.layout, count, fleet._ids.first_seed)
        fleet._prepare(threads)
        return fleet


def term_of(folder: Path) -> int:
    """Return the highest term of a shard, 0 if it was never saved."""
    found = [int(path.parents[1].name[5:]) for path in folder.glob(f"term-*/fleet/{HEADER}")]
    return max(found, default=0)


class Shard:
    """The actor. Its methods run one after the other."""

    def __init__(self) -> None:
        self._fleet: ShardFleet | None = None
        self._log: CallLog | None = None
        self._kept = Reply(DONE, 0)
        """The reply to the last call."""

    # Taking over.

    def claim(self, spec: Spec) -> Reply:
        """Open the shard as it was after its last durable call, for this worker alone."""
        try:
            self._spec = spec
            folder = Path(spec.folder)
            latest = term_of(folder)
            if latest >= spec.term:
                raise StoreInUseError(f"{folder} has been claimed for term {latest} meanwhile")
            self._path = folder / f"term-{spec.term}"
            arms = 0
            if latest == 0:
                self._make()
            else:
                arms = self._open(folder / f"term-{latest}")
            fleet = self._fleet
            assert fleet is not None
            self._replay()
            facts = {
                "arms": arms,
                "members": range(fleet._ids.first, fleet._ids.first + len(fleet)),
                "model": fleet._shared.model.to_bytes(),
                "counters": fleet._shared.counters,
                "seed": fleet.seed,
            }
            return Reply(DONE, fleet.number, facts)
        except HandfulError as error:
            self.close()
            return Reply(REFUSED, 0, _told(error))
        except Exception:
            self.close()
            return Reply(FAILED, 0, traceback.format_exc())

    def _make(self) -> None:
        fresh = self._spec.fresh
        if fresh is None:
            raise StoreInUseError(f"{self._spec.folder} has no shard any more")
        if self._path.exists():
            shutil.rmtree(self._path)  # of a worker that was lost before it had saved
        model = model_from(fresh.model, self._spec.arms[0], self._spec.policy)
        shared = Shared(model, fresh.counters)
        fleet = ShardFleet.made(shared, fresh.seed, fresh.members, self._spec.threads)
        self._path.mkdir(parents=True)
        fleet.save(self._path / "fleet")
        sync_folder(self._path)
        sync_folder(self._path.parent)
        self._fleet = fleet

    def _open(self, path: Path) -> int:
        """Open and lock the last term, and rename it; return which of the arms it has."""
        spec = self._spec
        until = time.monotonic() + spec.patience
        at = 0
        while self._fleet is None:
            try:
                self._fleet = ShardFleet.open(
                    path / "fleet", spec.arms[at], policy=spec.policy, threads=spec.threads
                )
            except OtherArmsError:
                at += 1
                if at == len(spec.arms):
                    raise
            except StoreInUseError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)
        fleet, held = self._fleet, self._fleet._folder
        assert held is not None
        path.rename(self._path)
        sync_folder(self._path.parent)
        held.path = self._path / "fleet"
        fleet.number = int(held.header["calls"])
        fleet.token = int(held.header["token"])
        return at

    def _replay(self) -> None:
        """Serve the calls since the last save again, and go on in a log of this term."""
        fleet = self._fleet
        assert fleet is not None
        self._kept = Reply(DONE, fleet.number)
        base = fleet.number
        remove(list(self._path.glob(f"calls-*{PART}")))
        old = sorted(self._path.glob("calls-*"), key=lambda path: int(path.name.split("-")[2]))
        calls: list[Call] = []
        for path in old[-1:]:
            if int(path.name.split("-")[1]) == base:
                calls = list(read_log(path))
        for call in calls:
            self._serve(call)
        if self._spec.durable:
            self._log = CallLog(self._path / f"calls-{base}-{self._spec.term}", tuple(calls))
            old = [path for path in old if path != self._log.path]
        elif calls:
            fleet.save()
        remove(old)

    # Calls.

    def serve(self, number: int, token: int, operation: str, arrays: Arrays) -> Reply:
        """Serve the next call; return the reply of the last one again, if this is the last one."""
        fleet = self._fleet
        if fleet is None:
            return Reply(FAILED, 0, "this worker no longer has the shard")
        if (number, token) == (fleet.number, fleet.token):
            return self._kept
        if number != fleet.number + 1:
            return Reply(OTHER, fleet.number)
        call = Call(number, token, operation, arrays, fleet.threads)
        if operation in SAVED:
            return self._serve_and_save(call)
        try:
            if self._log is not None:
                if self._log.size > self._spec.fold:
                    self._save()
                self._log.append(call)
            return self._serve(call)
        except HandfulError as error:
            return Reply(REFUSED, fleet.number, _told(error))
        except Exception:
            return self._fail()

    def _serve(self, call: Call) -> Reply:
        fleet = self._fleet
        assert fleet is not None
        fleet.number, fleet.token = call.number, call.token
        mine, fleet.threads = fleet.threads, call.threads
        try:
            value = getattr(self, f"_do_{call.operation}")(*map(_own, call.arrays))
            self._kept = Reply(DONE, call.number, value)
        except (MemoryError, OSError):
            raise  # of this machine, not of the call: it is served when the shard is restored
        except Exception as error:
            # A policy of a user's own may raise anything, and does so again when it is replayed.
            self._kept = Reply(REFUSED, call.number, _told(error))
        finally:
            fleet.threads = mine
        return self._kept

    def _do_decide(self, rows: Any) -> Any:
        return self._open_fleet._decide(rows)

    def _do_reward(self, rows: Any, tickets: Any, rewards: Any) -> Any:
        return self._open_fleet._reward(rows, tickets, rewards)

    def _do_put(self, member: Any, data: Any) -> None:
        fleet = self._open_fleet
        arms = fleet.arms
        fleet[int(member[0])] = model_from(data.tobytes(), arms, self._spec.policy)

    def _do_grow(self, more: Any) -> int:
        self._open_fleet.grow(int(more[0]))
        return len(self._open_fleet)

    def _do_change(self, added: Any, removed: Any) -> None:
        self._open_fleet._change(list(added), list(removed))

    def _serve_and_save(self, call: Call) -> Reply:
        """Serve a call that is all or nothing, and save the shard instead of logging the call."""
        fleet = self._open_fleet
        try:
            value = getattr(self, f"_do_{call.operation}")(*call.arrays)
        except Exception as error:
            return Reply(REFUSED, fleet.number, _told(error))
        fleet.number, fleet.token = call.number, call.token
        try:
            self._save()
        except Exception:
            return self._fail()
        self._kept = Reply(DONE, call.number, value)
        return self._kept

    def read(self, operation: str, arrays: Arrays) -> Reply:
        """Return what is asked for, without a change."""
        fleet = self._fleet
        if fleet is None:
            return Reply(FAILED, 0, "this worker no longer has the shard")
        try:
            value: Any = None
            if operation == "look":
                rows, counting = arrays
                value = fleet._look(_own(rows), bool(counting[0]))
            elif operation == "totals":
                value = fleet.totals()
            elif operation == "lift":
                value = fleet[int(arrays[0][0])].to_bytes()
            elif operation == "check":
                fleet.check()
            else:
                self._save()
            return Reply(DONE, fleet.number, value)
        except HandfulError as error:
            return Reply(REFUSED, fleet.number, _told(error))
        except Exception:
            return self._fail()

    def _save(self) -> None:
        fleet = self._open_fleet
        fleet.save()
        if self._log is not None:
            old = self._log
            self._log = CallLog(self._path / f"calls-{fleet.number}-{self._spec.term}")
            old.close()
            if old.path != self._log.path:
                remove([old.path])

    @property
    def _open_fleet(self) -> ShardFleet:
        assert self._fleet is not None
        return self._fleet

    # The end.

    def _fail(self) -> Reply:
        """Give the shard up after an unforeseen error: it is restored from its file."""
        why = traceback.format_exc()
        self.close()
        return Reply(FAILED, 0, why)

    def close(self) -> None:
        """Release the folder."""
        fleet, log = self._fleet, self._log
        self._fleet = self._log = None
        if log is not None:
            log.close()
        if fleet is not None:
            fleet.close()

    def __del__(self) -> None:
        # Dask drops an actor when its client is gone.
        with suppress(Exception):
            self.close()


def model_from(data: bytes, arms: Any, policy: type[Policy] | None) -> Policy:
    """Return a policy from bytes, of a user's own class if one is given."""
    return from_bytes(data, arms) if policy is None else policy.from_bytes(data, arms)


def _own(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array that may be written to: kernels are compiled for these."""
    return array if array.flags.writeable else array.copy()


def _told(error: Exception) -> tuple[str, str, list[str]]:
    """Return the class of an error, its message and its notes."""
    notes = list(getattr(error, "__notes__", []))
    if isinstance(error, HandfulError):
        return type(error).__name__, str(error), notes
    notes.append("".join(traceback.format_exception(error)))
    return HandfulError.__name__, f"the call failed: {type(error).__name__}: {error}", notes
