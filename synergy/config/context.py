"""The names that `context.py` is written with.

`context.py` declares the deployment in plain Python: `process_context`, `timetable_context`
and `schedule_context` are dictionaries whose values the functions here make. They only keep
what they are given; `config.loader` checks all of it at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

QUALIFIER_HOURLY = "hourly"
QUALIFIER_DAILY = "daily"
QUALIFIER_MONTHLY = "monthly"
QUALIFIER_YEARLY = "yearly"

STATE_MACHINE_DISCRETE = "discrete"
STATE_MACHINE_CONTINUOUS = "continuous"

BLOCKING_NORMAL = "normal"
BLOCKING_DEPENDENCIES = "dependencies"
BLOCKING_CHILDREN = "children"


@dataclass(frozen=True)
class Entry:
    """What was written, unchecked: the kind of entry and its fields."""

    kind: str
    fields: dict[str, Any]


def managed_context_entry(**fields: Any) -> Entry:
    """A process of the timetable; its fields are listed in `docs/context.md`."""
    return Entry("managed", fields)


def daemon_context_entry(**fields: Any) -> Entry:
    """A process that always runs."""
    return Entry("daemon", fields)


def timetable_tree_entry(**fields: Any) -> Entry:
    """A tree of managed processes."""
    return Entry("tree", fields)
