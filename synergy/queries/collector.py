"""What a run of the garbage collector would do, looked at from aside."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from synergy.lifecycle.reclaim import Observed, Verdict, judge
from synergy.lifecycle.standing import is_superseded_in, waiting_behind
from synergy.messaging.protocol import BusView
from synergy.model.process import Deployment, WorkingProcess
from synergy.model.switches import is_switched_on
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
    units = store.units.unfinished()
    behind = waiting_behind(units)
    for unit in units:
        process = deployment.processes.get(unit.process)
        if not isinstance(process, WorkingProcess):
            continue
        if not is_switched_on(process, controls.get(unit.process)):
            continue
        is_superseded = is_superseded_in(timetable, unit)
        if unit.id in behind and not is_superseded:
            continue
        seen = Observed(
            silent_for=0.0,
            owner_is_gone=_is_gone(unit.owner),
            queue_is_empty=depths.get(process.queue, 0) == 0,
            superseded=is_superseded,
            flush=flush,
        )
        judged = judge(unit, process, seen, now)
        if judged.verdict is not Verdict.LEAVE:
            verdict = judged.verdict.value
            yield PlannedMove(unit.id, unit.process, unit.timeperiod, verdict, judged.why)


def _is_gone(owner: str | None) -> bool:
    found = identity.parse(owner or "")
    return found is not None and found.is_provably_dead
