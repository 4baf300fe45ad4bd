"""Reads what happened since the last turn: journal entries, and events from outside.

The journal records runs and schedules that other processes changed, ends of the units that carry
out runs, and ends of the jobs and runs that schedules listen to. Rows are the truth: a run that
another process changed is read from the store. Reading an entry twice does no harm, because each
schedule stores the numbers of the occurrences that counted. So the position in the journal is
stored only now and then. The position among events is stored with each decision, because their
senders may wait for them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime

from synergy.agent.context import AgentContext
from synergy.agent.deciding.decisions import WrittenDecisions
from synergy.agent.deciding.failure_pauses import FailurePauses
from synergy.agent.deciding.occurrences import (
    JOB_ENDS,
    RUN_ENDS,
    of_event,
    of_jobs,
    of_run,
    process_keys,
)
from synergy.agent.deciding.schedules import ScheduleDecisions
from synergy.agent.deciding.unfinished_runs import UnfinishedRuns
from synergy.agent.delivering.unit_ends import UnitEnds
from synergy.model.journal import JournalEntry, unit_event
from synergy.model.journal_event import JournalEvent, Noun
from synergy.model.schedule import Run, RunState
from synergy.model.unit_of_work import UnitState
from synergy.names import DECIDED_EVENT
from synergy.schedule.check_context import OF_RUNS
from synergy.schedule.progress.ended_periods import Ended
from synergy.schedule.progress.state import Occurrence

JOURNAL = "agent.journal"  # the fact with the number of the last journal entry that was handled
EVENTS_PAGE = 1000
JOURNAL_PAGE = 2000
STORE_SECONDS = 30.0  # at least this long between two writes of the position alone
_UNIT_ENDS = frozenset(unit_event(state) for state in UnitState if state.is_finished)


@dataclass(slots=True)
class _Page:
    """The entries of a page of the journal that matter, by kind."""

    changed: set[str] = field(default_factory=set)  # runs whose rows are to be read
    ended: list[JournalEntry] = field(default_factory=list)  # ends of runs
    units: list[str] = field(default_factory=list)  # ended units
    jobs: list[JournalEntry] = field(default_factory=list)  # ends of jobs
    schedules: set[str] = field(default_factory=set)  # changed schedules
    is_switched: bool = False  # whether a process was switched on or off


class Feed:
    """Reads the journal and events, for the agent that decides."""

    def __init__(
        self,
        context: AgentContext,
        unfinished: UnfinishedRuns,
        decisions: ScheduleDecisions,
        unit_ends: UnitEnds,
        pauses: FailurePauses,
        learn: Callable[[Iterable[Run]], object],
        forget: Callable[[Iterable[str]], object],
        end: Callable[[Iterable[JournalEntry]], object],
    ) -> None:
        """`learn` is called with runs as stored, `forget` with the ids of runs that are gone.

        `end` is called with the entries of ended runs.
        """
        self._store = context.store
        self._clock = context.clock
        self._name = context.name
        self._managed = context.deployment.managed()
        self._freerun = context.deployment.freerun()
        self._unfinished = unfinished
        self._decisions = decisions
        self._unit_ends = unit_ends
        self._pauses = pauses
        self._learn = learn
        self._forget = forget
        self._end = end
        self._built_at = self._store.journal.last_seq()  # all rows are read later than this entry
        self._events = int(self._store.facts.get(DECIDED_EVENT) or 0)
        self._journal = self._first_entry()
        self._stored_at = self._clock.monotonic()
        self._stored = self._journal
        self.schedules: set[str] = set()  # changed since the set was last taken
        self.is_switched = True  # whether a process may have been switched since it was cleared

    def events(self, now: datetime) -> tuple[bool, WrittenDecisions]:
        """Decides about new events; the first result is whether there may be more."""
        events = self._store.events.since(self._events, EVENTS_PAGE)
        if not events:
            return False, WrittenDecisions()
        found: defaultdict[str, list[Occurrence | Ended]] = defaultdict(list)
        for event in events:
            keys, occurrence = of_event(event)
            for key in keys:
                found[key].append(occurrence)
        newest = events[-1].seq
        written = self._decisions.happened(found, {DECIDED_EVENT: str(newest)}, now)
        self._events = newest
        self._learn(written.runs)
        return len(events) == EVENTS_PAGE, written

    def journal(self, now: datetime) -> tuple[bool, WrittenDecisions]:
        """Handles new entries; the first result is whether there may be more."""
        entries = self._store.journal.since(self._journal, JOURNAL_PAGE)
        if not entries:
            return False, WrittenDecisions()
        page = _Page()
        for entry in entries:
            self._sort(entry, page)
        failed = {entry.process for entry in page.ended if entry.after == RunState.FAILED.value}
        self._pauses.check(failed, now)  # before the position is stored
        found = self._happened(page)
        newest = entries[-1].seq
        written = WrittenDecisions()
        if found:
            written = self._decisions.happened(found, {JOURNAL: str(newest)}, now)
            self._stored = newest
        self._handle(page, now)
        self._learn(written.runs)
        self._journal = newest
        self._store_position()
        return len(entries) == JOURNAL_PAGE, written

    def _sort(self, entry: JournalEntry, page: _Page) -> None:
        noun = entry.noun
        if noun == Noun.RUN:
            self._sort_run(entry, page)
        elif noun == Noun.UNIT:
            if entry.event in _UNIT_ENDS and entry.process in self._freerun and entry.unit:
                page.units.append(entry.unit)
        elif noun == Noun.JOB:
            if entry.event in JOB_ENDS and entry.process in self._managed:
                page.jobs.append(entry)
        elif noun == Noun.SCHEDULE:
            page.schedules.add(entry.process)
        elif entry.event in (JournalEvent.PROCESS_ON, JournalEvent.PROCESS_OFF):
            page.is_switched = True

    def _sort_run(self, entry: JournalEntry, page: _Page) -> None:
        run = entry.run
        if entry.event in RUN_ENDS:
            page.ended.append(entry)
            page.changed.discard(run)
        elif entry.who != self._name:
            page.changed.add(run)

    def _happened(self, page: _Page) -> dict[str, list[Occurrence | Ended]]:
        """What ended, by the keys by which schedules listen to it."""
        jobs = [of_jobs(entry, self._managed) for entry in page.jobs]
        ended: list[Occurrence | Ended] = [one for one in jobs if one is not None]
        ended += self._of_runs(page.ended)
        found: defaultdict[str, list[Occurrence | Ended]] = defaultdict(list)
        for one in sorted(ended, key=lambda one: one.seq):
            for key in process_keys(one.process):
                found[key].append(one)
        return found

    def _of_runs(self, ended: list[JournalEntry]) -> list[Occurrence]:
        """The ends of runs of free-run processes."""
        ended = [entry for entry in ended if entry.after in OF_RUNS]
        unknown = [e.run for e in ended if e.run and not self._unfinished.program_of(e.run)]
        programs = {row.id: row.program for row in self._store.runs.get(unknown)} if unknown else {}
        found = []
        for entry in ended:
            run = entry.run
            program = self._unfinished.program_of(run) or programs.get(run, "")
            if program in self._freerun:
                found.append(of_run(entry, program))
        return found

    def _handle(self, page: _Page, now: datetime) -> None:
        if page.units:
            self._unit_ends.of_units(list(dict.fromkeys(page.units)), now)
        ended = {entry.run: entry for entry in page.ended if entry.run}
        # A run whose end was recorded before the rows were read may have been launched again since.
        old = {run for run, entry in ended.items() if entry.seq <= self._built_at}
        self._end(entry for run, entry in ended.items() if run not in old)
        reread = page.changed | {run for run in old if self._unfinished.state_of(run) is not None}
        if reread:
            rows = self._store.runs.get(sorted(reread))
            self._learn(rows)
            self._forget(reread - {row.id for row in rows})
        self.schedules |= page.schedules
        self.is_switched |= page.is_switched

    def _store_position(self) -> None:
        """Stores the position in the journal at intervals, for the next deciding agent."""
        if self._clock.monotonic() - self._stored_at >= STORE_SECONDS:
            self._stored_at = self._clock.monotonic()
            if self._stored != self._journal:
                self._stored = self._journal
                self._store.facts.set(JOURNAL, str(self._journal))

    def _first_entry(self) -> int:
        """The stored position; for the first agent, the oldest entry that a schedule has seen."""
        stored = self._store.facts.get(JOURNAL)
        if stored is not None:
            return int(stored)
        first, cursor = self._store.journal.last_seq(), None
        while True:
            rows, cursor = self._store.schedules.find(1000, cursor)
            seen = [int(str(row.progress.get("seen_journal", first))) for row in rows if row.keys]
            first = min([first, *seen])
            if cursor is None:
                self._store.facts.set(JOURNAL, str(first))
                return first
