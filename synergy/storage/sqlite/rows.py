"""Between rows and values: states as codes, columns in their order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import apsw
import orjson

from synergy.model.cursor import HIGHEST, number_of
from synergy.model.journal import JournalEntry
from synergy.model.unit_of_work import UnitOfWork, UnitState
from synergy.storage.encoding import instant, instant_or_none, micros, micros_or_none

Row = tuple[Any, ...]
"""A row as the driver gives it; the schema says what is in it."""

Bindings = Row | dict[str, Any]
"""Values for the parameters of a query, by position or by name."""

_STATES = (
    UnitState.REQUESTED,
    UnitState.IN_PROGRESS,
    UnitState.INVALID,
    UnitState.PROCESSED,  # from here on, a unit is finished
    UnitState.NOOP,
    UnitState.CANCELED,
)
_NEWEST = HIGHEST + 1  # the cursor before everything
_CODES = {state: code for code, state in enumerate(_STATES)}
_WORDS = tuple(state.value for state in _STATES)


def fetch(connection: apsw.Connection, query: str, bindings: Bindings = ()) -> list[Row]:
    """All rows of a query, at once, so that no reading stays open."""
    return connection.execute(query, bindings).fetchall()


def fetch_each(connection: apsw.Connection, query: str, bindings: Iterable[Bindings]) -> list[Row]:
    """All rows that a query gives for one set of bindings after the other."""
    return connection.executemany(query, bindings).fetchall()


def fetch_one(connection: apsw.Connection, query: str, bindings: Bindings = ()) -> Row | None:
    """The only row of a query, if there is one."""
    return connection.execute(query, bindings).fetchone()


def code(state: UnitState) -> int:
    """A unit's state as it is stored."""
    return _CODES[state]


def state(stored: int) -> UnitState:
    """The state that `code` stored."""
    return _STATES[stored]


def word(stored: int) -> str:
    """The word for a stored state, as the journal has it."""
    return _WORDS[stored]


def unit(row: Row) -> UnitOfWork:
    """A row of `unit`, whose columns follow the fields of UnitOfWork, but for `superseded`."""
    (
        _, id_, process, timeperiod, generation, start_timeperiod, end_timeperiod, start_id, end_id,
        created_at, state_, attempt, failures, not_before, published_at, owner, heartbeat,
        started_at, finished_at, counts_, reason, _, first_claimed_at,
    ) = row  # fmt: skip
    return UnitOfWork(
        id_,
        process,
        timeperiod,
        generation,
        start_timeperiod,
        end_timeperiod,
        start_id,
        end_id,
        instant(created_at),
        _STATES[state_],
        attempt,
        failures,
        instant_or_none(not_before),
        instant_or_none(published_at),
        owner,
        heartbeat,
        instant_or_none(started_at),
        instant_or_none(finished_at),
        orjson.loads(counts_) if counts_ else {},
        reason,
        instant_or_none(first_claimed_at),
    )


def unit_row(unit: UnitOfWork) -> Row:
    """The columns of a new unit, without number and `superseded`."""
    return (
        unit.id,
        unit.process,
        unit.timeperiod,
        unit.generation,
        unit.start_timeperiod,
        unit.end_timeperiod,
        unit.start_id,
        unit.end_id,
        micros(unit.created_at),
        code(unit.state),
        unit.attempt,
        unit.failures,
        micros_or_none(unit.not_before),
        micros_or_none(unit.published_at),
        unit.owner,
        unit.heartbeat,
        micros_or_none(unit.started_at),
        micros_or_none(unit.finished_at),
        counts(unit.counts),
        unit.reason,
        micros_or_none(unit.first_claimed_at),
    )


def whole_unit_row(unit: UnitOfWork, number: int, is_superseded: bool) -> Row:
    """All columns of a unit, in the order of the table."""
    *columns, first_claimed_at = unit_row(unit)
    return (number, *columns, is_superseded, first_claimed_at)


def is_superseded(row: Row) -> bool:
    """Whether the unit of this row has a newer one of its job beside it."""
    return bool(row[-2])


def counts(numbers: Mapping[str, int]) -> str | None:
    """What a unit counted, as JSON; NULL for nothing."""
    return orjson.dumps(dict(numbers)).decode() if numbers else None


def entry(row: Row) -> JournalEntry:
    """A row of `journal`."""
    (
        seq, at, event, process, first, last, before, after, generation, why, who, unit, attempt,
        covered, flags,
    ) = row  # fmt: skip
    return JournalEntry(
        instant(at), event, process, first, last, before, after, generation, why, who, unit,
        attempt, covered, flags, seq,
    )  # fmt: skip


def entry_row(entry: JournalEntry) -> Row:
    """The columns of a new entry, without its number."""
    return (
        micros(entry.at),
        entry.event,
        entry.process,
        entry.first,
        entry.last,
        entry.before,
        entry.after,
        entry.generation,
        entry.why,
        entry.who,
        entry.unit,
        entry.attempt,
        entry.covered,
        entry.flags,
    )


def array(values: Iterable[str | int]) -> str:
    """A JSON array, for `json_each`."""
    return orjson.dumps(list(values)).decode()


def place(cursor: str | None) -> int:
    """The number below which a page begins that is read from the newest on."""
    return _NEWEST if cursor is None else number_of(cursor)
