"""What triggers react to: external events, ended jobs, ended runs."""

from __future__ import annotations

from collections.abc import Mapping

from synergy.model.job import JobState
from synergy.model.journal import JournalEntry, job_event, run_event
from synergy.model.process import ManagedProcess
from synergy.model.schedule import Event, RunState
from synergy.schedule.check_context import OF_JOBS
from synergy.schedule.progress.ended_periods import Ended
from synergy.schedule.progress.event_keys import event_keys
from synergy.schedule.progress.state import Occurrence

JOB_ENDS = {job_event(JobState[status.upper()]).value: status for status in OF_JOBS}
RUN_ENDS = frozenset(run_event(state) for state in RunState if state.is_finished)


def of_event(event: Event) -> tuple[tuple[str, ...], Occurrence]:
    """An external event, and the keys by which schedules listen to it."""
    keys = event_keys(event.type, event.resource)
    partitions = event.body.get("partitions", 1)
    occurrence = Occurrence(
        stream="events",
        seq=event.seq,
        id=event.id,
        key=keys[0] if keys else "",
        type=event.type,
        resource=event.resource,
        at=event.timestamp,
        received_at=event.at,
        partitions=partitions if isinstance(partitions, int) else 1,
    )
    return keys, occurrence


def process_keys(process: str) -> tuple[str, ...]:
    """The keys by which schedules listen to the ends of a process's jobs and runs."""
    return (f"program|{process}", f"timetable|{process}")


def of_run(entry: JournalEntry, program: str) -> Occurrence:
    """The end of a run of a free-run process."""
    return Occurrence(
        stream="journal",
        seq=entry.seq,
        id=entry.run,
        key=f"program|{program}",
        type="program",
        resource=program,
        at=entry.at,
        process=program,
        status=entry.after,
    )


def of_jobs(entry: JournalEntry, managed: Mapping[str, ManagedProcess]) -> Ended | None:
    """The ends of neighbouring jobs that an entry records.

    None if their process is unknown, or had another qualifier at that time.
    """
    process = managed.get(entry.process)
    if process is None:
        return None
    qualifier = process.qualifier
    if not (qualifier.names(entry.first) and qualifier.names(entry.last)):
        return None
    return Ended(
        seq=entry.seq,
        at=entry.at,
        process=process.name,
        qualifier=qualifier,
        grouping=process.time_grouping,
        status=JOB_ENDS[entry.event],
        generation=entry.generation,
        first=qualifier.parse(entry.first),
        last=qualifier.parse(entry.last),
    )
