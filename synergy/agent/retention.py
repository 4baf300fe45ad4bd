"""What is forgotten, hourly: old runs, old events, bodies that nothing refers to any more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from synergy.clock import Clock
from synergy.model.schedule import Run, RunState, Schedule
from synergy.storage.protocol import Store

EVERY = 3600.0  # seconds
RUNS_KEPT = timedelta(days=30)
EVENTS_KEPT = timedelta(days=7)
AT_ONCE = 2000  # rows in one turn, so that nothing is held up


class Retention:
    """Forgets step by step, one in a turn."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._next = clock.monotonic() + EVERY
        self._steps: Iterator[None] | None = None

    def due_in(self) -> float:
        """Seconds until there is something to forget."""
        return 0.0 if self._steps is not None else max(0.0, self._next - self._clock.monotonic())

    def work(self, now: datetime) -> bool:
        """One step, if it is time; whether there are more."""
        if self._steps is None:
            if self._clock.monotonic() < self._next:
                return False
            self._next = self._clock.monotonic() + EVERY
            self._steps = self._forget(now)
        if next(self._steps, self) is self:
            self._steps = None
        return self._steps is not None

    def _forget(self, now: datetime) -> Iterator[None]:
        while self._store.runs.prune(now - RUNS_KEPT, AT_ONCE) == AT_ONCE:
            yield
        yield
        while self._store.events.prune(now - EVENTS_KEPT, AT_ONCE) == AT_ONCE:
            yield
        yield
        yield from self._forget_payloads()

    def _forget_payloads(self) -> Iterator[None]:
        """Those that no schedule and no run that may still be sent refers to.

        A schedule that came, or a run that was sent anew, while the others were looked at is told
        of by the journal; what is written after that look waits for the end of the batch.
        """
        seq = self._store.journal.last_seq()
        kept: set[str] = set()
        cursor: str | None = None
        is_more = True
        while is_more:
            rows, cursor = self._store.schedules.find(AT_ONCE, cursor)
            kept.update(*(_of_schedule(row) for row in rows))
            is_more = cursor is not None
            yield
        for state in (RunState.LAUNCHED, RunState.FAILED):
            cursor, is_more = None, True
            while is_more:
                runs, cursor = self._store.runs.find(state=state, limit=AT_ONCE, cursor=cursor)
                kept.update(_of_runs(runs))
                is_more = cursor is not None
                yield
        with self._store.batch():
            changed: set[str] = set()
            while entries := self._store.journal.since(seq, AT_ONCE):
                seq = entries[-1].seq
                changed.update(e.process for e in entries if e.event.startswith("schedule."))
                launched = [e.unit for e in entries if e.event == "run.launched" and e.unit]
                kept.update(_of_runs(self._store.runs.get(launched) if launched else []))
            for row in self._store.schedules.get(sorted(changed)):
                kept.update(_of_schedule(row))
            self._store.payloads.prune(sorted(kept))


def _of_schedule(row: Schedule) -> set[str]:
    payload = row.definition.get("payload")
    if isinstance(payload, Mapping) and isinstance(payload.get("stored"), str):
        return {str(payload["stored"])}
    return set()


def _of_runs(runs: Iterable[Run]) -> set[str]:
    return {str(run.request["payload"]) for run in runs if "payload" in run.request}
