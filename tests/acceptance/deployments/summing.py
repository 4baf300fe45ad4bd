"""The sums of what fails when it is told to, and an agent, without what is beside them."""

from tests.acceptance.deployments import failing

process_context = {
    name: failing.process_context[name] for name in ("Scheduler", "Agent", "Month", "Day", "Hour")
}
timetable_context = {"sums": failing.timetable_context["sums"]}
schedule_context: dict[str, object] = {}
