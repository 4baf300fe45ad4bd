"""Trees whose periods fail, with `OSError` or exit code 3, while a file exists.

The file is named after the process and the timeperiod, and lies in the folder that
`SYNERGY_TEST_FAILURES` names.
"""

import os
from pathlib import Path

from synergy.config.context import (
    BLOCKING_CHILDREN,
    QUALIFIER_DAILY,
    QUALIFIER_HOURLY,
    QUALIFIER_MONTHLY,
    STATE_MACHINE_CONTINUOUS,
    timetable_tree_entry,
)
from synergy.worker import Outcome, Processed, Task, Worker
from tests.acceptance.deployments import short_limits
from tests.acceptance.deployments.entries import a_daemon, a_process

short_limits.shorten_leases()
short_limits.shorten("synergy.scheduler.late_data", QUIET_SECONDS=1.0, TOGETHER_SECONDS=0.5)

FAILURES = os.environ.get("SYNERGY_TEST_FAILURES", "")
FAIL_IF_FILE_EXISTS = 'if [ -e "$$0" ]; then echo "no such disk" >&2; exit 3; fi'


class Adder(Worker):
    """Writes one row with the number of rows of the period; fails while its file exists."""

    unique_by = ("domain",)

    def work(self, task: Task) -> Outcome:
        if Path(FAILURES, f"{task.unit.process}-{task.timeperiod}").exists():
            raise OSError("no such disk")
        total = sum(int(str(row["rows"])) for row in task.source)
        task.sink.replace(task.timeperiod, [{"domain": "d", "rows": total}])
        return Processed({"rows": total})


def an_adder(name, qualifier, source, sink, **fields):
    classname = "tests.acceptance.deployments.failing.Adder.start"
    return a_process(name, qualifier, classname=classname, source=source, sink=sink, **fields)


def a_program(name, **fields):
    failure = f"{FAILURES}/{name}-${{timeperiod}}"
    return a_process(
        name,
        QUALIFIER_DAILY,
        command=["sh", "-c", FAIL_IF_FILE_EXISTS, failure],
        max_attempts=1,
        **fields,
    )


def a_tree(name, *processes):
    return timetable_tree_entry(tree_name=name, enclosed_processes=list(processes), dependent_on=[])


process_context = {
    "Scheduler": a_daemon("Scheduler", "synergy.scheduler.scheduler.Scheduler.start"),
    "Agent": a_daemon("Agent", "synergy.agent.agent.Agent.start"),
    "Month": an_adder("Month", QUALIFIER_MONTHLY, "day", "month", blocking_type=BLOCKING_CHILDREN),
    "Day": an_adder("Day", QUALIFIER_DAILY, "hour", "day", blocking_type=BLOCKING_CHILDREN),
    "Hour": an_adder("Hour", QUALIFIER_HOURLY, "raw", "hour"),
    "Stream": an_adder(
        "Stream", QUALIFIER_HOURLY, "events", "stream", late_data="mark", refresh="1s",
        state_machine_name=STATE_MACHINE_CONTINUOUS,
    ),
    "Nightly": a_program("Nightly"),
    "Careless": a_program("Careless", on_failure="skip"),
}  # fmt: skip
timetable_context = {
    "sums": a_tree("sums", "Month", "Day", "Hour"),
    "stream": a_tree("stream", "Stream"),
    "nightly": a_tree("nightly", "Nightly"),
    "careless": a_tree("careless", "Careless"),
}
schedule_context: dict[str, object] = {}
