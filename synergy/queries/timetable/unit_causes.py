"""The causes of jobs that have a unit under way: it runs, is tried again, or waits for a worker."""

from __future__ import annotations

from datetime import datetime, timedelta

from synergy.model.unit_of_work import UnitOfWork, UnitState
from synergy.queries.health.staffing import Staff
from synergy.queries.timetable import remedies
from synergy.queries.timetable.causes import Cause, Job, Kind, instant
from synergy.queries.timetable.reasons import SWITCHED_OFF
from synergy.runtime import identity
from synergy.runtime.shared_parts import COLLECTOR, is_led
from synergy.storage.protocol import StoreView


class UnitCauses:
    """The causes of one look at the store."""

    def __init__(self, store: StoreView, now: datetime) -> None:
        self._store = store
        self._now = now
        self._depths: dict[str, int] | None = None

    def of(self, job: Job, unit: UnitOfWork, *, is_on: bool) -> Cause:
        """The cause of a job with this unit; `is_on`: its process is switched on."""
        if unit.state is UnitState.IN_PROGRESS:
            return self._running(job, unit)
        if unit.state is UnitState.INVALID or unit.published_at is None:
            failed = f"failed: {unit.reason}" if unit.reason else "waits"
            text = f"unit {unit.id} {failed}"
            if not is_on:
                help_ = remedies.switch_on(job.process.name)
                return job.cause(Kind.SWITCHED_OFF, f"{SWITCHED_OFF}; {text}", help_)
            if not is_led(self._store, COLLECTOR):
                text += ", but no scheduler runs the collector"
                return job.cause(Kind.NO_SCHEDULER, text, *remedies.SUPERVISE)
        return _retrying(job, unit) if unit.state is UnitState.INVALID else self._waiting(job, unit)

    def _running(self, job: Job, unit: UnitOfWork) -> Cause:
        owner = identity.parse(unit.owner or "")
        where = f"on {owner.host}, pid {owner.pid}" if owner is not None else str(unit.owner)
        helps = [remedies.unit_log(unit.id)]
        limit = timedelta(seconds=job.process.resubmit_after)
        if unit.started_at is not None and self._now - unit.started_at > limit:
            helps.append(remedies.cancel(unit.id, unit.timeperiod))
        text = f"unit {unit.id} runs {where} since {instant(unit.started_at)}"
        return job.cause(Kind.RUNNING, text, *helps)

    def _waiting(self, job: Job, unit: UnitOfWork) -> Cause:
        name = job.process.name
        if self._depths is None:
            self._depths = self._store.messages.depths()
        running = [
            other
            for other in self._store.units.unfinished()
            if other.process == name and other.state is UnitState.IN_PROGRESS
        ]
        serving = Staff(self._store, self._now).of(job.process, running)
        retried = f" (attempt {unit.attempt}; before: {unit.reason})" if unit.reason else ""
        text = (
            f"unit {unit.id} waits for a worker{retried}: {serving.text}; "
            f"{self._depths.get(job.process.queue, 0)} messages in its queue"
        )
        kind = Kind.WORKERS_BUSY if serving.busy else Kind.WAITS_FOR_WORKER
        return job.cause(kind, text, *serving.helps)


def _retrying(job: Job, unit: UnitOfWork) -> Cause:
    again = f"tried again at {instant(unit.not_before)}" if unit.not_before else ""
    text = f"failed {unit.failures} of {job.process.max_attempts} times: {unit.reason}"
    return job.cause(
        Kind.RETRYING,
        f"unit {unit.id} {text}; {again}",
        remedies.unit_log(unit.id),
        remedies.retry(unit.id),
        remedies.skip(job.process.name, unit.timeperiod),
    )
