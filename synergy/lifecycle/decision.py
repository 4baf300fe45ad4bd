"""The input of the state machines, and the closed sets of decisions and reasons."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from synergy.model.job import JobState
from synergy.model.process import OnFailure
from synergy.model.unit_of_work import UnitState
from synergy.model.value import value
from synergy.timetable.readiness import Blocker, Readiness


@dataclass(slots=True)
class UnitView:
    """The part of a unit of the job's present generation that decisions depend on.

    `finished_at` is the time at which it was processed, found nothing to do, or was canceled.
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


@value
class SourceBounds:
    """The lowest and the highest write number in the source of a period."""

    low: int
    high: int


class Reason(Enum):
    """Why a job is not finished and cannot be advanced now."""

    UNIT_ACTIVE = "a unit of work is under way"
    OPEN = "the period is still open, or settling"
    SWITCHED_OFF = "the process is switched off"
    BLOCKED = "children or counterparts are not finished"
    NOT_LED = "no scheduler leads the tree"
    TURN = "its turn comes when the periods before it are finished"
    NO_SLOT = "all slots are taken"
    NOTHING_NEW = "the source holds nothing new"
    FAILED = "failed: it waits for a retry, a reprocess or a skip"


@value
class Gate:
    """Whether the process has room for another unit of this job now.

    `is_led`: a scheduler leads the tree; otherwise no decision at all is carried out.
    `is_its_turn`: the process may work on this period before the earlier ones are finished, or
    the earlier ones are all finished. `has_slot`: fewer than `max_active` of its periods are in
    flight. A job in flight keeps its slot, and its gate is `PASSES`.
    """

    is_on: bool = True
    is_led: bool = True
    is_its_turn: bool = True
    has_slot: bool = True

    @property
    def closed_by(self) -> Reason | None:
        """The first reason against a new unit; None if there is none."""
        if not self.is_on:
            return Reason.SWITCHED_OFF
        if not self.is_led:
            return Reason.NOT_LED
        if not self.is_its_turn:
            return Reason.TURN
        return None if self.has_slot else Reason.NO_SLOT


PASSES = Gate()


@value
class Situation:
    """Everything that a decision depends on.

    `is_closed`: now is strictly after `ManagedProcess.closes_at`. `is_checkpoint`: the job
    runs at all (`time_grouping`). `is_measured`: the source lies in the store, so `bounds`
    are known, and None means that nothing was ever written there. `units` are those of the
    present generation, oldest first: at most one runs, and at most one waits behind it.
    `may_refresh`: an interim run of a period that cannot finish yet is due. `may_retry`: the
    newest unit was given up, and since then the period closed, or `retry_failed` has passed.
    `gate`: whether the process may get another unit now.
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
    gate: Gate = PASSES

    @property
    def last(self) -> UnitView | None:
        return self.units[-1] if self.units else None

    @property
    def is_in_flight(self) -> bool:
        """Whether a unit is requested, runs, or is to be handed out again."""
        return any(not unit.state.is_finished for unit in self.units)

    @property
    def has_grown(self) -> bool:
        """Whether the source holds more than the newest unit covers."""
        return self.bounds is not None and (
            self.last is None or self.bounds.high > self.last.end_id
        )


@value
class Request:
    """Create a unit over these bounds. `is_final`: the job moves to its final run.

    `behind`: another unit of the job runs; the new one is published when that one has ended.
    """

    start_id: int
    end_id: int
    is_final: bool = False
    behind: bool = False


@value
class Extend:
    """Raise the upper bound of the waiting unit, and publish its id again."""

    unit: UnitView
    end_id: int
    is_final: bool = False


@value
class Finalise:
    """Move the job to its final run: the unit under way already covers the final bounds."""


@value
class Finish:
    """Finish the job as PROCESSED, NOOP, SKIPPED or GIVEN_UP.

    `with_` is the skipped job that causes this skip; its reason is added to `why`.
    `is_derived`: it is skipped only because others are, and is restored with them.
    """

    state: JobState
    why: str
    unit: str | None = None
    with_: Blocker | None = None
    is_derived: bool = False


@value
class Fail:
    """Mark the job as failed: its unit was given up."""

    why: str
    unit: str


@value
class Wait:
    """Do nothing now, for this reason."""

    reason: Reason


Decision = Request | Extend | Finalise | Finish | Fail | Wait
