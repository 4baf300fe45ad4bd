"""The tree `copies`, and MX."""

from tests.acceptance.deployments import copies

_NAMES = ("Scheduler", "CopyDaily")
process_context = {
    **{name: copies.process_context[name] for name in _NAMES},
    # Tests reprocess hours themselves: late data must not reprocess them a second time.
    "CopyHourly": copies.hourly(late_data="ignore"),
    "MX": copies.a_daemon("MX", "synergy.mx.server.MX.start"),
}
timetable_context = {"copies": copies.timetable_context["copies"]}
schedule_context: dict[str, object] = {}
