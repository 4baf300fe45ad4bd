"""Deletes rows past their retention: the only place where age deletes anything from the store.

Each kind of row has an age in `model.retention`, which the setting `RETENTION` changes
(`config.retention`). Payloads have no age: they are deleted when no schedule, and no run that may
still be sent, refers to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from synergy.clock import Clock
from synergy.model.journal_event import JournalEvent, Noun
from synergy.model.retention import Retention
from synergy.model.schedule import Run, RunState, Schedule
from synergy.storage.protocol import Store

AT_MOST = 5000  # the most rows of a kind in one run, so that no run takes long
SWEEP_EVERY_SECONDS = 3600.0
AT_ONCE = 2000  # the most rows that one step of a sweep reads or deletes


class Pruner:
    """Deletes units and journal entries in runs, and all other rows in sweeps of short steps.

    Runs are frequent and limited, because jobs leave units and entries all the time; a sweep
    deletes everything that is due.
    """

    def __init__(self, store: Store, clock: Clock, retention: Retention) -> None:
        self._store = store
        self._clock = clock
        self._retention = retention
        self._next = clock.monotonic() + SWEEP_EVERY_SECONDS
        self._steps: Iterator[None] | None = None

    def run_once(self, now: datetime) -> int:
        """Deletes old units and journal entries; returns how many."""
        units = self._store.units.prune(now - self._retention.units, AT_MOST)
        return units + self._store.journal.prune(now - self._retention.journal, AT_MOST)

    def sweep_due_in(self) -> float:
        """Seconds until the next step of a sweep."""
        return 0.0 if self._steps is not None else max(0.0, self._next - self._clock.monotonic())

    def sweep(self, now: datetime) -> bool:
        """Takes one step, if it is due; returns whether more follow."""
        if self._steps is None:
            if self._clock.monotonic() < self._next:
                return False
            self._next = self._clock.monotonic() + SWEEP_EVERY_SECONDS
            self._steps = self._sweep(now)
        if next(self._steps, self) is self:
            self._steps = None
        return self._steps is not None

    def _sweep(self, now: datetime) -> Iterator[None]:
        store, kept = self._store, self._retention
        for prune, age in (
            (store.runs.prune, kept.runs),
            (store.events.prune, kept.events),
            (store.operations.prune, kept.operations),
            (store.answers.prune, kept.answers),
        ):
            while prune(now - age, AT_ONCE) == AT_ONCE:
                yield
            yield
        yield from self._sweep_payloads()

    def _sweep_payloads(self) -> Iterator[None]:
        """Deletes the payloads that no schedule and no run that may still be sent refers to.

        The journal names the schedules that changed, and the runs that were launched, since the
        sweep of payloads began; later writes wait for the end of the batch.
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
                changed.update(e.process for e in entries if e.noun == Noun.SCHEDULE)
                launched = [e.run for e in entries if e.event == JournalEvent.RUN_LAUNCHED]
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
