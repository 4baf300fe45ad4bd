"""The relation of a unit of work to its job and to the job's other units.

Scheduler, collector, pages and metrics share these answers.
"""

from __future__ import annotations

from collections.abc import Iterable

from synergy.model.job import JobState
from synergy.model.unit_of_work import UnitOfWork, UnitState
from synergy.timetable.timetable import Timetable


def is_superseded(unit: UnitOfWork, state: JobState, generation: int) -> bool:
    """Whether the unit's job is finished, or was started over since the unit was made.

    `state` and `generation` are the job's, as the caller knows them. A unit of a later generation
    is not superseded: another process started the job over, and the caller has not read that yet.
    """
    return unit.generation < generation or (unit.generation == generation and state.is_finished)


def is_superseded_in(timetable: Timetable, unit: UnitOfWork) -> bool:
    """The answer of `is_superseded` for the job in the timetable; False for a unit without one."""
    place = timetable.places.get(unit.process)
    ordinal = None if place is None else place.level.find(unit.timeperiod)
    if place is None or ordinal is None:
        return False
    return is_superseded(unit, place.level.state(ordinal), place.level.generation(ordinal))


def waiting_behind(units: Iterable[UnitOfWork]) -> frozenset[str]:
    """The ids of requested units that wait for the end of a running unit of the same job.

    Units of runs never wait for each other, even if two are due in the same second.
    """
    known = [unit for unit in units if not unit.is_of_run]
    running = {(u.process, u.timeperiod) for u in known if u.state is UnitState.IN_PROGRESS}
    return frozenset(
        unit.id
        for unit in known
        if unit.state is UnitState.REQUESTED and (unit.process, unit.timeperiod) in running
    )
