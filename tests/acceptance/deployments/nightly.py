"""Forty commands in the pool: most are short, and three are not.

`Hangs` has a timeout, `Canceled` waits to be canceled, and `Killed` waits while there is a file
`gate` in the home.
"""

from synergy.config.context import freerun_context_entry
from tests.acceptance.deployments.entries import a_daemon

SHORT = tuple(f"Night{number:02}" for number in range(37))


def command(name, script, **fields):
    return freerun_context_entry(
        process_name=name,
        command=["sh", "-c", script, "sh", "${home}", "${run}"],
        present_on_boxes=[".*"],
        **fields,
    )


process_context = {
    "Scheduler": a_daemon("Scheduler", "synergy.scheduler.scheduler.Scheduler.start"),
    "Agent": a_daemon("Agent", "synergy.agent.agent.Agent.start"),
    "Hangs": command("Hangs", "sleep 4321", timeout="1s"),
    "Canceled": command("Canceled", "sleep 4321"),
    "Killed": command(
        "Killed",
        "while [ -e $$1/gate ]; do sleep 0.1; done; echo $$2 >> $$1/ran",
        max_attempts=2,
        retry_backoff="0s",
    ),
    **{name: command(name, "echo $$2 >> $$1/ran") for name in SHORT},
}
timetable_context: dict[str, object] = {}
