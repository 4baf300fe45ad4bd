"""Agents that tests can kill at a step, and a program that appends a line for each run."""

import os
import sys

from synergy.config.context import daemon_context_entry, freerun_context_entry
from tests.acceptance.deployments import short_limits

HERE = "tests.acceptance.deployments"
EVERY_BOX = [".*"]
AGENTS = int(os.environ.get("SYNERGY_TEST_AGENTS", "2"))
STAMPS = os.environ.get("SYNERGY_TEST_STAMPS", "stamps")
_STAMP = "import os, sys; open(sys.argv[1], 'a').write(' '.join(sys.argv[2:]) + chr(10))"

AGENT = "Agent"
STAMP = "Stamp"

short_limits.shorten_leases()
short_limits.shorten("synergy.agent.delivering.outbox", SWEEP_SECONDS=5.0)

process_context = {
    "Scheduler": daemon_context_entry(
        process_name="Scheduler",
        classname="synergy.scheduler.scheduler.Scheduler.start",
        present_on_boxes=EVERY_BOX,
    ),
    AGENT: daemon_context_entry(
        process_name=AGENT,
        classname=f"{HERE}.mortal_agent.MortalAgent.start",
        instances=AGENTS,
        present_on_boxes=EVERY_BOX,
    ),
    STAMP: freerun_context_entry(
        process_name=STAMP,
        command=[sys.executable, "-c", _STAMP, STAMPS, "${run}", "${timeperiod}", "${word}"],
        arguments={"word": "none"},
        present_on_boxes=EVERY_BOX,
    ),
}
timetable_context = {}
schedule_context = {}
