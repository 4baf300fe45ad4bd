"""A worker that does nothing, so that only the overhead is measured."""

from __future__ import annotations

from synergy.worker import Outcome, Processed, Task, Worker


class NoOp(Worker):
    """Does nothing."""

    def work(self, task: Task) -> Outcome:
        return Processed()
