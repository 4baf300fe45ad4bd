"""A hundred hourly processes, each with a daily parent, and a process that measures."""

from __future__ import annotations

from bench.contexts.parts import daemon, managed, tree
from synergy.config.context import BLOCKING_CHILDREN, QUALIFIER_DAILY, Entry

PROBE = "Probe"
WIDTH = 100
HOURLY = [f"Hourly{number}" for number in range(WIDTH)]
DAILY = [f"Daily{number}" for number in range(WIDTH)]

process_context = daemon(PROBE, "bench.timetable.Probe.start")
timetable_context: dict[str, Entry] = {}
for _hourly, _daily in zip(HOURLY, DAILY, strict=True):
    process_context |= managed(_hourly)
    process_context |= managed(
        _daily, time_qualifier=QUALIFIER_DAILY, blocking_type=BLOCKING_CHILDREN
    )
    timetable_context |= tree(_hourly.lower(), [_daily, _hourly])
