"""What a run of the garbage collector would do, looked at from aside."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from synergy.lifecycle.reclaim import Observed, Verdict, judge
from synergy.messaging.protocol import BusView
from synergy.model.process import Deployment, WorkingProcess
from synergy.model.switches import is_switched_on
from synergy.model.unit_of_work import UnitOfWork
from synergy.queries.views import PlannedMove
from synergy.runtime import identity
from synergy.storage.protocol import StoreView
from synergy.timetable.timetable import Timetable


def planned(
    store: StoreView,
    bus: BusView,
    deployment: Deployment,
    timetable: Timetable,
    now: datetime,
    *,
    flush: bool,
) -> Iterator[PlannedMove]:
    """As far as one look can tell: a heartbeat that has stopped only shows with time."""
    controls, depths = store.controls.all(), bus.depths()
    for unit in store.units.unfinished():
        process = deployment.processes.get(unit.process)
        if not isinstance(process, WorkingProcess):
            continue
        if not is_switched_on(process, controls.get(unit.process)):
            continue
        seen = Observed(
            silent_for=0.0,
            owner_is_gone=_is_gone(unit.owner),
            queue_is_empty=depths.get(process.queue, 0) == 0,
            superseded=_is_superseded(timetable, unit),
            flush=flush,
        )
        judged = judge(unit, process, seen, now)
        if judged.verdict is not Verdict.LEAVE:
            verdict = judged.verdict.value
            yield PlannedMove(unit.id, unit.process, unit.timeperiod, verdict, judged.why)


def _is_gone(owner: str | None) -> bool:
    found = identity.parse(owner or "")
    return found is not None and found.is_provably_dead


def _is_superseded(timetable: Timetable, unit: UnitOfWork) -> bool:
    place = timetable.places.get(unit.process)
    ordinal = None if place is None else place.level.find(unit.timeperiod)
    if place is None or ordinal is None:
        return False
    level = place.level
    return level.state(ordinal).is_finished or level.generation(ordinal) != unit.generation
