"""A cache of parsed definitions of schedules, one for each version.

Parsing a definition costs more than deciding about it, and a schedule is decided about at each of
its due times. Only recently used definitions are kept: schedules at rest take no memory.
"""

from __future__ import annotations

from collections import OrderedDict
from datetime import datetime

from synergy.model.process import Deployment
from synergy.model.schedule import Schedule
from synergy.schedule.check_context import Known
from synergy.schedule.definition import Definition
from synergy.schedule.format.read import read

KEPT = 10_000


class Definitions:
    """The definitions of stored schedules in this deployment."""

    def __init__(self, deployment: Deployment) -> None:
        # Targets and headers are checked when they are stored and when they are used, not here.
        self._known = Known(deployment.processes)
        self._kept: OrderedDict[tuple[str, int, datetime], Definition] = OrderedDict()

    def of(self, schedule: Schedule) -> Definition:
        """The definition; raises InvalidValue, with the reason, if it cannot be carried out."""
        # The creation time is in the key because a removed schedule's name may be used again.
        key = (schedule.name, schedule.version, schedule.created_at)
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
            return found
        definition = self._kept[key] = read(schedule.definition, self._known)
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return definition
