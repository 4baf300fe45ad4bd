"""Programs instead of Python workers, and a request when a day is done."""

import os
import sys

from synergy.config.context import (
    BLOCKING_CHILDREN,
    QUALIFIER_DAILY,
    QUALIFIER_HOURLY,
    daemon_context_entry,
    freerun_context_entry,
    managed_context_entry,
    schedule_context_entry,
    timetable,
    timetable_tree_entry,
    webhook,
)

EVERY_BOX = [".*"]
RECEIVER_PORT = os.environ.get("RECEIVER_PORT", "8099")

process_context = {
    "Scheduler": daemon_context_entry(
        process_name="Scheduler",
        classname="synergy.scheduler.scheduler.Scheduler.start",
        present_on_boxes=EVERY_BOX,
    ),
    "Agent": daemon_context_entry(
        process_name="Agent",
        classname="synergy.agent.agent.Agent.start",
        present_on_boxes=EVERY_BOX,
    ),
    "MX": daemon_context_entry(
        process_name="MX",
        classname="synergy.mx.server.MX.start",
        present_on_boxes=EVERY_BOX,
    ),
    # A shell script; its exit code 99 says that there was nothing to do.
    "CountHourly": managed_context_entry(
        process_name="CountHourly",
        command=["sh", "programs/count.sh", "${timeperiod}", "${home}/counts"],
        time_qualifier=QUALIFIER_HOURLY,
        trigger_frequency="every 60",
        present_on_boxes=EVERY_BOX,
    ),
    "SumDaily": managed_context_entry(
        process_name="SumDaily",
        command=[sys.executable, "programs/sum.py", "${start}", "${end}", "${home}/counts"],
        time_qualifier=QUALIFIER_DAILY,
        blocking_type=BLOCKING_CHILDREN,
        trigger_frequency="every 60",
        present_on_boxes=EVERY_BOX,
    ),
    # Fails at its first attempt, and is tried again a second later.
    "Publish": freerun_context_entry(
        process_name="Publish",
        command=[sys.executable, "programs/publish.py", "--copy-to=${home}/published"],
        max_attempts=2,
        retry_backoff="1s",
        present_on_boxes=EVERY_BOX,
    ),
    # Fails until there is a folder, which Synergy cannot know.
    "Backup": freerun_context_entry(
        process_name="Backup",
        command=["sh", "programs/backup.sh", "${home}/disk"],
        present_on_boxes=EVERY_BOX,
    ),
}

timetable_context = {
    "counts": timetable_tree_entry(
        tree_name="counts", enclosed_processes=["SumDaily", "CountHourly"]
    ),
}

schedule_context = {
    "day-is-done": schedule_context_entry(
        schedule_name="day-is-done",
        trigger=timetable("SumDaily", ["processed"]),
        **webhook(
            f"http://127.0.0.1:{RECEIVER_PORT}/days",
            {"day": "${timeperiod}", "state": "${state}"},
        ),
    ),
}
