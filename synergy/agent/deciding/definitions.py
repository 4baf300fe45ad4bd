"""Definitions of schedules, read once for each version.

Reading what people wrote costs more than deciding about it, and a schedule is decided about at
each of its due times. Only those that were needed lately are kept: a hundred thousand schedules
at rest are none.
"""

from __future__ import annotations

from collections import OrderedDict
from datetime import datetime

from synergy.model.process import Deployment
from synergy.model.schedule import Schedule
from synergy.schedule.definition import Definition
from synergy.schedule.format.read import Known, read

KEPT = 10_000


class Definitions:
    """What rows of schedules mean in this deployment."""

    def __init__(self, deployment: Deployment) -> None:
        # Targets and headers were checked when they were stored, and are again when they are used.
        self._known = Known(deployment.processes)
        self._kept: OrderedDict[tuple[str, int, datetime], Definition] = OrderedDict()

    def of(self, schedule: Schedule) -> Definition:
        """Raises InvalidValue, with the reason, for what cannot be carried out (any more)."""
        # The name may have been another schedule's that was removed.
        key = (schedule.name, schedule.version, schedule.created_at)
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
            return found
        definition = self._kept[key] = read(schedule.definition, self._known)
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return definition
