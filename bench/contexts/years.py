"""Twenty hourly processes, each with a daily parent; five trees in a row, and MX."""

from __future__ import annotations

from bench.contexts.parts import daemon, managed, tree
from synergy.config.context import QUALIFIER_DAILY, Entry

MX = "MX"
WIDTH = 20
IN_A_ROW = 5  # trees that depend on one another
HOURLY = [f"Hourly{number}" for number in range(WIDTH)]
DAILY = [f"Daily{number}" for number in range(WIDTH)]
TREES = [f"tree{number}" for number in range(WIDTH)]

process_context = daemon(MX, "synergy.mx.server.MX.start")
timetable_context: dict[str, Entry] = {}
for _number, _tree in enumerate(TREES):
    process_context |= managed(HOURLY[_number])
    process_context |= managed(DAILY[_number], time_qualifier=QUALIFIER_DAILY)
    timetable_context |= tree(
        _tree,
        [DAILY[_number], HOURLY[_number]],
        depends=[TREES[_number - 1]] if 0 < _number < IN_A_ROW else [],
    )
