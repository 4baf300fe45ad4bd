"""Journal entries as pages show them: in words, with links."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote

from synergy.model.journal import JournalEntry
from synergy.model.process import Deployment, ManagedProcess
from synergy.runtime.identity import short_name

_JOB, _RUN = 10, 14  # digits of the timeperiod of a job, and of the second of a run

_WORDS = {
    "agent.decides": "an agent took over deciding about schedules",
    "agent.leaves": "an agent has stopped deciding about schedules",
    "box.process_off": "was switched off on a box",
    "box.process_on": "was switched on on a box",
    "box.synced": "processes were assigned to a box",
    "delivery.failed": "could not be delivered",
    "gc.flush": "the collector was asked to run without waiting",
    "gc.requested": "the collector was asked to run",
    "gc.run": "the collector has run",
    "job.acknowledged": "was given up, and is acknowledged",
    "job.failed": "has failed, and needs a decision",
    "job.final_run": "started its final run",
    "job.given_up": "was given up after a failure",
    "job.in_progress": "was started",
    "job.noop": "had nothing to do",
    "job.processed": "is done",
    "job.retried": "is tried again",
    "job.skipped": "was skipped",
    "job.stale": "its source changed after it was done",
    "job.started_over": "was started over",
    "operation.accepted": "a long operation was accepted",
    "operation.done": "a long operation is done",
    "operation.failed": "a long operation has failed",
    "process.failed": "a process keeps dying",
    "process.off": "was switched off",
    "process.on": "was switched on",
    "process.started": "was started",
    "process.stopped": "was stopped",
    "process.trigger_frequency": "got another trigger",
    "process.triggered": "was triggered by hand",
    "queue.purged": "messages were dropped",
    "queue.replayed": "messages were sent again",
    "schedule.changed": "was changed",
    "schedule.created": "was created",
    "schedule.declared": "was created, as context.py declares it",
    "schedule.disabled": "was disabled",
    "schedule.enabled": "was enabled",
    "schedule.removed": "was removed",
    "scheduler.leads": "a scheduler took the lead",
    "scheduler.released": "a scheduler gave up the lead",
    "timetable.extended": "the timetable begins earlier now",
    "unit.canceled": "was canceled",
    "unit.extended": "covers more of its source",
    "unit.in_progress": "a worker took it",
    "unit.invalid": "an attempt failed",
    "unit.noop": "had nothing to do",
    "unit.processed": "was carried out",
    "unit.requested": "waits for a worker",
}


@dataclass(frozen=True, slots=True)
class JournalRow:
    """An entry, its meaning, the short name of its actor, and links.

    `about` is the page of its process or schedule, `jobs` the address of a job without the
    timeperiod; `unit` and `run` are pages. "" means none.
    """

    entry: JournalEntry
    words: str
    by: str
    about: str
    jobs: str
    unit: str
    run: str


def journal_rows(entries: Iterable[JournalEntry], deployment: Deployment) -> list[JournalRow]:
    """The rows of entries, in their order."""
    return [_row(entry, deployment) for entry in entries]


def _row(entry: JournalEntry, deployment: Deployment) -> JournalRow:
    noun = entry.event.partition(".")[0]
    declared, name = deployment.processes.get(entry.process), quote(entry.process, safe="")
    about = jobs = unit = run = ""
    if declared is not None:
        about = f"/processes/{name}"
    elif entry.process and noun in ("schedule", "run"):
        about = f"/schedules/{name}"
    if isinstance(declared, ManagedProcess) and len(entry.first) == _JOB:
        jobs = f"/jobs/{name}/"
    if entry.unit and noun == "unit":
        unit = f"/units/{quote(entry.unit, safe='')}"
    if entry.unit and (noun == "run" or len(entry.first) == _RUN):
        run = f"/runs/{quote(entry.unit, safe='')}"
    words = _WORDS.get(entry.event, "")
    return JournalRow(entry, words, short_name(entry.who), about, jobs, unit, run)
