"""Python workers, one instance each, whose work on the timetable's first hour never returns."""

import os

from synergy.config.context import (
    QUALIFIER_HOURLY,
    daemon_context_entry,
    managed_context_entry,
    timetable_tree_entry,
)
from synergy.worker import Processed, Task, Worker

START = os.environ.get("SYNERGY_START_TIMEPERIOD", "")


class Hangs(Worker):
    """Writes a row for each hour but the first."""

    def work(self, task: Task) -> Processed:
        while task.timeperiod == START:
            pass
        task.sink.replace(task.timeperiod, [{"domain": "d", "attempt": task.unit.attempt}])
        return Processed()


def hanging(name, sink, **fields):
    return managed_context_entry(
        process_name=name,
        time_qualifier=QUALIFIER_HOURLY,
        classname="tests.acceptance.deployments.hanging.Hangs.start",
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
    "LimitedHourly": hanging("LimitedHourly", "limited", timeout="2s"),
    "EndlessHourly": hanging("EndlessHourly", "endless"),
}
timetable_context = {
    "limited": timetable_tree_entry(tree_name="limited", enclosed_processes=["LimitedHourly"]),
    "endless": timetable_tree_entry(tree_name="endless", enclosed_processes=["EndlessHourly"]),
}
schedule_context: dict[str, object] = {}
