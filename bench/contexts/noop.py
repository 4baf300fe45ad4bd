"""One hourly process that does nothing, with two workers and many periods in flight."""

from __future__ import annotations

from bench.contexts.parts import managed, scheduler, tree

PROCESS = "NoOp"

process_context = {**scheduler(), **managed(PROCESS, max_active=512, instances=2)}
timetable_context = tree("noop", [PROCESS])
