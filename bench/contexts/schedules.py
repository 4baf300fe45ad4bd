"""One agent, and a free-run process whose queue the bench itself reads."""

from __future__ import annotations

from bench.contexts.parts import EVERY_BOX, daemon
from synergy.config.context import Entry, freerun_context_entry

AGENT = "Agent"
SINK = "Sink"

process_context = {
    **daemon(AGENT, "synergy.agent.agent.Agent.start"),
    SINK: freerun_context_entry(
        process_name=SINK,
        classname="bench.workers.NoOp.start",
        present_on_boxes=EVERY_BOX,
    ),
}
timetable_context: dict[str, Entry] = {}
schedule_context: dict[str, Entry] = {}
