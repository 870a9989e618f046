"""How xdist hands tests to its workers: groups whole, and all cases of another test at once.

As a separate unit, each of ten thousand tests would cost a message, and, as xdist counts what a
worker has left to do, a look at every unit that the worker was ever given.
"""

from __future__ import annotations

from xdist.scheduler import LoadGroupScheduling
from xdist.workermanage import WorkerController


class CasesTogether(LoadGroupScheduling):
    """`--dist loadgroup`, with all cases of a test in one unit, and without finished units."""

    def _split_scope(self, nodeid: str) -> str:
        scope = super()._split_scope(nodeid)
        return scope if scope != nodeid else nodeid.partition("[")[0]

    def mark_test_complete(
        self, node: WorkerController, item_index: int, duration: float = 0
    ) -> None:
        """Note that a test has ended; forget its unit if that was the last of it."""
        nodeid = self.registered_collections[node][item_index]
        scope = self._split_scope(nodeid)
        units = self.assigned_work[node]
        units[scope][nodeid] = True
        if all(units[scope].values()):
            del units[scope]
        self._reschedule(node)
