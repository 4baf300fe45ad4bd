"""Who carries out the units of a process: which workers live, and what they are busy with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from synergy.lifecycle.standing import waiting_behind
from synergy.model.journal_event import JournalEvent
from synergy.model.process import Deployment, WorkingProcess
from synergy.model.switches import is_switched_on
from synergy.model.unit_of_work import UnitOfWork, UnitState
from synergy.queries.timetable import remedies
from synergy.queries.timetable.remedies import Remedy
from synergy.runtime import identity
from synergy.storage.protocol import StoreView

LIMIT = timedelta(minutes=5)  # that units may wait for a process of which no worker lives
NAMED = 3  # units that workers are busy with; the others are counted
_PAGE, _LOOKED_AT = 200, 1000  # entries of the journal in which the last claim is looked for


@dataclass(frozen=True, slots=True)
class Serving:
    """Who serves a process now.

    `running`: workers that were seen running. `busy`: what they are busy with, oldest claim
    first; empty unless all of them are. `text` says it in words, `helps` what would help.
    """

    running: int
    busy: tuple[UnitOfWork, ...]
    text: str
    helps: tuple[Remedy, ...]


@dataclass(frozen=True, slots=True)
class Unserved:
    """A process that nobody serves: `waiting` units, none of which was taken `since` then.

    `busy` are the units that its workers are busy with; none if it has no worker that lives, or
    if those that live take nothing.
    """

    process: str
    waiting: int
    since: datetime
    busy: tuple[str, ...]
    reason: str
    helps: tuple[Remedy, ...]


class Staff:
    """The workers of all processes, as one look at the store shows them."""

    def __init__(self, store: StoreView, now: datetime) -> None:
        self._now = now
        self._silent = {box.id for box in store.boxes.all() if box.is_silent(now)}
        self._assignments = store.boxes.assignments()
        self._observed = store.boxes.observed()

    def of(self, process: str, held: Sequence[UnitOfWork]) -> Serving:
        """Who serves a process whose units `held` are in progress."""
        running = sum(
            seen.process == process and seen.state == "running" and seen.box not in self._silent
            for seen in self._observed
        )
        busy = sorted((unit for unit in held if self._may_live(unit, running)), key=_claimed)
        if busy and len({unit.owner for unit in busy}) >= running:
            return Serving(running, tuple(busy), *_all_busy(process, busy))
        if running:
            text = f"{running} of {process} seen running"
            return Serving(running, (), text, (remedies.queues(),))
        why, help_ = self._nobody(process)
        return Serving(0, (), f"nobody serves it: 0 of {process} seen running, {why}", help_)

    def _may_live(self, unit: UnitOfWork, running: int) -> bool:
        """Whether its worker lives, as far as can be seen from here."""
        owner = identity.parse(unit.owner or "")
        if owner is None or not owner.is_of_here:
            return running > 0
        return not owner.is_provably_dead

    def _nobody(self, process: str) -> tuple[str, tuple[Remedy, ...]]:
        """Why no worker of the process lives."""
        places = [place for place in self._assignments if place.process == process]
        on = [place.box for place in places if place.is_on]
        if not places:
            return "no box has it", (remedies.start(process, None),)
        if not on:
            off = [place.box for place in places]
            there = next((box for box in off if box not in self._silent), None)
            return f"switched off on {_list(off)}", (remedies.start(process, there),)
        reporting = [box for box in on if box not in self._silent]
        if not reporting:
            return f"no report from {_list(on)}", remedies.supervise()
        seen = [one for one in self._observed if one.process == process and one.box in reporting]
        states = sorted({f"{one.state} on {one.box}" for one in seen})
        return _list(states) or f"not started on {_list(reporting)}", remedies.supervise()[:1]


def unserved(
    store: StoreView, deployment: Deployment, now: datetime, limit: timedelta = LIMIT
) -> list[Unserved]:
    """The processes with units that wait, and of which nobody has taken any for too long.

    Too long is `limit` where no worker of the process lives, and else the time after which a
    message that was not picked up is sent again (`resubmit_after`): workers may have much to do.
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
        serving = staff.of(name, held.get(name, []))
        patience = timedelta(seconds=process.resubmit_after) if serving.running else limit
        since = min(max(unit.created_at, unit.not_before or unit.created_at) for unit in wait)
        if now - since < patience:
            continue
        since = max(since, _last_claim(store, name, since))
        if now - since >= patience:
            is_on = is_switched_on(process, controls.get(name))
            reason = serving.text if is_on else f"switched off; {serving.text}"
            help_ = serving.helps if is_on else (remedies.switch_on(name), *serving.helps)
            busy = tuple(unit.id for unit in serving.busy)
            found.append(Unserved(name, len(wait), since, busy, reason, help_))
    return found


def _waiting(units: Sequence[UnitOfWork], now: datetime) -> Mapping[str, list[UnitOfWork]]:
    """The units by process that a worker could take now: none behind another of its own job."""
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
    """When a unit of the process was last claimed, if that was after `since`; else `since`."""
    before, looked_at = None, 0
    while looked_at < _LOOKED_AT:
        entries = store.journal.find(process, _PAGE, before)
        for entry in entries:
            if entry.event == JournalEvent.UNIT_IN_PROGRESS or entry.at < since:
                return max(entry.at, since)
        if len(entries) < _PAGE:
            break
        before, looked_at = entries[-1].seq, looked_at + len(entries)
    return since


def _all_busy(process: str, busy: Sequence[UnitOfWork]) -> tuple[str, tuple[Remedy, ...]]:
    workers = len({unit.owner for unit in busy})
    who = f"the only worker of {process} is" if workers == 1 else f"all {workers} workers are"
    more = f" and {len(busy) - NAMED} more" if len(busy) > NAMED else ""
    told = _list([_told(unit) for unit in busy[:NAMED]])
    offered = [remedies.cancel(unit.id, unit.timeperiod) for unit in busy[:NAMED]]
    return f"{who} busy with {told}{more}", (*offered, remedies.unit_log(busy[0].id))


def _told(unit: UnitOfWork) -> str:
    since = "" if unit.started_at is None else f" since {unit.started_at:%Y-%m-%d %H:%M:%S} UTC"
    return f"unit {unit.id} of {unit.timeperiod}{since}"


def _claimed(unit: UnitOfWork) -> datetime:
    return unit.started_at or unit.created_at


def _list(words: Sequence[str]) -> str:
    return ", ".join(words)
