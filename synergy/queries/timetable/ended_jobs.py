"""The causes of finished and of failed jobs, from the journal."""

from __future__ import annotations

from datetime import datetime, timedelta

from synergy.model.job import JobState
from synergy.model.journal import JournalEntry, job_event
from synergy.model.journal_event import JournalEvent
from synergy.queries.timetable import remedies
from synergy.queries.timetable.causes import Cause, Job, Kind, instant
from synergy.queries.timetable.coverage import uncovered
from synergy.queries.timetable.remedies import Remedy
from synergy.runtime import identity
from synergy.storage.protocol import StoreView
from synergy.timetable.readiness import skipped_counterparts

LOOK = 20  # entries of a job that are searched for one about its end


def finished(store: StoreView, job: Job) -> Cause:
    """Why a job is finished, and what would start it over."""
    again = remedies.reprocess(job.process.name, job.timeperiod)
    word = job.state.word.replace("_", " ")
    if next(uncovered(store, job.place, job.ordinal, job.ordinal + 1), None) is not None:
        text = "but its source was written to since: it is started over after a quiet time of 10 s"
        return job.cause(Kind.LATE_DATA, f"{job.state.word}, {text}", again)
    stale = _stale(job)
    if job.place.level.is_acknowledged(job.ordinal):
        entry = _entry(store, job, JournalEvent.JOB_ACKNOWLEDGED)
        text = f"given up, and acknowledged{_because(entry)}{stale}"
    else:
        entry = _entry(store, job, job_event(job.state))
        text = word if entry is None else f"{word} at {instant(entry.at)}"
        text += f"{_because(entry)}{stale}"
    if job.state is JobState.GIVEN_UP:
        acknowledge = remedies.acknowledge_jobs(job.process.name, job.timeperiod)
        return job.cause(Kind.GIVEN_UP, text, acknowledge, again)
    if job.state is JobState.SKIPPED:
        return job.cause(Kind.SKIPPED, text, _restore(job))
    return job.cause(Kind.FINISHED, text, *((again,) if stale else ()))


def failed(store: StoreView, job: Job, now: datetime) -> Cause:
    """Why a job is failed, when it is tried again, and what would help."""
    name, process = job.timeperiod, job.process.name
    entry = _entry(store, job, JournalEvent.JOB_FAILED)
    text = "failed" if entry is None else f"failed at {instant(entry.at)}: {entry.why}"
    canceled = _entry(store, job, JournalEvent.UNIT_CANCELED)
    by = "" if canceled is None else f" ({identity.short_name(canceled.who)})"
    log = () if entry is None or entry.unit is None else (remedies.unit_log(entry.unit),)
    return job.cause(
        Kind.FAILED,
        f"{text}{by}; {_retries(job, entry, now)}",
        remedies.retry_jobs(process, name),
        remedies.reprocess(process, name),
        remedies.skip(process, name),
        *log,
    )


def _retries(job: Job, failure: JournalEntry | None, now: datetime) -> str:
    """The occasions on which a failed job is tried again automatically."""
    process = job.process
    again = [] if process.stored_source is None else ["when its source grows"]
    if now <= job.closes_at:
        again.append("when its period closes")
    if process.retry_failed is not None and failure is not None:
        due = failure.at + timedelta(seconds=process.retry_failed)
        again.append(f"by itself at {instant(due)}")
    return f"it is tried again {', or '.join(again)}" if again else "an operator has to decide"


def _because(entry: JournalEntry | None) -> str:
    if entry is None or not entry.why:
        return ""
    return f": {entry.why} ({identity.short_name(entry.who)})"


def _stale(job: Job) -> str:
    if not job.place.level.is_stale(job.ordinal):
        return ""
    if job.state is JobState.SKIPPED:
        return "; its source changed since, which a reprocess brings in"
    return "; its source changed since (stale)"


def _restore(job: Job) -> Remedy:
    """The reprocess that restores a skipped job: often that of the job that caused the skip."""
    cause = next(skipped_counterparts(job.place, job.ordinal), None)
    if cause is not None and job.place.level.is_derived(job.ordinal):
        return remedies.reprocess(cause.process, cause.timeperiod)
    return remedies.reprocess(job.process.name, job.timeperiod)


def _entry(store: StoreView, job: Job, event: JournalEvent) -> JournalEntry | None:
    """The newest entry of an event in the journal of a job."""
    entries = store.journal.of_job(job.process.name, job.timeperiod, limit=LOOK)
    return next((entry for entry in entries if entry.event == event), None)
