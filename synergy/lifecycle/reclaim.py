"""When a unit is handed out again or canceled, and how long it waits between attempts (`again_at`).

Pure functions from observations to a verdict. Correctness never depends on the verdict: a live
worker that is judged dead by mistake loses its attempt, and its result is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from synergy.model.process import FreerunProcess, WorkingProcess
from synergy.model.unit_of_work import UnitOfWork, UnitState


class Verdict(Enum):
    """What is to be done with a unit."""

    LEAVE = "leave"
    PUBLISH = "publish"  # publish its id again, in the same attempt
    HAND_OUT = "hand out"  # attempt + 1
    TIME_OUT = "time out"  # the attempt fails, and is taken from its worker
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True)
class Observed:
    """What the collector observes of a unit, in addition to its row.

    `silent_for` and `running_for` are seconds on the collector's own clock: since the heartbeat
    last moved (its limit is `heartbeat_timeout` of the process), and since this attempt was first
    seen in progress.
    `owner_is_gone`: the worker's process provably no longer exists. `queue_is_empty`: no
    message waits in the process's queue. `superseded`: its job is finished, or was started
    over. `flush`: an operator asked for a run without waiting times.
    """

    silent_for: float
    owner_is_gone: bool
    queue_is_empty: bool
    superseded: bool
    flush: bool
    running_for: float = 0.0


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict, why, and whether the attempt counts as a failure.

    `again_at`: when a unit that is left, or timed out, may be handed out again, if known.
    """

    verdict: Verdict
    why: str = ""
    failed: bool = False
    again_at: datetime | None = None


_LEAVE = Judgement(Verdict.LEAVE)
_LONGEST_BACKOFF = timedelta(hours=1)
SLACK = 30.0  # seconds after the timeout in which the worker may end the attempt by itself


def again_at(unit: UnitOfWork, process: WorkingProcess, now: datetime) -> datetime:
    """When a unit whose attempt fails now may be handed out again.

    The back-off doubles with each failure, up to an hour.
    """
    backoff = timedelta(seconds=process.retry_backoff * 2.0 ** min(unit.failures, 20))
    return now + min(backoff, _LONGEST_BACKOFF)


def timed_out(timeout: float) -> str:
    """The reason of an attempt that took too long."""
    return f"timed out after {timeout:g} s"


def judge(unit: UnitOfWork, process: WorkingProcess, seen: Observed, now: datetime) -> Judgement:
    """What to do with a unit that is requested, in progress or invalid."""
    if seen.superseded:
        return Judgement(Verdict.CANCEL, "its job was finished or started over without it")
    if unit.state is UnitState.IN_PROGRESS:
        return _running(unit, process, seen, now)
    if _is_too_old(unit, process, now):
        last = f"; last: {unit.reason}" if unit.reason else ""
        # The job is failed because of the cancellation; a run fails only if a failure is counted.
        failed = isinstance(process, FreerunProcess)
        why = f"not done within {process.life_support:g} s{last}"
        return Judgement(Verdict.CANCEL, why, failed)
    if unit.state is UnitState.INVALID:
        return _invalid(unit, process, seen, now)
    return _requested(unit, process, seen, now)


def _is_too_old(unit: UnitOfWork, process: WorkingProcess, now: datetime) -> bool:
    """Whether `life_support` has passed since its first claim; the wait for that does not count."""
    first = unit.first_claimed_at
    return first is not None and now - first > timedelta(seconds=process.life_support)


def _running(unit: UnitOfWork, process: WorkingProcess, seen: Observed, now: datetime) -> Judgement:
    if not seen.owner_is_gone and seen.silent_for < process.heartbeat_timeout:
        if process.timeout is None or seen.running_for < process.timeout + SLACK:
            return _LEAVE
        why, again = timed_out(process.timeout), again_at(unit, process, now)
        return Judgement(Verdict.TIME_OUT, why, failed=True, again_at=again)
    why = "its worker is gone" if seen.owner_is_gone else "its worker's heartbeat stopped"
    if unit.failures + 1 >= process.max_attempts:
        return Judgement(Verdict.CANCEL, _after(unit.failures + 1, why), failed=True)
    return Judgement(Verdict.HAND_OUT, why, failed=True)


def _invalid(unit: UnitOfWork, process: WorkingProcess, seen: Observed, now: datetime) -> Judgement:
    if unit.failures >= process.max_attempts:
        last = unit.reason if unit.failures > 1 else f"failed: {unit.reason}"
        return Judgement(Verdict.CANCEL, _after(unit.failures, last))
    if _waits(unit, seen, now):
        return Judgement(Verdict.LEAVE, again_at=unit.not_before)
    return Judgement(Verdict.HAND_OUT, unit.reason)


def _after(failures: int, last: str) -> str:
    """The reason after so many failures; those before the last one may have had other reasons."""
    return f"failed {failures} times; last: {last}" if failures > 1 else last


def _requested(
    unit: UnitOfWork, process: WorkingProcess, seen: Observed, now: datetime
) -> Judgement:
    if _waits(unit, seen, now):
        return Judgement(Verdict.LEAVE, again_at=unit.not_before)
    if unit.published_at is None:
        return Judgement(Verdict.PUBLISH, "never published")
    if seen.queue_is_empty:
        return Judgement(Verdict.PUBLISH, "its message is lost")
    if now - unit.published_at > timedelta(seconds=process.resubmit_after):
        return Judgement(Verdict.PUBLISH, f"not picked up for {process.resubmit_after:g} s")
    return _LEAVE


def _waits(unit: UnitOfWork, seen: Observed, now: datetime) -> bool:
    """Whether its back-off is not over.

    A back-off beyond the longest one means that the clock was set back, and is ignored.
    """
    if unit.not_before is None or seen.flush:
        return False
    return now < unit.not_before <= now + _LONGEST_BACKOFF
