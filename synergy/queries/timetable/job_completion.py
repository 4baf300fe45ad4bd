"""The standing of a job: what is missing until its result is final."""

from __future__ import annotations

from datetime import datetime

from synergy.queries.timetable.coverage import below, uncovered_below
from synergy.queries.views import Standing
from synergy.storage.protocol import StoreView
from synergy.timetable.timetable import Place


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
