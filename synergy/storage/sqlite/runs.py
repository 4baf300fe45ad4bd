"""Runs of schedules. Each change is checked against the stored row in its own transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import apsw

from synergy.model.schedule import Run, RunChange, RunState
from synergy.model.time_range import EVER, TimeRange
from synergy.storage import journal_entries
from synergy.storage.instants import micros
from synergy.storage.sqlite.columns import (
    Row,
    array,
    fetch,
    fetch_each,
    fetch_one,
    run,
    run_changes,
    run_code,
    run_row,
)
from synergy.storage.sqlite.database import Database
from synergy.storage.sqlite.journal import record
from synergy.storage.sqlite.queries import queries
from synergy.storage.sqlite.time_ranges import between
from synergy.storage.stored_fields import RUN_STATES

_SQL = queries("runs")


class SqliteRuns:
    """See `synergy.storage.protocol.Runs`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, runs: Sequence[Run], who: str) -> list[Run]:
        rows = [run_row(run) for run in runs]
        with self._database.writing() as connection:
            new = {row[0] for row in fetch_each(connection, _SQL["create"], rows)}
            entries, stored = [], []
            for run_ in runs:
                if run_.id in new:
                    new.remove(run_.id)
                    entries.append(journal_entries.run_created(run_, who))
                    stored.append(replace(run_, rev=1))
                else:
                    stored.append(_twin(connection, run_))
            record(connection, entries)
        return stored

    def change(self, changes: Sequence[RunChange]) -> list[RunChange]:
        refused, rows, entries = [], [], []
        ids = array(change.run.id for change in changes)
        with self._database.writing() as connection:
            present = {id_: row for id_, *row in fetch(connection, _SQL["present"], (ids,))}
            for change in changes:
                number, rev, code = present.pop(change.run.id, (0, None, 0))
                if rev != change.run.rev:
                    refused.append(change)
                    continue
                rows.append((*run_changes(change.run), number))
                before = RUN_STATES[code]
                if before is not change.run.state:
                    entries.append(journal_entries.run_changed(change, before))
            connection.executemany(_SQL["change"], rows)
            record(connection, entries)
        return refused

    def get(self, ids: Sequence[str]) -> list[Run]:
        return self._runs("get", (array(set(ids)),))

    def find(
        self,
        schedule: str | None = None,
        state: RunState | None = None,
        limit: int = 100,
        cursor: str | None = None,
        within: TimeRange = EVER,
    ) -> tuple[list[Run], str | None]:
        code = None if state is None else run_code(state)
        times = between(self._database, _SQL["between"], within)
        rows, following = self._database.page(
            _find(schedule, state), limit, cursor, schedule=schedule, state=code, **times
        )
        return run.each(rows, self._database.malformed), following

    def unfinished(self) -> list[Run]:
        return self._runs("unfinished", ())

    def last(self, schedule: str, states: Sequence[RunState]) -> Run | None:
        codes = {run_code(state) for state in states}
        found = (self._database.fetch_one(_SQL["last"], (schedule, code)) for code in codes)
        newest = sorted(filter(None, found), key=_launch, reverse=True)
        return next(iter(run.each(newest, self._database.malformed)), None)

    def prune(self, before: datetime, limit: int) -> int:
        return self._database.execute(_SQL["prune"], (micros(before), limit))

    def _runs(self, query: str, bindings: Row) -> list[Run]:
        return run.each(self._database.fetch(_SQL[query], bindings), self._database.malformed)


def _find(schedule: str | None, state: RunState | None) -> str:
    if schedule is None:
        return _SQL["find"] if state is None else _SQL["find_in_state"]
    return _SQL["find_of_schedule"] if state is None else _SQL["find_of_schedule_in_state"]


def _launch(row: Row) -> tuple[int, int]:
    number, launched_at = row[0], row[15]
    return launched_at, number


def _twin(connection: apsw.Connection, run_: Run) -> Run:
    row = fetch_one(connection, _SQL["twin"], (run_.id, run_.schedule, run_.key))
    assert row is not None, "a run with this key or id is stored"
    return run(row)
