"""The timetable as the store has it."""

from __future__ import annotations

from datetime import datetime

from synergy.errors import Refused
from synergy.model.process import Deployment
from synergy.names import TIMETABLE_START
from synergy.storage.protocol import StoreView
from synergy.timetable.timetable import Timetable


def load_timetable(store: StoreView, deployment: Deployment, now: datetime) -> Timetable:
    """Reads the states of all jobs. Raises Refused if the timetable has no start yet."""
    start = store.facts.get(TIMETABLE_START)
    if start is None:
        raise Refused("the timetable has no start yet: start the supervisor once")
    timetable = Timetable(deployment, start, now)
    timetable.load(store.jobs.load())
    return timetable
