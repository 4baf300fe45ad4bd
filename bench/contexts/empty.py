"""Two hourly processes whose source is an empty collection of the store."""

from __future__ import annotations

from bench.contexts.parts import managed, scheduler, tree
from synergy.config.context import STATE_MACHINE_CONTINUOUS, Entry

PROCESSES = ("Empty1", "Empty2")

process_context = scheduler()
timetable_context: dict[str, Entry] = {}
for _name in PROCESSES:
    process_context |= managed(
        _name,
        source="nothing_there",
        sink=_name.lower(),
        state_machine_name=STATE_MACHINE_CONTINUOUS,
    )
    timetable_context |= tree(_name.lower(), [_name])
