"""Processes that print and repeat every secret that they can find, and then fail."""

import os
import sys

from synergy.config.context import freerun_context_entry
from synergy.worker import Task, Worker
from tests.acceptance.deployments.entries import a_daemon

TOLD = "env; echo $$AWS_SECRET_ACCESS_KEY >&2; cat $$SYNERGY_HOME/mx/token >&2; env >&2; exit 3"


UNKNOWN = "REPORTS_DSN"  # a secret that nothing shows to be one, for another program


class Talker(Worker):
    """Prints its environment, logs it, and fails with it."""

    def work(self, task: Task) -> None:
        known = {name: value for name, value in os.environ.items() if name != UNKNOWN}
        sys.stdout.write(f"{known}\n")
        sys.stderr.write("\n".join(known.values()) + "\n")
        for name, value in known.items():
            task.log.warning("%s is %s", name, value, extra={"value": value})
        raise RuntimeError(" ".join(known.values()))


def a_program(name, **fields):
    return freerun_context_entry(process_name=name, present_on_boxes=[".*"], **fields)


process_context = {
    "Scheduler": a_daemon("Scheduler", "synergy.scheduler.scheduler.Scheduler.start"),
    "Agent": a_daemon("Agent", "synergy.agent.agent.Agent.start"),
    "MX": a_daemon("MX", "synergy.mx.server.MX.start"),
    "Trusted": a_program(
        "Trusted",
        command=["sh", "-c", TOLD],
        environment=["AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "SYNERGY_WEBHOOK_SECRETS"],
    ),
    "Untrusted": a_program("Untrusted", command=["sh", "-c", TOLD]),
    "Talker": a_program("Talker", classname="tests.acceptance.deployments.talkative.Talker.start"),
}
timetable_context: dict[str, object] = {}
schedule_context: dict[str, object] = {}
