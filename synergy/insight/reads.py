"""Looking: everything that command line, pages and metrics show.

Each question is answered from the store as it is at that moment, and changes nothing there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from synergy.clock import Clock
from synergy.errors import NotFound
from synergy.insight.actions import load_timetable
from synergy.insight.audit import Audit, audit
from synergy.insight.coverage import below, uncovered_below
from synergy.insight.leaders import COLLECTOR, PartView, is_led, leaders, part_of_tree
from synergy.insight.views import (
    BoxProcess,
    BoxView,
    CollectorView,
    Placement,
    PlannedMove,
    ProcessView,
    QueueView,
    Standing,
    TreeView,
    UnitPage,
    Window,
)
from synergy.insight.why import Cause, Why
from synergy.insight.window import LevelReader
from synergy.lifecycle.reclaim import Observed, Verdict, judge
from synergy.messaging.protocol import Bus
from synergy.model.box import Box, ObservedProcess
from synergy.model.control import ProcessControl
from synergy.model.journal import JournalEntry
from synergy.model.process import DaemonProcess, Deployment, ManagedProcess, Process
from synergy.model.unit_of_work import UnitOfWork, UnitState
from synergy.runtime import identity
from synergy.schedule.trigger import parse
from synergy.storage.protocol import DeadMessage, LogLine, Store, StoreStatus
from synergy.timetable.timetable import Timetable

JOURNAL = "journal"  # the topic that tells that jobs were finished or the collector has run
RUNS = 10  # runs of the collector that are shown
_RECENT = 1000  # entries of no process among which those runs are looked for


class Reads:
    """What may be seen of a deployment."""

    def __init__(self, store: Store, bus: Bus, deployment: Deployment, clock: Clock) -> None:
        self._store = store
        self._bus = bus
        self._deployment = deployment
        self._clock = clock

    # Processes

    def processes(self) -> list[ProcessView]:
        """All that are declared, in the order of their declaration."""
        look = _Look(self._store, self._bus, self._deployment, self._clock.now())
        return [look.process(process) for process in self._deployment.processes.values()]

    def process(self, name: str) -> ProcessView:
        """One of them; raises NotFound."""
        found = self._deployment.processes.get(name)
        if found is None:
            raise NotFound("process", name, f"there are: {', '.join(self._deployment.processes)}")
        return _Look(self._store, self._bus, self._deployment, self._clock.now()).process(found)

    # The timetable

    def timetable(self) -> Timetable:
        """The timetable as the store has it; raises Refused if it has no start yet."""
        return load_timetable(self._store, self._deployment, self._clock.now())

    def trees(self, name: str | None = None, window: Window | None = None) -> list[TreeView]:
        """All trees, or one, with the jobs of the window if there is one; raises NotFound."""
        declared = self._deployment.trees
        if name is not None and name not in declared:
            raise NotFound("tree", name, f"there are: {', '.join(declared)}")
        timetable, now = self.timetable(), self._clock.now()
        controls = self._store.controls.all()

        def reader(process: str) -> LevelReader:
            place = timetable.place(process)
            is_on = _is_on(place.process, controls.get(process))
            return LevelReader(self._store, place, now, is_on=is_on)

        return [
            TreeView(
                tree.name, tree.dependent_on, tuple(reader(p).view(window) for p in tree.processes)
            )
            for tree in declared.values()
            if name in (None, tree.name)
        ]

    def why(self, process: str, timeperiod: str) -> Cause:
        """Why a job is as it is; raises NotFound for one outside the timetable."""
        return Why(self._store, self.timetable(), self._clock.now()).ask(process, timeperiod)

    def audit(self, progress: Callable[[int, int], None] = lambda done, total: None) -> Audit:
        """Every closed period of every process, accounted for; progress in processes."""
        return audit(self._store, self.timetable(), self._clock.now(), progress)

    def standing(self, process: str, timeperiod: str) -> Standing:
        """How far a job is from being done for good; raises NotFound."""
        waiting = self._events_waiting()  # before the states: what left a queue is in the store
        timetable = self.timetable()
        place = timetable.place(process)
        ordinal = place.level.ordinal(timeperiod)
        state = place.level.state(ordinal)
        finished = total = 0
        for at, first, end in below(place, ordinal):
            total += end - first
            finished += end - first - sum(1 for _ in at.level.unfinished(first, end))
        late = None
        if state.is_finished and not waiting:
            late = uncovered_below(self._store, place, ordinal)
        return Standing(process, timeperiod, state, finished, total, waiting, late)

    def story(self, process: str, timeperiod: str, limit: int = 128) -> list[JournalEntry]:
        """What happened to a job, newest first; raises NotFound."""
        place = self.timetable().place(process)
        place.level.ordinal(timeperiod)
        return self._store.journal.of_job(process, timeperiod, limit)

    def _events_waiting(self) -> int:
        depths = self._bus.depths()
        daemons = [p for p in self._deployment.processes.values() if isinstance(p, DaemonProcess)]
        return sum(depths.get(daemon.queue, 0) for daemon in daemons)

    # Units

    def units(
        self,
        process: str | None = None,
        state: UnitState | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> UnitPage:
        """A page of units; a process that is no longer declared may still have some."""
        found, following = self._store.units.find(process, state, limit, cursor)
        return UnitPage(tuple(found), following)

    def unit(self, id_: str) -> UnitOfWork:
        """One unit; raises NotFound."""
        found = self._store.units.get([id_])
        if not found:
            raise NotFound("unit", id_, "launch.py unit list shows which there are")
        return found[0]

    def unit_log(self, id_: str) -> list[LogLine]:
        """What workers wrote while they carried the unit out, oldest first; raises NotFound."""
        return self._store.logs.of_unit(self.unit(id_).id)

    # Queues and the collector

    def queues(self) -> list[QueueView]:
        """The queue of each process, and any other that holds messages."""
        depths = self._bus.depths()
        readers = {process.queue: name for name, process in self._deployment.processes.items()}
        return [
            QueueView(queue, readers.get(queue), depths.get(queue, 0))
            for queue in dict.fromkeys([*readers, *sorted(depths)])
        ]

    def dead(self, limit: int = 100) -> list[DeadMessage]:
        """Messages that nobody could make sense of, newest first."""
        return self._bus.dead(limit)

    def is_led(self, process: str) -> bool:
        """Whether a scheduler leads the tree of a process, as far as can be seen from here."""
        trees = [t.name for t in self._deployment.trees.values() if process in t.processes]
        return any(is_led(self._store, part_of_tree(tree)) for tree in trees)

    def is_collected(self) -> bool:
        """Whether a scheduler runs the collector, as far as can be seen from here."""
        return is_led(self._store, COLLECTOR)

    def leaders(self) -> list[PartView]:
        """Which scheduler leads each tree, and the collector."""
        return leaders(self._store, self._deployment)

    def collector(self) -> CollectorView:
        """The garbage collector."""
        recent = self._store.journal.find("", _RECENT)
        runs = [entry for entry in recent if entry.event == "gc.run"]
        return CollectorView(self.is_collected(), _by_process(self._store), tuple(runs[:RUNS]))

    def collector_run_after(self, seq: int, process: str) -> tuple[JournalEntry | None, int]:
        """The run that the journal has after `seq`, if any, and the number to go on from."""
        while entries := self._store.journal.since(seq, _RECENT):
            seq = entries[-1].seq
            for entry in entries:
                if (entry.event, entry.process) == ("gc.run", process):
                    return entry, seq
        return None, seq

    def collection_plan(self, process: str = "", *, flush: bool = False) -> list[PlannedMove]:
        """What a run of the collector would do now.

        As far as one look can tell: a heartbeat that has stopped only shows with time.
        """
        timetable, now = self.timetable(), self._clock.now()
        controls, depths = self._store.controls.all(), self._bus.depths()
        plan = []
        for unit in self._store.units.unfinished():
            place = timetable.places.get(unit.process)
            if place is None or process not in ("", unit.process):
                continue
            if not _is_on(place.process, controls.get(unit.process)):
                continue
            seen = Observed(
                silent_for=0.0,
                owner_is_gone=_is_gone(unit.owner),
                queue_is_empty=depths.get(place.process.queue, 0) == 0,
                superseded=_is_superseded(timetable, unit),
                flush=flush,
            )
            judged = judge(unit, place.process, seen, now)
            if judged.verdict is not Verdict.LEAVE:
                plan.append(
                    PlannedMove(
                        unit.id, unit.process, unit.timeperiod, judged.verdict.value, judged.why
                    )
                )
        return plan

    # Boxes and the store

    def boxes(self) -> list[BoxView]:
        """All boxes that ever reported or have something assigned, and what is known of each."""
        boxes, now = self._store.boxes, self._clock.now()
        known = {box.id: box for box in boxes.all()}
        is_on = {(a.box, a.process): a.is_on for a in boxes.assignments()}
        observed = _grouped(boxes.observed())
        places = sorted({*is_on, *observed})
        return [
            _box_view(
                known.get(id_) or Box(id_, None),
                now,
                tuple(
                    BoxProcess(process, is_on.get((box, process)), observed.get((box, process), ()))
                    for box, process in places
                    if box == id_
                ),
            )
            for id_ in sorted({*known, *(box for box, _ in places)})
        ]

    def store_status(self) -> StoreStatus:
        """What the store says of itself."""
        return self._store.status()


class _Look:
    """What all processes have in common at one moment."""

    def __init__(self, store: Store, bus: Bus, deployment: Deployment, now: datetime) -> None:
        self._now = now
        self._controls = store.controls.all()
        self._depths = bus.depths()
        self._units = _by_process(store)
        self._tree_of = {p: tree.name for tree in deployment.trees.values() for p in tree.processes}
        self._assignments = store.boxes.assignments()
        self._observed = _grouped(store.boxes.observed())
        self._silent = {box.id for box in store.boxes.all() if box.is_silent(now)}

    def process(self, process: Process) -> ProcessView:
        name = process.name
        control = self._controls.get(name)
        is_on = _is_on(process, control)
        managed = process if isinstance(process, ManagedProcess) else None
        trigger = None
        if managed is not None:
            trigger = parse((control and control.trigger_frequency) or managed.trigger_frequency)
        return ProcessView(
            name=name,
            kind="daemon" if managed is None else "managed",
            qualifier=None if managed is None else managed.qualifier.value,
            tree=self._tree_of.get(name),
            is_on=is_on,
            trigger=None if trigger is None else str(trigger),
            next_due=trigger.next_after(self._now) if trigger is not None and is_on else None,
            queue=process.queue,
            waiting=self._depths.get(process.queue, 0),
            instances=process.instances,
            boxes=tuple(
                Placement(a.box, a.is_on, self._running(a.box, name))
                for a in self._assignments
                if a.process == name
            ),
            units=self._units.get(name, {}),
        )

    def _running(self, box: str, process: str) -> int:
        if box in self._silent:
            return 0
        return sum(seen.state == "running" for seen in self._observed.get((box, process), ()))


def _box_view(box: Box, now: datetime, processes: tuple[BoxProcess, ...]) -> BoxView:
    age = None if box.seen_at is None else max(0.0, (now - box.seen_at).total_seconds())
    return BoxView(box.id, box.seen_at, age, box.is_silent(now), processes)


def _is_on(process: Process, control: ProcessControl | None) -> bool:
    return process.is_on if control is None or control.is_on is None else control.is_on


def _by_process(store: Store) -> dict[str, Mapping[str, int]]:
    counts: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for (process, state), number in store.units.counts().items():
        counts[process][state.value] = number
    return dict(counts)


def _grouped(
    observed: Iterable[ObservedProcess],
) -> dict[tuple[str, str], tuple[ObservedProcess, ...]]:
    """By box and process."""
    found: defaultdict[tuple[str, str], list[ObservedProcess]] = defaultdict(list)
    for one in observed:
        found[one.box, one.process].append(one)
    return {place: tuple(sorted(some, key=lambda o: o.instance)) for place, some in found.items()}


def _is_gone(owner: str | None) -> bool:
    found = identity.parse(owner or "")
    return found is not None and found.is_provably_dead


def _is_superseded(timetable: Timetable, unit: UnitOfWork) -> bool:
    level = timetable.place(unit.process).level
    ordinal = level.find(unit.timeperiod)
    if ordinal is None:
        return False
    return level.state(ordinal).is_finished or level.generation(ordinal) != unit.generation
