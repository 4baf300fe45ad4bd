"""A small tree without gates whose limits are short, to be disturbed."""

from synergy.config.context import BLOCKING_CHILDREN, QUALIFIER_DAILY, timetable_tree_entry
from tests.acceptance.deployments import short_limits
from tests.acceptance.deployments.entries import a_daemon, a_process

short_limits.shorten_leases()
short_limits.shorten("synergy.scheduler.late_data", QUIET_SECONDS=1.0, TOGETHER_SECONDS=0.5)

SUMMING = "tests.acceptance.deployments.gates.Copier.start"
_LIMITS = {"classname": SUMMING, "heartbeat_timeout": "3s", "max_attempts": 50}

process_context = {
    "Scheduler": a_daemon("Scheduler", "synergy.scheduler.scheduler.Scheduler.start"),
    "SumDaily": a_process(
        "SumDaily",
        QUALIFIER_DAILY,
        source="hours",
        sink="days",
        blocking_type=BLOCKING_CHILDREN,
        **_LIMITS,
    ),
    "SumHourly": a_process("SumHourly", source="raw", sink="hours", instances=2, **_LIMITS),
}
timetable_context = {
    "sums": timetable_tree_entry(tree_name="sums", enclosed_processes=["SumDaily", "SumHourly"])
}
schedule_context: dict[str, object] = {}
