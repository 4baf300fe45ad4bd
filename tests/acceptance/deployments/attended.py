"""The copies, and MX to look at them."""

from tests.acceptance.deployments import copies

_NAMES = ("Scheduler", "CopyDaily")
process_context = {
    **{name: copies.process_context[name] for name in _NAMES},
    # What comes late is left to who starts its hour over: nobody is to do it a second time.
    "CopyHourly": copies.hourly(late_data="ignore"),
    "MX": copies.a_daemon("MX", "synergy.mx.server.MX.start"),
}
timetable_context = {"copies": copies.timetable_context["copies"]}
schedule_context: dict[str, object] = {}
