"""Two trees of commands, one of which depends on the other."""

from tests.acceptance.deployments import waiting

_NAMES = ("Scheduler", "InboxHourly", "MailHourly")

process_context = {name: waiting.process_context[name] for name in _NAMES}
timetable_context = {
    "inbox": waiting.a_tree("inbox", "InboxHourly"),
    "mail": waiting.timetable_context["mail"],
}
schedule_context: dict[str, object] = {}
