"""The parts of the benches' deployments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from synergy.config.context import (
    QUALIFIER_HOURLY,
    Entry,
    daemon_context_entry,
    managed_context_entry,
    timetable_tree_entry,
)

SCHEDULER = "Scheduler"
EVERY_BOX = [".*"]


def daemon(name: str, classname: str) -> dict[str, Entry]:
    """A process that always runs."""
    return {
        name: daemon_context_entry(
            process_name=name, classname=classname, present_on_boxes=EVERY_BOX
        )
    }


def scheduler() -> dict[str, Entry]:
    """The scheduler."""
    return daemon(SCHEDULER, "synergy.scheduler.scheduler.Scheduler.start")


def managed(name: str, **fields: Any) -> dict[str, Entry]:
    """A managed process; hourly and without work, unless `fields` override that."""
    given = {
        "classname": "bench.workers.NoOp.start",
        "time_qualifier": QUALIFIER_HOURLY,
        "trigger_frequency": "every 3600",
        "present_on_boxes": EVERY_BOX,
        **fields,
    }
    return {name: managed_context_entry(process_name=name, **given)}


def tree(name: str, processes: Sequence[str], depends: Sequence[str] = ()) -> dict[str, Entry]:
    """A tree, from coarse to fine."""
    return {
        name: timetable_tree_entry(
            tree_name=name, enclosed_processes=list(processes), dependent_on=list(depends)
        )
    }
