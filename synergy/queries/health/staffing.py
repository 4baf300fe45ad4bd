"""The workers of processes: which are running, and what they are busy with."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from synergy.lifecycle.superseded_units import waiting_behind
from synergy.model.journal_event import JournalEvent
from synergy.model.pool import most_members
from synergy.model.process import Deployment, WorkingProcess
from synergy.model.switches import is_switched_on
from synergy.model.unit_of_work import UnitOfWork, UnitState
from synergy.names import POOL
from synergy.queries.timetable import remedies
from synergy.queries.timetable.remedies import Remedy, api_path
from synergy.runtime import identity
from synergy.storage.protocol import StoreView

LIMIT = timedelta(minutes=5)  # how long units may wait without a running worker
NAMED = 3  # units that workers are busy with; the others are counted
_PAGE, _SEARCHED = 200, 1000  # entries of the journal that are searched for the last claim


@dataclass(frozen=True, slots=True)
class Serving:
    """The workers of a process at one moment.

    `running` counts the workers that were seen running; `busy` are their units, oldest claim first,
    empty unless all of them are busy. `text` is for people, `helps` are the remedies.
    """

    running: int
    busy: tuple[UnitOfWork, ...]
    text: str
    helps: tuple[Remedy, ...]


@dataclass(frozen=True, slots=True)
class Unserved:
    """A process with `waiting` units; no worker has taken a unit of the process since `since`.

    `busy` are the units that its workers are busy with; none if no worker runs, or if the running
    ones take nothing. `unit` is the first that waits, if the context has no such process.
    """

    process: str
    waiting: int
    since: datetime
    busy: tuple[str, ...]
    reason: str
    helps: tuple[Remedy, ...]
    unit: str = ""

    @property
    def path(self) -> str:
        """The path in the API of what there is to look at."""
        return api_path("units", self.unit) if self.unit else api_path("processes", self.process)


class Staff:
    """The workers of all processes in one snapshot of the store."""

    def __init__(self, store: StoreView, now: datetime) -> None:
        self._now = now
        self._silent = {box.id for box in store.boxes.all() if box.is_silent(now)}
        self._assignments = store.boxes.assignments()
        self._observed = store.boxes.observed()

    def of(self, process: WorkingProcess, held: Sequence[UnitOfWork]) -> Serving:
        """The workers of a process whose units `held` are in progress.

        Of a process that the pools serve, they are the members that may work for it at once.
        """
        name, running = process.name, self._running(process)
        busy = sorted((unit for unit in held if self._may_live(unit, running)), key=_claimed)
        if busy and len({unit.owner for unit in busy}) >= running:
            return Serving(running, tuple(busy), *_all_busy(name, busy))
        if running:
            text = f"{running} of {name} seen running"
            if process.is_pooled:
                text = f"the pool is seen running, of which {name} may have {running} at once"
            return Serving(running, (), text, (remedies.LOOK_AT_QUEUES,))
        why, help_ = self._no_worker(process)
        return Serving(0, (), f"it has no worker: 0 of {name} seen running, {why}", help_)

    def _running(self, process: WorkingProcess) -> int:
        """How many workers of the process were seen running."""
        worker = POOL if process.is_pooled else process.name
        here = self._boxes_of(process) if process.is_pooled else None
        slots, up = Counter[str](), Counter[str]()
        for seen in self._observed:
            if seen.process == worker and (here is None or seen.box in here):
                slots[seen.box] += 1
                up[seen.box] += seen.state == "running" and seen.box not in self._silent
        if not process.is_pooled:
            return up.total()
        return sum(min(up[box], most_members(process, slots[box])) for box in up)

    def _boxes_of(self, process: WorkingProcess) -> set[str]:
        """The boxes where the process is switched on."""
        return {one.box for one in self._assignments if one.process == process.name and one.is_on}

    def _may_live(self, unit: UnitOfWork, running: int) -> bool:
        """Whether the unit's worker may be running, as far as this machine can tell."""
        owner = identity.parse(unit.owner or "")
        if owner is None or not owner.is_local:
            return running > 0
        return not owner.is_provably_dead

    def _no_worker(self, process: WorkingProcess) -> tuple[str, tuple[Remedy, ...]]:
        """Why no worker of the process runs, and the remedies."""
        name = process.name
        places = [place for place in self._assignments if place.process == name]
        on = [place.box for place in places if place.is_on]
        if not places:
            return "no box has it", (remedies.start(name, None),)
        if not on:
            off = [place.box for place in places]
            there = next((box for box in off if box not in self._silent), None)
            return f"switched off on {_list(off)}", (remedies.start(name, there),)
        reporting = [box for box in on if box not in self._silent]
        if not reporting:
            return f"no report from {_list(on)}", remedies.SUPERVISE
        worker = POOL if process.is_pooled else name
        seen = [one for one in self._observed if one.process == worker and one.box in reporting]
        what = "the pool is " if process.is_pooled else ""
        states = sorted({f"{what}{one.state} on {one.box}" for one in seen})
        return _list(states) or f"not started on {_list(reporting)}", remedies.SUPERVISE[:1]


def unserved(
    store: StoreView, deployment: Deployment, now: datetime, limit: timedelta = LIMIT
) -> list[Unserved]:
    """The processes with waiting units of which no worker has taken any for too long.

    Too long is `limit` if no worker of the process runs, and else `resubmit_after`, the time after
    which a message that no worker picked up is sent again: workers may have much to do.
    """
    units = store.units.unfinished()
    waiting, held = _waiting(units, now), _by_process(units, UnitState.IN_PROGRESS)
    if not waiting:
        return []
    staff, controls = Staff(store, now), store.controls.all()
    found: list[Unserved] = []
    for name, process in deployment.processes.items():
        wait = waiting.get(name, [])
        if not wait or not isinstance(process, WorkingProcess):
            continue
        serving = staff.of(process, held.get(name, []))
        longest = timedelta(seconds=process.resubmit_after) if serving.running else limit
        since = min(max(unit.created_at, unit.not_before or unit.created_at) for unit in wait)
        if now - since < longest:
            continue
        since = max(since, _last_claim(store, name, since))
        if now - since >= longest:
            is_on = is_switched_on(process, controls.get(name))
            reason = serving.text if is_on else f"switched off; {serving.text}"
            help_ = serving.helps if is_on else (remedies.switch_on(name), *serving.helps)
            busy = tuple(unit.id for unit in serving.busy)
            found.append(Unserved(name, len(wait), since, busy, reason, help_))
    gone = waiting.keys() - deployment.processes.keys()
    return [*found, *_gone(store, {name: waiting[name] for name in sorted(gone)}, now - limit)]


def _gone(
    store: StoreView, waiting: Mapping[str, Sequence[UnitOfWork]], before: datetime
) -> Iterator[Unserved]:
    """The processes that were taken out of the context while runs of them waited."""
    for name, units in waiting.items():
        launched = {run.id for run in store.runs.get([unit.id for unit in units])}
        wait = sorted((unit for unit in units if unit.id in launched), key=_created)
        if wait and wait[0].created_at <= before:
            helps = tuple(remedies.cancel(unit.id, unit.timeperiod) for unit in wait[:NAMED])
            reason = "context.py has no such process any more"
            first = wait[0]
            yield Unserved(name, len(wait), first.created_at, (), reason, helps, first.id)


def _created(unit: UnitOfWork) -> datetime:
    return unit.created_at


def _waiting(units: Sequence[UnitOfWork], now: datetime) -> Mapping[str, list[UnitOfWork]]:
    """The units by process that a worker could take now: no earlier unit of the job is active."""
    behind = waiting_behind(units)
    due = [
        unit
        for unit in units
        if (unit.not_before is None or unit.not_before <= now) and unit.id not in behind
    ]
    return _by_process(due, UnitState.REQUESTED)


def _by_process(units: Sequence[UnitOfWork], state: UnitState) -> Mapping[str, list[UnitOfWork]]:
    found: defaultdict[str, list[UnitOfWork]] = defaultdict(list)
    for unit in units:
        if unit.state is state:
            found[unit.process].append(unit)
    return found


def _last_claim(store: StoreView, process: str, since: datetime) -> datetime:
    """The time of the last claim of a unit of the process, if after `since`; else `since`."""
    before, searched = None, 0
    while searched < _SEARCHED:
        entries = store.journal.find(process, _PAGE, before)
        for entry in entries:
            if entry.event == JournalEvent.UNIT_IN_PROGRESS or entry.at < since:
                return max(entry.at, since)
        if len(entries) < _PAGE:
            break
        before, searched = entries[-1].seq, searched + len(entries)
    return since


def _all_busy(process: str, busy: Sequence[UnitOfWork]) -> tuple[str, tuple[Remedy, ...]]:
    workers = len({unit.owner for unit in busy})
    who = f"the only worker of {process} is" if workers == 1 else f"all {workers} workers are"
    more = f" and {len(busy) - NAMED} more" if len(busy) > NAMED else ""
    named = _list([_described(unit) for unit in busy[:NAMED]])
    offered = [remedies.cancel(unit.id, unit.timeperiod) for unit in busy[:NAMED]]
    return f"{who} busy with {named}{more}", (*offered, remedies.unit_log(busy[0].id))


def _described(unit: UnitOfWork) -> str:
    since = "" if unit.started_at is None else f" since {unit.started_at:%Y-%m-%d %H:%M:%S} UTC"
    return f"unit {unit.id} of {unit.timeperiod}{since}"


def _claimed(unit: UnitOfWork) -> datetime:
    return unit.started_at or unit.created_at


def _list(words: Sequence[str]) -> str:
    return ", ".join(words)
