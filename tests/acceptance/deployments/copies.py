"""A small tree of Python workers that a test can hold, and programs that ignore SIGTERM."""

from synergy.config.context import (
    BLOCKING_CHILDREN,
    QUALIFIER_DAILY,
    timetable_tree_entry,
)
from tests.acceptance.deployments import short_limits
from tests.acceptance.deployments.entries import a_daemon, a_process

short_limits.shorten_leases()
short_limits.shorten("synergy.worker.command", GRACE_SECONDS=1.0)
short_limits.shorten("synergy.worker.heartbeat", LAST_WORK_SECONDS=1.0)

COPIER = "tests.acceptance.deployments.gates.Copier.start"
# A program, its child and its grandchild; all of them ignore SIGTERM.
STUBBORN = """trap '' TERM
sh -c 'trap "" TERM; sh -c "trap \\"\\" TERM; sleep 600; exit" & wait' &
wait"""


def hourly(**fields):
    return a_process(
        "CopyHourly", classname=COPIER, source="raw", sink="hours", heartbeat_timeout="2s",
        instances=2, **fields,
    )  # fmt: skip


process_context = {
    "Scheduler": a_daemon("Scheduler", "synergy.scheduler.scheduler.Scheduler.start"),
    "SingleSessionWorker": a_daemon(
        "SingleSessionWorker", "workers.single_session_worker.SingleSessionWorker.start"
    ),
    "CopyDaily": a_process(
        "CopyDaily", QUALIFIER_DAILY, classname=COPIER, source="hours", sink="days",
        blocking_type=BLOCKING_CHILDREN,
    ),
    "CopyHourly": hourly(),
    "StubbornHourly": a_process(
        "StubbornHourly", command=["sh", "-c", STUBBORN], max_active=1, is_on=False
    ),
}  # fmt: skip
timetable_context = {
    "copies": timetable_tree_entry(
        tree_name="copies", enclosed_processes=["CopyDaily", "CopyHourly"]
    ),
    "stubborn": timetable_tree_entry(tree_name="stubborn", enclosed_processes=["StubbornHourly"]),
}
schedule_context: dict[str, object] = {}
