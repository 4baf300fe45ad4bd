"""The columns of tables, in their order, and the functions that convert rows and values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import apsw
import orjson

from synergy.model.cursor import HIGHEST, number_of
from synergy.storage.stored_fields import (
    ANSWER,
    ENTRY,
    EVENT,
    OPERATION,
    RUN,
    RUN_STATES,
    SCHEDULE,
    UNIT,
    UNIT_STATES,
    VERSION,
)

Row = tuple[Any, ...]
"""A row as the driver returns it; the schema defines its types."""

Bindings = Sequence[Any] | dict[str, Any]
"""Values for the parameters of a query, by position or by name."""

_ABOVE_ALL = HIGHEST + 1  # higher than the number of any row

UNIT_COLUMNS = (
    "number id process timeperiod generation start_timeperiod end_timeperiod start_id end_id "
    "created_at state attempt failures not_before published_at owner heartbeat started_at "
    "finished_at counts reason superseded first_claimed_at"
)
ENTRY_COLUMNS = (
    "seq at event process first last before after generation why who unit attempt covered flags"
)
SCHEDULE_COLUMNS = (
    "number name version origin is_enabled reason progress wake_at keys created_at changed_at rev"
)
RUN_COLUMNS = (
    "number id schedule key due_at version state program created_at group priority reason attempt "
    "owner not_before launched_at finished_at rev request detail"
)
EVENT_COLUMNS = "seq id type resource timestamp at who body"
OPERATION_COLUMNS = (
    "number id kind process who why created_at state total done touched detail owner finished_at "
    "rev request"
)
ANSWER_COLUMNS = "person key fingerprint owner at status headers body rev"

_UNIT_CODES = {state: code for code, state in enumerate(UNIT_STATES)}
_RUN_CODES = {state: code for code, state in enumerate(RUN_STATES)}


def _without(columns: str, *some: str) -> str:
    """The columns except `some`."""
    return " ".join(column for column in columns.split() if column not in some)


def _from(columns: str, first: str, *some: str) -> str:
    """The columns from `first` on, except `some`: those that a change writes."""
    return _without(columns[columns.index(f" {first} ") :], *some)


unit = UNIT.reads_row(UNIT_COLUMNS)
unit_row = UNIT.writes_row(_without(UNIT_COLUMNS, "number", "superseded"))
unit_code = _UNIT_CODES.__getitem__
entry = ENTRY.reads_row(ENTRY_COLUMNS)
entry_row = ENTRY.writes_row(_without(ENTRY_COLUMNS, "seq"))
schedule = SCHEDULE.reads_row(f"{SCHEDULE_COLUMNS} definition")
schedule_row = SCHEDULE.writes_row(_without(SCHEDULE_COLUMNS, "number", "rev"))
schedule_changes = SCHEDULE.writes_row(_from(SCHEDULE_COLUMNS, "origin", "created_at", "rev"))
version = VERSION.reads_row("name version definition at who")
version_row = VERSION.writes_row("version at who definition")
run = RUN.reads_row(RUN_COLUMNS)
run_row = RUN.writes_row(_without(RUN_COLUMNS, "number", "rev"))
run_changes = RUN.writes_row(_from(RUN_COLUMNS, "version", "created_at", "rev"))
run_code = _RUN_CODES.__getitem__
event = EVENT.reads_row(EVENT_COLUMNS)
event_row = EVENT.writes_row(_without(EVENT_COLUMNS, "seq"))
operation = OPERATION.reads_row(OPERATION_COLUMNS)
operation_row = OPERATION.writes_row(_without(OPERATION_COLUMNS, "number", "rev"))
operation_changes = OPERATION.writes_row(_from(OPERATION_COLUMNS, "state", "rev", "request"))
answer = ANSWER.reads_row(ANSWER_COLUMNS)
answer_row = ANSWER.writes_row(_without(ANSWER_COLUMNS, "rev"))


def fetch(connection: apsw.Connection, query: str, bindings: Bindings = ()) -> list[Row]:
    """All rows of a query, read at once, so that no read transaction stays open."""
    return connection.execute(query, bindings).fetchall()


def fetch_each(connection: apsw.Connection, query: str, bindings: Iterable[Bindings]) -> list[Row]:
    """All rows that a query returns for a series of bindings."""
    return connection.executemany(query, bindings).fetchall()


def fetch_one(connection: apsw.Connection, query: str, bindings: Bindings = ()) -> Row | None:
    """The only row of a query, if there is one."""
    return connection.execute(query, bindings).fetchone()


def array(values: Iterable[str | int]) -> str:
    """A JSON array, for `json_each`."""
    return orjson.dumps(list(values)).decode()


def place(cursor: str | None) -> int:
    """The number below which the rows of the cursor's page are; None stands for the first page."""
    return _ABOVE_ALL if cursor is None else number_of(cursor)
