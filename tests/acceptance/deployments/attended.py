"""The copies, and MX to look at them."""

from tests.acceptance.deployments import copies

_NAMES = ("Scheduler", "CopyDaily", "CopyHourly")
process_context = {
    **{name: copies.process_context[name] for name in _NAMES},
    "MX": copies.a_daemon("MX", "synergy.mx.server.MX.start"),
}
timetable_context = {"copies": copies.timetable_context["copies"]}
schedule_context: dict[str, object] = {}
