"""What a state machine sees of a job, and the closed set of what it may decide."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from synergy.model.job import JobState
from synergy.model.process import OnFailure
from synergy.model.unit_of_work import UnitState
from synergy.timetable.readiness import Blocker, Readiness


@dataclass(slots=True)
class UnitView:
    """A unit of the job's present generation, as far as decisions need it.

    `finished_at` is when it was processed, found nothing to do, or was canceled.
    """

    id: str
    state: UnitState
    attempt: int
    start_id: int
    end_id: int
    reason: str = ""
    finished_at: datetime | None = None

    def follow(self, state: UnitState, at: datetime | None) -> None:
        """Takes over the state of the stored unit, which was reached at `at`."""
        self.state = state
        self.finished_at = at if state.is_finished else None


@dataclass(frozen=True, slots=True)
class SourceBounds:
    """What the source holds for the period: lowest and highest write number."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Situation:
    """All that a decision may depend on.

    `is_closed`: now is strictly after the period's end plus settle. `is_checkpoint`: the job
    runs at all (`time_grouping`). `is_measured`: the source lies in the store, so `bounds`
    are known, and None means that nothing was ever written there. `units` are those of the
    present generation, oldest first: at most one runs, and at most one waits behind it.
    `may_refresh`: an interim run of a period that cannot finish yet is due. `may_retry`: the
    newest unit was given up, and since then the period closed, or `retry_failed` has passed.
    """

    state: JobState
    is_closed: bool
    is_checkpoint: bool
    readiness: Readiness
    is_measured: bool
    bounds: SourceBounds | None
    units: tuple[UnitView, ...]
    may_refresh: bool
    may_retry: bool = False
    on_failure: OnFailure = OnFailure.BLOCK

    @property
    def last(self) -> UnitView | None:
        """The newest unit."""
        return self.units[-1] if self.units else None

    @property
    def has_grown(self) -> bool:
        """Whether the source holds more than the newest unit covers."""
        return self.bounds is not None and (
            self.last is None or self.bounds.high > self.last.end_id
        )


@dataclass(frozen=True, slots=True)
class Request:
    """Create a unit over these bounds. `is_final`: the job goes to its final run with it.

    `behind`: another unit runs; this one waits until that has ended.
    """

    start_id: int
    end_id: int
    is_final: bool = False
    behind: bool = False


@dataclass(frozen=True, slots=True)
class Extend:
    """Raise the upper bound of the waiting unit, and say its id once more."""

    unit: UnitView
    end_id: int
    is_final: bool = False


@dataclass(frozen=True, slots=True)
class Finalise:
    """The unit under way already covers the final bounds: the job goes to its final run."""


@dataclass(frozen=True, slots=True)
class Finish:
    """The job is done: PROCESSED, NOOP, SKIPPED or GIVEN_UP.

    `with_` is the skipped job because of which it is skipped; that one's reason is its, too.
    `is_derived`: it is skipped only because others are, and comes back with them.
    """

    state: JobState
    why: str
    unit: str | None = None
    with_: Blocker | None = None
    is_derived: bool = False


@dataclass(frozen=True, slots=True)
class Fail:
    """The job's unit was given up; the job is failed until somebody decides."""

    why: str
    unit: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing can be done now, because of this."""

    why: str


Decision = Request | Extend | Finalise | Finish | Fail | Wait

OPEN = Wait("the period is still open, or settling")
BLOCKED = Wait("children or counterparts are not finished")
UNIT_ACTIVE = Wait("a unit of work is under way")
NOTHING_NEW = Wait("the source holds nothing new")
FAILED = Wait("failed: it is tried again, reprocessed or skipped by somebody")
