"""Only the tree `sums` of `failing`, with a scheduler and an agent."""

from tests.acceptance.deployments import failing

process_context = {
    name: failing.process_context[name] for name in ("Scheduler", "Agent", "Month", "Day", "Hour")
}
timetable_context = {"sums": failing.timetable_context["sums"]}
schedule_context: dict[str, object] = {}
