"""The garbage collector: its last runs, and the moves that it would make now."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from synergy.lifecycle.reclaim import Observed, Verdict, judge
from synergy.lifecycle.superseded_units import is_superseded_in, waiting_behind
from synergy.messaging.protocol import BusView
from synergy.model.journal import JournalEntry
from synergy.model.journal_event import JournalEvent
from synergy.model.process import Deployment, WorkingProcess
from synergy.model.switches import is_switched_on
from synergy.queries.processes.states import by_process
from synergy.queries.views import CollectorView, PlannedMove
from synergy.runtime import identity
from synergy.runtime.shared_parts import COLLECTOR, is_led
from synergy.storage.protocol import ReadableJournal, StoreView
from synergy.timetable.timetable import Timetable

RUNS = 10  # runs of the collector that are shown
RECENT = 1000  # entries of no process that are searched for those runs


def collector_view(store: StoreView) -> CollectorView:
    """The collector with its last runs and the unfinished units."""
    recent = store.journal.find("", RECENT)
    runs = [entry for entry in recent if entry.event == JournalEvent.COLLECTION_RAN]
    return CollectorView(is_led(store, COLLECTOR), by_process(store), tuple(runs[:RUNS]))


def collector_run_after(
    journal: ReadableJournal, seq: int, process: str
) -> tuple[JournalEntry | None, int]:
    """The first run after the journal entry `seq`, if any, and the number to continue after."""
    while entries := journal.since(seq, RECENT):
        seq = entries[-1].seq
        for entry in entries:
            if (entry.event, entry.process) == (JournalEvent.COLLECTION_RAN, process):
                return entry, seq
    return None, seq


def planned_moves(
    store: StoreView,
    bus: BusView,
    deployment: Deployment,
    timetable: Timetable,
    now: datetime,
    *,
    flush: bool,
) -> Iterator[PlannedMove]:
    """The moves, as far as one snapshot shows: a stopped heartbeat only shows with time."""
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
