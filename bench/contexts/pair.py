"""Two trees; the second depends on the first."""

from __future__ import annotations

from bench.contexts.parts import managed, scheduler, tree
from synergy.config.context import BLOCKING_DEPENDENCIES

FIRST = "First"
SECOND = "Second"

process_context = {
    **scheduler(),
    **managed(FIRST),
    **managed(SECOND, blocking_type=BLOCKING_DEPENDENCIES),
}
timetable_context = {**tree("first", [FIRST]), **tree("second", [SECOND], ["first"])}
