"""Work that takes no time, so that all that is measured is what surrounds it."""

from __future__ import annotations

from synergy.worker import Outcome, Processed, Task, Worker


class NoOp(Worker):
    """Does nothing, and says that it is done."""

    def work(self, task: Task) -> Outcome:
        return Processed()
