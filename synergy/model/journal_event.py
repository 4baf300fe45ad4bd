"""The events of the journal."""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class Noun(StrEnum):
    """The subject of an entry: the part of its event before the dot."""

    JOB = "job"
    UNIT = "unit"
    RUN = "run"
    SCHEDULE = "schedule"
    PROCESS = "process"
    BOX = "box"
    COLLECTOR = "gc"
    QUEUE = "queue"
    TIMETABLE = "timetable"
    OPERATION = "operation"
    SCHEDULER = "scheduler"
    AGENT = "agent"
    CLOCK = "clock"


class JournalEvent(StrEnum):
    """The events of the journal, by noun, and when an entry of each is written.

    The names are stored, and logs and metrics use them as well: they never change.
    `docs/journal.md` is generated from this table.
    """

    written: str

    def __new__(cls, name: str, written: str = "") -> Self:
        """A member is its name; `written` says when an entry is written."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.written = written
        return member

    JOB_IN_PROGRESS = "job.in_progress", "its first unit, or one after a failure, was requested"
    JOB_FINAL_RUN = "job.final_run", "a unit over the final bounds of the period is under way"
    JOB_PROCESSED = "job.processed", "its last unit was processed, and all children are finished"
    JOB_NOOP = "job.noop", "there was nothing to do"
    JOB_SKIPPED = "job.skipped", "an operator skipped it, or it is skipped because other jobs are"
    JOB_FAILED = "job.failed", "its unit was canceled; it waits for a retry or an operator"
    JOB_GIVEN_UP = "job.given_up", 'its unit was canceled, and the process says `on_failure="skip"`'
    JOB_ACKNOWLEDGED = "job.acknowledged", "an operator acknowledged that it was given up"
    JOB_RETRIED = "job.retried", "a failed job waits for a new unit, in the same generation"
    JOB_STARTED_OVER = "job.started_over", "a new generation begins: reprocess, or late data"
    JOB_STALE = "job.stale", "its source changed after its end, and it was left as it is"

    UNIT_REQUESTED = "unit.requested", "the unit was created, or waits for a worker again"
    UNIT_IN_PROGRESS = "unit.in_progress", "a worker claimed it"
    UNIT_INVALID = "unit.invalid", "an attempt failed"
    UNIT_PROCESSED = "unit.processed", "the work function said so, or the command exited with 0"
    UNIT_NOOP = "unit.noop", "the worker had nothing to do"
    UNIT_CANCELED = "unit.canceled", "the collector, the scheduler or an operator canceled it"
    UNIT_EXTENDED = "unit.extended", "it covers later writes to its source as well"

    RUN_PENDING_CONSTRAINT = "run.pending_constraint", "triggered; waits for its run constraints"
    RUN_PENDING_LAUNCH = "run.pending_launch", "its run constraints are met; waits for its turn"
    RUN_LAUNCHED = "run.launched", "it is carried out, or sent, from now on until it ends"
    RUN_PROCESSED = "run.processed", "the worker or the receiver said that it is done"
    RUN_NOOP = "run.noop", "the worker had nothing to do"
    RUN_FAILED = "run.failed", "given up after its last attempt"
    RUN_ABORTED = "run.aborted", "a pending run was dropped"
    RUN_SKIPPED = "run.skipped", "a due time, or the end of old periods, that makes no run"
    RUN_CANCELED = "run.canceled", "an operator canceled it"

    SCHEDULE_CREATED = "schedule.created", "a schedule was added"
    SCHEDULE_CHANGED = "schedule.changed", "it has a new definition"
    SCHEDULE_ENABLED = "schedule.enabled", "it makes runs from now on"
    SCHEDULE_DISABLED = "schedule.disabled", "it makes no runs until it is enabled"
    SCHEDULE_REMOVED = "schedule.removed", "it was removed"

    PROCESS_ON = "process.on", "a process was switched on, on all boxes"
    PROCESS_OFF = "process.off", "a process was switched off, on all boxes"
    PROCESS_STARTED = "process.started", "an operating system process of a worker started"
    PROCESS_TRIGGERED = "process.triggered", "an operator made it look for work at once"
    PROCESS_TRIGGER_FREQUENCY = "process.trigger_frequency", "its trigger was changed"

    BOX_PROCESS_ON = "box.process_on", "a process was switched on, on one box"
    BOX_PROCESS_OFF = "box.process_off", "a process was switched off, on one box"
    BOX_SYNCED = "box.synced", "missing assignments of `context.py` were added to a box"

    COLLECTION_REQUESTED = "gc.requested", "an operator asked for a run of the collector"
    COLLECTION_FLUSHED = "gc.flush", "the same, without waiting times"
    COLLECTION_RAN = "gc.run", "the collector ran, and did something or was asked for"

    QUEUE_REPLAYED = "queue.replayed", "messages in quarantine were sent again"
    QUEUE_PURGED = "queue.purged", "messages of a queue, or those in quarantine, were dropped"
    QUEUE_DROPPED = "queue.dropped", "quarantine was full, and its oldest messages were dropped"

    TIMETABLE_EXTENDED = "timetable.extended", "the timetable begins at an earlier hour"

    OPERATION_ACCEPTED = "operation.accepted", "a long operation was asked for"
    OPERATION_DONE = "operation.done", "it is done"
    OPERATION_FAILED = "operation.failed", "it failed"

    SCHEDULER_LEADS = "scheduler.leads", "a scheduler took the lease of a tree or the collector"
    SCHEDULER_RELEASED = "scheduler.released", "a scheduler released such a lease"

    AGENT_DECIDES = "agent.decides", "an agent took the lease for deciding about schedules"

    CLOCK_JUMPED = "clock.jumped", "the clock of an agent's box was set; nothing fires for a while"

    @property
    def noun(self) -> Noun:
        """The subject of its entries."""
        return Noun(self.partition(".")[0])
