"""Units of work. Each change is a compare-and-set on state and attempt, in SQL."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import apsw

from synergy.errors import InvalidValue
from synergy.lifecycle.legal_moves import ATTEMPT_ENDS
from synergy.model.journal import JournalEntry
from synergy.model.time_range import EVER, TimeRange
from synergy.model.unit_of_work import Conclusion, Hint, UnitChange, UnitOfWork, UnitState
from synergy.runtime.masking import mask
from synergy.storage.instants import micros, micros_or_none
from synergy.storage.journal_entries import UnitAttempt, unit_changed, unit_created, unit_extended
from synergy.storage.sqlite.columns import (
    Row,
    array,
    fetch,
    fetch_each,
    fetch_one,
    unit,
    unit_code,
    unit_row,
)
from synergy.storage.sqlite.database import Database
from synergy.storage.sqlite.documents import Replacement
from synergy.storage.sqlite.journal import record
from synergy.storage.sqlite.queries import queries
from synergy.storage.sqlite.time_ranges import between
from synergy.storage.stored_fields import UNIT_STATES, counts_text

_SQL = queries("units")


class SqliteUnits:
    """See `synergy.storage.protocol.Units`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, units: Sequence[UnitOfWork], who: str) -> list[UnitOfWork]:
        rows = [unit_row(unit) for unit in units]
        with self._database.writing() as connection:
            new = fetch_each(connection, _SQL["create"], rows)
            numbers = {row[1]: row[0] for row in new}
            connection.executemany(
                _SQL["supersede"],
                [
                    {"number": number, "process": process, "timeperiod": timeperiod}
                    for number, _, process, timeperiod in new
                ],
            )
            stored = []
            entries: list[JournalEntry] = []
            for unit_ in units:
                if numbers.pop(unit_.id, None) is None:
                    stored.append(_twin(connection, unit_))
                else:
                    stored.append(unit_)
                    entries.append(unit_created(unit_, who))
            record(connection, entries)
        return stored

    def get(self, ids: Sequence[str]) -> list[UnitOfWork]:
        return self._units("get", (array(set(ids)),))

    def of_jobs(self, process: str, first: str, last: str) -> list[UnitOfWork]:
        return self._units("of_jobs", (process, first, last))

    def newest(self, process: str, timeperiod: str, limit: int) -> list[UnitOfWork]:
        return self._units("newest", (process, timeperiod, limit))

    def find(
        self,
        process: str | None = None,
        state: UnitState | None = None,
        limit: int = 100,
        cursor: str | None = None,
        within: TimeRange = EVER,
    ) -> tuple[list[UnitOfWork], str | None]:
        code = None if state is None else unit_code(state)
        times = between(self._database, _SQL["between"], within)
        rows, following = self._database.page(
            _find(process, state), limit, cursor, process=process, state=code, **times
        )
        return unit.each(rows, self._database.malformed), following

    def unfinished(self) -> list[UnitOfWork]:
        return self._units("unfinished", ())

    def claim(self, hints: Sequence[Hint], owner: str, now: datetime) -> list[UnitOfWork]:
        at = micros(now)
        bindings = [(owner, at, hint.unit, hint.attempt) for hint in hints]
        with self._database.writing() as connection:
            claimed = unit.each(
                fetch_each(connection, _SQL["claim"], bindings), self._database.malformed
            )
            before, after = UnitState.REQUESTED, UnitState.IN_PROGRESS
            record(connection, [unit_changed(u, before, after, "", owner, now) for u in claimed])
        return claimed

    def heartbeat(self, claims: Sequence[Hint], owner: str) -> list[Hint]:
        bindings = [(claim.unit, claim.attempt, owner) for claim in claims]
        with self._database.writing() as connection:
            rows = fetch_each(connection, _SQL["heartbeat"], bindings)
        alive = {Hint(*row) for row in rows}
        return [claim for claim in claims if claim not in alive]

    def give_back(self, claims: Sequence[Hint], owner: str, now: datetime) -> list[UnitOfWork]:
        bindings = [(claim.unit, claim.attempt, owner) for claim in claims]
        with self._database.writing() as connection:
            given = unit.each(
                fetch_each(connection, _SQL["give_back"], bindings), self._database.malformed
            )
            before, after, why = UnitState.IN_PROGRESS, UnitState.REQUESTED, "given back"
            record(connection, [unit_changed(u, before, after, why, owner, now) for u in given])
        return given

    def conclude(self, conclusions: Sequence[Conclusion], now: datetime) -> list[Conclusion]:
        at = micros(now)
        prepared = [_prepared(conclusion) for conclusion in conclusions]
        refused = []
        entries: list[JournalEntry] = []
        with self._database.writing() as connection:
            for conclusion, replacements in zip(conclusions, prepared, strict=True):
                row = fetch_one(connection, _SQL["conclude"], _ending(conclusion, at))
                if row is None:
                    refused.append(conclusion)
                    continue
                entries.append(_concluded(conclusion, row, now))
                for replacement in replacements:
                    replacement.write(connection)
            record(connection, entries)
        return refused

    def move(self, moves: Sequence[UnitChange], now: datetime) -> list[UnitChange]:
        at = micros(now)
        refused = []
        entries: list[JournalEntry] = []
        with self._database.writing() as connection:
            for move in moves:
                row = fetch_one(connection, _SQL["move"], _moving(move, at))
                if row is None:
                    refused.append(move)
                else:
                    entries.append(_moved(move, row, now))
            record(connection, entries)
        return refused

    def extend(self, unit: str, attempt: int, end_id: int, now: datetime) -> bool:
        with self._database.writing() as connection:
            row = fetch_one(connection, _SQL["extend"], (end_id, unit, attempt))
            if row is None:
                return False
            process, timeperiod, generation, code = row
            extended = UnitAttempt(unit, process, timeperiod, generation, attempt)
            record(connection, [unit_extended(extended, UNIT_STATES[code], end_id, now)])
        return True

    def published(self, hints: Sequence[Hint], now: datetime) -> None:
        at = micros(now)
        with self._database.writing() as connection:
            bindings = [(at, hint.unit, hint.attempt) for hint in hints]
            connection.executemany(_SQL["published"], bindings)

    def counts(self) -> dict[tuple[str, UnitState], int]:
        rows = self._database.fetch(_SQL["counts"])
        return {(process, UNIT_STATES[code]): number for process, code, number in rows}

    def requested(self) -> set[str]:
        return {process for (process,) in self._database.fetch(_SQL["requested"])}

    def prune(self, before: datetime, limit: int) -> int:
        with self._database.writing() as connection:
            rows = fetch(connection, _SQL["prunable"], (micros(before), limit))
            connection.executemany(_SQL["delete"], [(number,) for number, _ in rows])
            connection.executemany(_SQL["delete_log"], [(unit,) for _, unit in rows])
        return len(rows)

    def _units(self, query: str, bindings: Row) -> list[UnitOfWork]:
        return unit.each(self._database.fetch(_SQL[query], bindings), self._database.malformed)


def _find(process: str | None, state: UnitState | None) -> str:
    if process is None:
        return _SQL["find"] if state is None else _SQL["find_in_state"]
    if state is None:
        return _SQL["find_in_process"]
    finished = state.is_finished
    return _SQL["find_finished_in_process"] if finished else _SQL["find_unfinished_in_process"]


def _twin(connection: apsw.Connection, unit_: UnitOfWork) -> UnitOfWork:
    key = (unit_.process, unit_.timeperiod, unit_.generation, unit_.start_id, unit_.end_id)
    row = fetch_one(connection, _SQL["twin"], (unit_.id, *key))
    assert row is not None, "a unit with this key or id is stored"
    return unit(row)


def _prepared(conclusion: Conclusion) -> list[Replacement]:
    if conclusion.state not in ATTEMPT_ENDS:
        raise InvalidValue(f"an attempt does not end as {conclusion.state.value}")
    return [Replacement(write) for write in conclusion.writes]


def _ending(conclusion: Conclusion, at: int) -> Row:
    return (
        unit_code(conclusion.state),
        micros_or_none(conclusion.not_before),
        at,
        counts_text(conclusion.counts),
        mask(conclusion.reason),
        conclusion.unit,
        conclusion.attempt,
        conclusion.owner,
    )


def _concluded(conclusion: Conclusion, row: Row, now: datetime) -> JournalEntry:
    process, timeperiod, generation = row
    unit = UnitAttempt(conclusion.unit, process, timeperiod, generation, conclusion.attempt)
    return unit_changed(
        unit, UnitState.IN_PROGRESS, conclusion.state, conclusion.reason, conclusion.owner, now
    )


def _moving(move: UnitChange, at: int) -> dict[str, str | int | None]:
    return {
        "id": move.unit,
        "before": unit_code(move.before),
        "after": unit_code(move.after),
        "attempt": move.attempt,
        "heartbeat": move.heartbeat,
        "next_attempt": move.next_attempt,
        "failed": move.failed,
        "forgive": move.forgive,
        "not_before": micros_or_none(move.not_before),
        "why": mask(move.why),
        "now": at,
    }


def _moved(move: UnitChange, row: Row, now: datetime) -> JournalEntry:
    return unit_changed(
        UnitAttempt(move.unit, *row), move.before, move.after, move.why, move.who, now
    )
