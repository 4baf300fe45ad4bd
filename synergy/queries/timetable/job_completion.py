"""The standing of a job: whether its result is final, and if not, what is missing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from synergy.model.job import JobState
from synergy.queries.timetable.coverage import Uncovered, below, uncovered_below
from synergy.storage.protocol import StoreView
from synergy.timetable.timetable import Place


@dataclass(frozen=True, slots=True)
class Standing:
    """What is missing until the result of a job is final.

    A finished job may change again while events wait that may belong to it, or while it or a job
    that it is made from does not cover its source (`late`). `finished` and `total` count the job
    and all jobs that it is made from; `failed` of them are closed, and not retried automatically.
    """

    process: str
    timeperiod: str
    state: JobState
    finished: int
    total: int
    events_waiting: int
    late: Uncovered | None
    failed: int = 0

    @property
    def needs_decision(self) -> bool:
        """Whether the job needs an operator's decision to be finished."""
        return self.failed > 0 and not self.state.is_finished

    @property
    def is_settled(self) -> bool:
        """Whether the result is final: the job is finished, and nothing may change it again."""
        return self.state.is_finished and not self.events_waiting and self.late is None


def job_standing(
    store: StoreView, place: Place, ordinal: int, events_waiting: int, now: datetime
) -> Standing:
    """The standing of a job, with that of all jobs that it is made from.

    `events_waiting` are the messages that wait in the queues of daemons.
    """
    level = place.level
    state = level.state(ordinal)
    finished = total = failed = 0
    for at, first, end in below(place, ordinal):
        total += end - first
        if at.process.retry_failed is None:
            closed = min(end, at.process.closed_before(now))
            failed += sum(1 for _ in at.level.failed(first, closed))
        finished += end - first - sum(1 for _ in at.level.unfinished(first, end))
    late = None
    if state.is_finished and not events_waiting:
        late = uncovered_below(store, place, ordinal)
    timeperiod = level.timeperiod(ordinal)
    return Standing(
        place.process.name, timeperiod, state, finished, total, events_waiting, late, failed
    )
