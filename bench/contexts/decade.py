"""One tree from years down to hours, and MX."""

from __future__ import annotations

from bench.contexts.parts import daemon, managed, tree
from synergy.config.context import (
    QUALIFIER_DAILY,
    QUALIFIER_HOURLY,
    QUALIFIER_MONTHLY,
    QUALIFIER_YEARLY,
    Entry,
)

MX = "MX"
TREE = "decade"
PROCESSES = {
    "Yearly": QUALIFIER_YEARLY,
    "Monthly": QUALIFIER_MONTHLY,
    "Daily": QUALIFIER_DAILY,
    "Hourly": QUALIFIER_HOURLY,
}

process_context = daemon(MX, "synergy.mx.server.MX.start")
for _name, _qualifier in PROCESSES.items():
    process_context |= managed(_name, time_qualifier=_qualifier)
timetable_context: dict[str, Entry] = tree(TREE, list(PROCESSES))
