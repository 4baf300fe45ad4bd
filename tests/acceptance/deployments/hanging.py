"""Python workers, one instance each, whose work on the timetable's first hour never returns."""

import os
import threading

from synergy.config.context import (
    QUALIFIER_HOURLY,
    daemon_context_entry,
    managed_context_entry,
    timetable_tree_entry,
)
from synergy.worker import Processed, Task, Worker
from tests.acceptance.deployments import short_limits

short_limits.shorten("synergy.runtime.abandoned_work", GRACE_SECONDS=1.0)

START = os.environ.get("SYNERGY_START_TIMEPERIOD", "")


class Hangs(Worker):
    """Writes a row for each hour except the first, in which it never returns."""

    def work(self, task: Task) -> Processed:
        if task.timeperiod == START:
            self.hang(task)
        task.sink.replace(task.timeperiod, [{"domain": "d", "attempt": task.unit.attempt}])
        return Processed()

    def hang(self, task: Task) -> None:
        threading.Event().wait()


class Spins(Hangs):
    """Hangs in a busy loop at the first attempt, and waits without end at the second."""

    def hang(self, task: Task) -> None:
        while task.unit.attempt == 1:
            pass
        super().hang(task)


def hanging(name, kind, sink, **fields):
    return managed_context_entry(
        process_name=name,
        time_qualifier=QUALIFIER_HOURLY,
        classname=f"tests.acceptance.deployments.hanging.{kind.__name__}.start",
        sink=sink,
        trigger_frequency="every 60",
        settle="0s",
        retry_backoff="1s",
        max_active=11,
        max_attempts=2,
        present_on_boxes=[".*"],
        **fields,
    )


def daemon(name, classname):
    return daemon_context_entry(process_name=name, classname=classname, present_on_boxes=[".*"])


process_context = {
    "Scheduler": daemon("Scheduler", "synergy.scheduler.scheduler.Scheduler.start"),
    "LimitedHourly": hanging("LimitedHourly", Spins, "limited", timeout="2s"),
    "EndlessHourly": hanging("EndlessHourly", Hangs, "endless"),
}
timetable_context = {
    "limited": timetable_tree_entry(tree_name="limited", enclosed_processes=["LimitedHourly"]),
    "endless": timetable_tree_entry(tree_name="endless", enclosed_processes=["EndlessHourly"]),
}
schedule_context: dict[str, object] = {}
