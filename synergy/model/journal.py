"""The journal: every state change, in the order in which the store recorded it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Self

from synergy.model.collector_counts import CollectorCounts
from synergy.model.job import JobState
from synergy.model.journal_event import JournalEvent, Noun
from synergy.model.schedule import RunState
from synergy.model.unit_of_work import UnitState
from synergy.model.value import value

COLLECTOR = "collector"  # the author of the collector's changes
QUARANTINE = "quarantine"  # the author of entries about messages that it dropped


@value
class JournalEntry:
    """When, what, from, to, why, who.

    Functions of this module create the entries that services and commands append;
    `storage.journal_entries` has those that a store writes together with a change.

    `event` is the name of a `JournalEvent`; a row of another version may have an unknown name.
    `first` and `last` are timeperiods: equal for one job, the ends (inclusive) of neighbouring jobs
    that changed in one step, empty for an entry without a period. `attempt` is that of the unit or
    run after the change. `covered` is the write number up to which a job that ended without a unit
    covers its source; `flags` are those of the stored jobs after the change (see `model.job`).
    `seq` is the store's own order, 0 until the entry is stored.

    The stored columns serve all nouns. What four of them hold depends on the noun:

    | noun | `process` | `before`, `after` | `unit` |
    |---|---|---|---|
    | job | process | states | the unit that caused the change |
    | unit | process | states | the unit |
    | run | schedule, or process without one | states | the run: read `run` |
    | schedule | schedule | versions | |
    | process | process | `on` and `off`; of `process.trigger_frequency` triggers | |
    | box | process | `on` and `off` | |
    | gc | process, empty for all | | |
    | timetable | | first hours: read `new_start` | |
    | operation | process | states | the operation |
    """

    at: datetime
    event: str
    process: str
    first: str
    last: str
    before: str
    after: str
    generation: int
    why: str
    who: str
    unit: str | None = None
    attempt: int = 0
    covered: int = 0
    flags: int = 0
    seq: int = 0

    @property
    def noun(self) -> str:
        """The subject: a `Noun`, if this version knows the event."""
        return self.event.partition(".")[0]

    @property
    def run(self) -> str:
        """The id of the run; empty for another noun."""
        return self.unit or "" if self.noun == Noun.RUN else ""

    @property
    def new_start(self) -> str:
        """The first hour of the timetable after `timetable.extended`."""
        assert self.event == JournalEvent.TIMETABLE_EXTENDED
        return self.after

    @property
    def collector_counts(self) -> CollectorCounts:
        """The actions of the collector, from a `gc.run` of any version."""
        assert self.event == JournalEvent.COLLECTION_RAN
        return CollectorCounts.parse(self.why)

    @classmethod
    def without_period(
        cls,
        event: JournalEvent,
        at: datetime,
        who: str,
        why: str = "",
        *,
        process: str = "",
        before: str = "",
        after: str = "",
        unit: str | None = None,
    ) -> Self:
        """A new entry without a timeperiod."""
        return cls(
            at=at, event=event, process=process, first="", last="", before=before, after=after,
            generation=0, why=why, who=who, unit=unit,
        )  # fmt: skip


_JOB_EVENTS: dict[JobState, JournalEvent] = {
    state: JournalEvent(f"{Noun.JOB}.{state.word}")
    for state in JobState
    if state is not JobState.EMBRYO
}
_UNIT_EVENTS = {state: JournalEvent(f"{Noun.UNIT}.{state.value}") for state in UnitState}
_RUN_EVENTS = {state: JournalEvent(f"{Noun.RUN}.{state.value}") for state in RunState}


def job_event(state: JobState) -> JournalEvent:
    """The event of a job that goes to this state; raises KeyError for EMBRYO, which has none."""
    return _JOB_EVENTS[state]


def unit_event(state: UnitState) -> JournalEvent:
    """The event of a unit that goes to this state."""
    return _UNIT_EVENTS[state]


def run_event(state: RunState) -> JournalEvent:
    """The event of a run that goes to this state."""
    return _RUN_EVENTS[state]


_entry = JournalEntry.without_period


def look_requested(process: str, who: str, why: str, now: datetime) -> JournalEntry:
    """The jobs of a managed process are to be checked at once."""
    return _entry(JournalEvent.PROCESS_TRIGGERED, now, who, why, process=process)


def process_started(process: str, who: str, now: datetime) -> JournalEntry:
    """An operating system process of a worker started, perhaps in place of one that died."""
    return _entry(JournalEvent.PROCESS_STARTED, now, who, process=process)


def collection_requested(
    process: str, flush: bool, who: str, why: str, now: datetime
) -> JournalEntry:
    """The collector is to run, for one process or (empty) all; `flush` ignores waiting times."""
    event = JournalEvent.COLLECTION_FLUSHED if flush else JournalEvent.COLLECTION_REQUESTED
    return _entry(event, now, who, why, process=process)


def collection_ran(process: str, counts: CollectorCounts, now: datetime) -> JournalEntry:
    """The collector ran; `JournalEntry.collector_counts` reads the counts back."""
    return _entry(JournalEvent.COLLECTION_RAN, now, COLLECTOR, str(counts), process=process)


def queue_replayed(counts: Mapping[str, int], who: str, why: str, now: datetime) -> JournalEntry:
    """Messages in quarantine were sent again; `counts` has their number for each queue."""
    return _entry(JournalEvent.QUEUE_REPLAYED, now, who, with_reason(_listed(counts), why))


def queue_purged(queue: str, number: int, who: str, why: str, now: datetime) -> JournalEntry:
    """Messages that waited in a queue were dropped."""
    return _entry(JournalEvent.QUEUE_PURGED, now, who, with_reason(_listed({queue: number}), why))


def quarantine_dropped(total: int, now: datetime) -> JournalEntry:
    """Quarantine was full: so far, `total` old messages were dropped to make room."""
    why = f"{total} of the oldest messages were dropped so far"
    return _entry(JournalEvent.QUEUE_DROPPED, now, QUARANTINE, why)


def timetable_extended(before: str, after: str, who: str, why: str, now: datetime) -> JournalEntry:
    """The timetable begins at an earlier hour, `after`, than before."""
    event = JournalEvent.TIMETABLE_EXTENDED
    return _entry(event, now, who, why, before=before, after=after)


def scheduler_leads(part: str, term: int, who: str, now: datetime) -> JournalEntry:
    """A scheduler took the lease of a part: of `tree/NAME`, or of the collector."""
    why = f"{_part(part)}, term {term}"
    return _entry(JournalEvent.SCHEDULER_LEADS, now, who, why)


def scheduler_released(part: str, who: str, now: datetime) -> JournalEntry:
    """A scheduler released the lease of a part."""
    return _entry(JournalEvent.SCHEDULER_RELEASED, now, who, _part(part))


def agent_decides(term: int, who: str, now: datetime) -> JournalEntry:
    """An agent decides about schedules from now on."""
    return _entry(JournalEvent.AGENT_DECIDES, now, who, f"term {term}")


def clock_jumped(why: str, who: str, now: datetime) -> JournalEntry:
    """The clock of an agent's box was set."""
    return _entry(JournalEvent.CLOCK_JUMPED, now, who, why)


def box_synced(box: str, added: Sequence[str], who: str, why: str, now: datetime) -> JournalEntry:
    """Assignments were added to a box."""
    what = f"{box}: {', '.join(added)}"
    return _entry(JournalEvent.BOX_SYNCED, now, who, with_reason(what, why))


def with_reason(what: str, why: str) -> str:
    """The action, followed by its reason if one was given."""
    return f"{what}; {why}" if why else what


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number}" for name, number in counts.items())


def _part(part: str) -> str:
    return part.replace("/", " ", 1)
