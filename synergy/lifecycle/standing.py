"""How a unit of work stands to its job and to the job's other units.

The scheduler, the collector, the pages and the metrics ask the same questions here.
"""

from __future__ import annotations

from collections.abc import Iterable

from synergy.model.job import JobState
from synergy.model.unit_of_work import UnitOfWork, UnitState
from synergy.timetable.timetable import Timetable


def is_superseded(unit: UnitOfWork, state: JobState, generation: int) -> bool:
    """Whether the unit's job is finished, or was started over since the unit was made.

    `state` and `generation` are the job's. A unit of a later generation is not superseded: its
    job was started over by another process, and that is not known here yet.
    """
    return unit.generation < generation or (unit.generation == generation and state.is_finished)


def is_superseded_in(timetable: Timetable, unit: UnitOfWork) -> bool:
    """The same of the job that the timetable knows; False for a unit of no job."""
    place = timetable.places.get(unit.process)
    ordinal = None if place is None else place.level.find(unit.timeperiod)
    if place is None or ordinal is None:
        return False
    return is_superseded(unit, place.level.state(ordinal), place.level.generation(ordinal))


def waiting_behind(units: Iterable[UnitOfWork]) -> frozenset[str]:
    """The ids of requested units that no worker may take before another of their job has ended.

    Units of runs stand side by side, even where two are due in the same second.
    """
    known = [unit for unit in units if not unit.is_of_run]
    running = {(u.process, u.timeperiod) for u in known if u.state is UnitState.IN_PROGRESS}
    return frozenset(
        unit.id
        for unit in known
        if unit.state is UnitState.REQUESTED and (unit.process, unit.timeperiod) in running
    )
