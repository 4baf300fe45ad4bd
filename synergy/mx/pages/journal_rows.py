"""Journal entries as pages show them: in words, with links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import quote

from synergy.model.journal import JournalEntry
from synergy.model.journal_event import JournalEvent, Noun
from synergy.model.process import Deployment, ManagedProcess

_JOB, _RUN = 10, 14  # digits of the timeperiod of a job, and of the second of a run

_WORDS: Mapping[str, str] = {
    JournalEvent.AGENT_DECIDES: "an agent became the one that decides about schedules",
    JournalEvent.BOX_PROCESS_OFF: "was switched off on a box",
    JournalEvent.BOX_PROCESS_ON: "was switched on on a box",
    JournalEvent.BOX_SYNCED: "processes were assigned to a box",
    JournalEvent.COLLECTION_FLUSHED: "the collector was asked to run without waiting",
    JournalEvent.COLLECTION_REQUESTED: "the collector was asked to run",
    JournalEvent.COLLECTION_RAN: "the collector has run",
    JournalEvent.JOB_ACKNOWLEDGED: "was given up, and is acknowledged",
    JournalEvent.JOB_FAILED: "has failed, and needs a decision",
    JournalEvent.JOB_FINAL_RUN: "started its final run",
    JournalEvent.JOB_GIVEN_UP: "was given up after a failure",
    JournalEvent.JOB_IN_PROGRESS: "was started",
    JournalEvent.JOB_NOOP: "had nothing to do",
    JournalEvent.JOB_PROCESSED: "is done",
    JournalEvent.JOB_RETRIED: "is retried",
    JournalEvent.JOB_SKIPPED: "was skipped",
    JournalEvent.JOB_STALE: "its source changed after it was done",
    JournalEvent.JOB_STARTED_OVER: "was started over",
    JournalEvent.OPERATION_ACCEPTED: "a long operation was accepted",
    JournalEvent.OPERATION_DONE: "a long operation is done",
    JournalEvent.OPERATION_FAILED: "a long operation has failed",
    JournalEvent.PROCESS_OFF: "was switched off",
    JournalEvent.PROCESS_ON: "was switched on",
    JournalEvent.PROCESS_STARTED: "was started",
    JournalEvent.PROCESS_TRIGGER_FREQUENCY: "got another trigger",
    JournalEvent.PROCESS_TRIGGERED: "was triggered by hand",
    JournalEvent.QUEUE_PURGED: "messages were dropped",
    JournalEvent.QUEUE_DROPPED: "quarantine was full",
    JournalEvent.QUEUE_REPLAYED: "messages were sent again",
    JournalEvent.SCHEDULE_CHANGED: "was changed",
    JournalEvent.SCHEDULE_CREATED: "was created",
    JournalEvent.SCHEDULE_DISABLED: "was disabled",
    JournalEvent.SCHEDULE_ENABLED: "was enabled",
    JournalEvent.SCHEDULE_REMOVED: "was removed",
    JournalEvent.SCHEDULER_LEADS: "a scheduler became the leader",
    JournalEvent.SCHEDULER_RELEASED: "a scheduler stopped leading",
    JournalEvent.TIMETABLE_EXTENDED: "the timetable begins earlier now",
    JournalEvent.UNIT_CANCELED: "was canceled",
    JournalEvent.UNIT_EXTENDED: "covers more rows of its source",
    JournalEvent.UNIT_IN_PROGRESS: "a worker took it",
    JournalEvent.UNIT_INVALID: "an attempt failed",
    JournalEvent.UNIT_NOOP: "had nothing to do",
    JournalEvent.UNIT_PROCESSED: "was carried out",
    JournalEvent.UNIT_REQUESTED: "waits for a worker",
}


@dataclass(frozen=True, slots=True)
class JournalRow:
    """An entry, its meaning in words, and links.

    `about` is the page of its process or schedule, `jobs` the address of a job without the
    timeperiod; `unit` and `run` are pages. "" means none.
    """

    entry: JournalEntry
    words: str
    about: str
    jobs: str
    unit: str
    run: str


def journal_rows(entries: Iterable[JournalEntry], deployment: Deployment) -> list[JournalRow]:
    """The rows of entries, in their order."""
    return [_row(entry, deployment) for entry in entries]


def _row(entry: JournalEntry, deployment: Deployment) -> JournalRow:
    declared, name = deployment.processes.get(entry.process), quote(entry.process, safe="")
    about = jobs = unit = run = ""
    if declared is not None:
        about = f"/processes/{name}"
    elif entry.process and entry.noun in (Noun.SCHEDULE, Noun.RUN):
        about = f"/schedules/{name}"
    if isinstance(declared, ManagedProcess) and len(entry.first) == _JOB:
        jobs = f"/jobs/{name}/"
    if entry.unit and entry.noun == Noun.UNIT:
        unit = f"/units/{quote(entry.unit, safe='')}"
    if entry.unit and (entry.noun == Noun.RUN or len(entry.first) == _RUN):
        run = f"/runs/{quote(entry.unit, safe='')}"
    words = _WORDS.get(entry.event, "")
    return JournalRow(entry, words, about, jobs, unit, run)
