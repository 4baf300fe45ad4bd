"""Small trees of commands with a waiting period for each kind of reason.

A command fails while the folder that `SYNERGY_TEST_FAILURES` names has a file `PROCESS-TIMEPERIOD`;
it prints the file's text on standard error.
"""

import os

from synergy.config.context import (
    BLOCKING_CHILDREN,
    BLOCKING_DEPENDENCIES,
    QUALIFIER_DAILY,
    QUALIFIER_HOURLY,
    daemon_context_entry,
    managed_context_entry,
    timetable_tree_entry,
)

FAILURES = os.environ.get("SYNERGY_TEST_FAILURES", "")
FAIL_IF_FILE_EXISTS = 'if [ -e "$$0" ]; then cat "$$0" >&2; exit 3; fi'


def a_process(name, qualifier=QUALIFIER_HOURLY, **fields):
    """A process whose command does nothing, or fails while its file exists."""
    failure = f"{FAILURES}/{name}-${{timeperiod}}"
    return managed_context_entry(
        **{
            "process_name": name,
            "time_qualifier": qualifier,
            "command": ["sh", "-c", FAIL_IF_FILE_EXISTS, failure],
            "trigger_frequency": "every 60",
            "settle": "0s",
            "retry_backoff": "1h",
            "present_on_boxes": [".*"],
            **fields,
        }
    )


def a_tree(name, *processes, dependent_on=()):
    return timetable_tree_entry(
        tree_name=name, enclosed_processes=list(processes), dependent_on=list(dependent_on)
    )


process_context = {
    "Scheduler": daemon_context_entry(
        process_name="Scheduler",
        classname="synergy.scheduler.scheduler.Scheduler.start",
        present_on_boxes=[".*"],
    ),
    "InboxDaily": a_process("InboxDaily", QUALIFIER_DAILY, blocking_type=BLOCKING_CHILDREN),
    "InboxHourly": a_process("InboxHourly"),
    "MailHourly": a_process("MailHourly", blocking_type=BLOCKING_DEPENDENCIES),
    "FlakyHourly": a_process("FlakyHourly", retry_backoff="0s", max_attempts=3),
    "SettlingHourly": a_process("SettlingHourly", settle="7d"),
    "ElsewhereHourly": a_process("ElsewhereHourly", present_on_boxes=["another-box"]),
    "RestingHourly": a_process("RestingHourly", is_on=False),
}
timetable_context = {
    "inbox": a_tree("inbox", "InboxDaily", "InboxHourly"),
    "mail": a_tree("mail", "MailHourly", dependent_on=["inbox"]),
    "flaky": a_tree("flaky", "FlakyHourly"),
    "settling": a_tree("settling", "SettlingHourly"),
    "elsewhere": a_tree("elsewhere", "ElsewhereHourly"),
    "resting": a_tree("resting", "RestingHourly"),
}
schedule_context: dict[str, object] = {}
