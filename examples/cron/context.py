"""Programs that run at times of the day. Those of the crontab are in `crontabs/`, once imported."""

from synergy.config.context import (
    cron,
    daemon_context_entry,
    freerun_context_entry,
    schedule_context_entry,
)

EVERY_BOX = [".*"]

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
    # `${timeperiod}` is the due time of the run in UTC, however late the run is.
    "Digest": freerun_context_entry(
        process_name="Digest",
        command=["sh", "programs/digest.sh", "${timeperiod}", "${home}/digests"],
        present_on_boxes=EVERY_BOX,
    ),
}

timetable_context: dict[str, object] = {}

schedule_context = {
    "digest": schedule_context_entry(
        schedule_name="digest",
        process="Digest",
        trigger=cron("30 2 * * *"),
        zone="Europe/Berlin",
    ),
}
