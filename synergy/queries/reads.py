"""The queries that command line, pages and metrics share.

Each reads the store as it is at that moment, and changes nothing there.
"""

from __future__ import annotations

from collections.abc import Callable

from synergy.clock import Clock
from synergy.errors import NotFound, Refused
from synergy.messaging.protocol import BusView
from synergy.model.journal import JournalEntry
from synergy.model.process import DaemonProcess, Deployment
from synergy.model.process_control import ProcessControl
from synergy.model.time_range import EVER, TimeRange
from synergy.model.unit_of_work import UnitOfWork, UnitState
from synergy.names import TIMETABLE_START
from synergy.program import PROGRAM
from synergy.queries.collector import RECENT, collector_run_after, collector_view, planned_moves
from synergy.queries.health.situation_reader import SituationReader
from synergy.queries.health.staffing import Unserved, unserved
from synergy.queries.health.verdict import Verdict, verdict
from synergy.queries.journal import journal_page, stored_timeperiod
from synergy.queries.logs.unit_logs import UnitLog
from synergy.queries.malformed_rows import refuse_malformed
from synergy.queries.page import Page
from synergy.queries.processes.boxes import box_views
from synergy.queries.processes.states import ProcessReader
from synergy.queries.quarantine import DeadLetter, dead_page
from synergy.queries.timetable import last_audit
from synergy.queries.timetable.audit import Audit, audit
from synergy.queries.timetable.causes import Cause
from synergy.queries.timetable.job_completion import Standing, job_standing
from synergy.queries.timetable.job_detail import JobDetail, job_detail
from synergy.queries.timetable.job_list import JobList, ListedJob, Wanted
from synergy.queries.timetable.load import load_timetable
from synergy.queries.timetable.tree_states import (
    TreeProgress,
    TreeStates,
    tree_progress,
    tree_states,
)
from synergy.queries.timetable.why import Why
from synergy.queries.timetable.window import tree_views
from synergy.queries.views import (
    BoxView,
    CollectorView,
    PlannedMove,
    ProcessView,
    QueueView,
    TreeView,
    Window,
)
from synergy.runtime.shared_parts import COLLECTOR, PartView, is_led, is_process_led, leaders
from synergy.storage.protocol import LogLine, StoreStatus, StoreView
from synergy.timetable.timetable import Timetable

JOURNAL = "journal"  # the topic that is notified of finished jobs and runs of the collector


class Reads:
    """The state of a deployment."""

    def __init__(
        self,
        store: StoreView,
        bus: BusView,
        deployment: Deployment,
        clock: Clock,
        timetable: Callable[[], Timetable] | None = None,
    ) -> None:
        """`timetable` returns the present timetable; by default it is loaded for each query."""
        self._store = store
        self._bus = bus
        self._deployment = deployment
        self._clock = clock
        self._timetable = timetable or self._load

    # Processes

    def processes(self) -> list[ProcessView]:
        """All declared processes, in the order of their declaration."""
        reader = self._process_reader()
        return [reader.view(process) for process in self._deployment.processes.values()]

    def process(self, name: str) -> ProcessView:
        """A declared process; raises NotFound."""
        process = self._deployment.process(name)
        return self._process_reader().view(process)

    def _process_reader(self) -> ProcessReader:
        return ProcessReader(self._store, self._bus, self._deployment, self._clock.now())

    # The timetable

    def timetable(self) -> Timetable:
        """The present timetable, not to be changed; raises Refused if it has no start yet."""
        return self._timetable()

    def _load(self) -> Timetable:
        return load_timetable(self._store, self._deployment, self._clock.now())

    def trees(self, name: str | None = None, window: Window | None = None) -> list[TreeView]:
        """All trees, or one, with the jobs of the window if there is one; raises NotFound."""
        declared = self._deployment
        trees = declared.trees.values() if name is None else [declared.tree(name)]
        return tree_views(self._store, self.timetable(), trees, window, self._clock.now())

    def progress(self) -> list[TreeProgress]:
        timetable, now = self.timetable(), self._clock.now()
        return [tree_progress(tree, timetable, now) for tree in self._deployment.trees.values()]

    def tree_states(self, name: str, window: Window) -> TreeStates:
        """The states of a window of a tree, run-length encoded; raises NotFound."""
        tree = self._deployment.tree(name)
        return tree_states(tree, self.timetable(), window, self._clock.now())

    def jobs(self, wanted: Wanted, limit: int = 100, cursor: str | None = None) -> Page[ListedJob]:
        """A page of jobs; raises NotFound, and InvalidValue for an invalid cursor."""
        return self._job_list(self.timetable()).page(wanted, limit, cursor)

    def job(self, process: str, timeperiod: str) -> JobDetail:
        """A job in detail; raises NotFound for one outside the timetable."""
        standing, timetable = self.standing(process, timeperiod), self.timetable()
        place = timetable.place(process)
        ordinal = place.level.ordinal(timeperiod)
        (listed,) = self._job_list(timetable).read([(place, ordinal)])
        return job_detail(self._store, place, ordinal, listed, standing)

    def _job_list(self, timetable: Timetable) -> JobList:
        return JobList(self._store, timetable, self._clock.now())

    def why(self, process: str, timeperiod: str) -> Cause:
        """Why a job is as it is; raises NotFound for one outside the timetable."""
        return Why(self._store, self.timetable(), self._clock.now()).ask(process, timeperiod)

    def audit(self, progress: Callable[[int, int], None] = lambda done, total: None) -> Audit:
        """The audit of every closed period.

        `progress` is called with the number of processes done, and of all.
        """
        return audit(self._store, self.timetable(), self._clock.now(), progress)

    def is_audit_due(self) -> bool:
        """Whether there is a timetable, and no recent audit of it."""
        last = last_audit.last_audit(self._store)
        has_timetable = self._store.facts.get(TIMETABLE_START) is not None
        return has_timetable and (last is None or last.is_due(self._clock.now()))

    def verdict(self, *, is_auditing: bool = False) -> Verdict:
        """The verdict on the deployment; `is_auditing`: an audit is under way."""
        try:
            timetable: Timetable | None = self.timetable()
        except Refused:  # it has no start yet
            timetable = None
        now = self._clock.now()
        reader = SituationReader(self._store, self._bus, self._deployment, timetable, now)
        return verdict(reader.situation(is_auditing=is_auditing), now)

    def standing(self, process: str, timeperiod: str) -> Standing:
        """What is missing until the result of a job is final; raises NotFound."""
        depths = self._bus.depths()  # before the states: what left a queue is in the store
        daemons = [p for p in self._deployment.processes.values() if isinstance(p, DaemonProcess)]
        waiting = sum(depths.get(daemon.queue, 0) for daemon in daemons)
        place = self.timetable().place(process)
        ordinal = place.level.ordinal(timeperiod)
        return job_standing(self._store, place, ordinal, waiting, self._clock.now())

    # The journal

    def journal(
        self,
        process: str | None = None,
        timeperiod: str | None = None,
        event: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
        who: str | None = None,
        within: TimeRange = EVER,
    ) -> Page[JournalEntry]:
        """A page of the journal, newest first; see `journal_page` and `stored_timeperiod`."""
        if timeperiod is not None:
            timeperiod = stored_timeperiod(self._deployment, process, timeperiod)
        journal = self._store.journal
        return journal_page(journal, process, timeperiod, event, limit, cursor, who, within)

    def entries_since(self, seq: int, limit: int) -> list[JournalEntry]:
        """The journal's entries after the number `seq`, oldest first."""
        return self._store.journal.since(seq, limit)

    def last_entry(self) -> int:
        """The number of the journal's newest entry; 0 if there never was one."""
        return self._store.journal.last_seq()

    # Units

    def units(
        self,
        process: str | None = None,
        state: UnitState | None = None,
        limit: int = 100,
        cursor: str | None = None,
        within: TimeRange = EVER,
    ) -> Page[UnitOfWork]:
        """A page of units; a process that is no longer declared may still have some."""
        found, following = self._store.units.find(process, state, limit, cursor, within)
        return Page(tuple(found), following)

    def unit(self, id_: str) -> UnitOfWork:
        """One unit; raises NotFound, and Malformed for one that cannot be read."""
        found = self._store.units.get([id_])
        if not found:
            refuse_malformed(self._store, "units", id_)
            raise NotFound("unit", id_, f"{PROGRAM} unit list shows which there are")
        return found[0]

    def unit_log(self, id_: str) -> list[LogLine]:
        """The log lines of a unit, oldest first; raises NotFound."""
        return self._store.logs.of_unit(self.unit(id_).id)

    def unit_lines(self, id_: str) -> UnitLog:
        """The log lines of a unit, to be read in parts; raises NotFound."""
        return UnitLog(self._store.logs, self.unit(id_).id)

    def unit_journal(self, unit: UnitOfWork) -> list[JournalEntry]:
        """The journal's entries about a unit, oldest first; very old ones may be missing."""
        entries = self._store.journal.of_job(unit.process, unit.timeperiod, RECENT)
        return [entry for entry in reversed(entries) if entry.unit == unit.id]

    # Queues and the collector

    def controls(self) -> dict[str, ProcessControl]:
        """What operators set for processes, which overrides their declaration."""
        return self._store.controls.all()

    def queues(self) -> list[QueueView]:
        """The queue of each process, and any other that holds messages."""
        depths = self._bus.depths()
        readers = {process.queue: name for name, process in self._deployment.processes.items()}
        return [
            QueueView(queue, readers.get(queue), depths.get(queue, 0))
            for queue in dict.fromkeys([*readers, *sorted(depths)])
        ]

    def dead_count(self) -> int:
        """The number of messages in quarantine."""
        return self._store.messages.quarantine().messages

    def dead_letters(self, limit: int, cursor: str | None, longest: int) -> Page[DeadLetter]:
        """A page of messages in quarantine, newest first; see `dead_page`."""
        return dead_page(self._bus, limit, cursor, longest)

    def is_led(self, process: str) -> bool:
        """Whether a scheduler leads the tree of a process; see `runtime.shared_parts`."""
        return is_process_led(self._store, self._deployment, process)

    def is_collected(self) -> bool:
        """Whether a scheduler runs the collector; see `runtime.shared_parts`."""
        return is_led(self._store, COLLECTOR)

    def leaders(self) -> list[PartView]:
        return leaders(self._store, self._deployment)

    def collector(self) -> CollectorView:
        return collector_view(self._store)

    def collector_run_after(self, seq: int, process: str) -> tuple[JournalEntry | None, int]:
        """The first run after the journal entry `seq`, if any, and the number to continue after."""
        return collector_run_after(self._store.journal, seq, process)

    def collection_plan(self, process: str = "", *, flush: bool = False) -> list[PlannedMove]:
        """The moves that the collector would make now; see `planned_moves`. Raises NotFound."""
        deployment, now = self._deployment, self._clock.now()
        if process:
            deployment.working(process)  # raises NotFound
        moves = planned_moves(
            self._store, self._bus, deployment, self.timetable(), now, flush=flush
        )
        return [move for move in moves if process in ("", move.process)]

    # Boxes and the store

    def boxes(self) -> list[BoxView]:
        """All boxes that ever reported or have an assignment."""
        return box_views(self._store, self._deployment, self._clock.now())

    def unserved(self) -> list[Unserved]:
        """The processes with units that no worker has taken for too long."""
        return unserved(self._store, self._deployment, self._clock.now())

    def store_status(self) -> StoreStatus:
        return self._store.status()
