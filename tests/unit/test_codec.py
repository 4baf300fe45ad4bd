"""Codecs: the stored forms of values, which engines and `store copy` share."""

from __future__ import annotations

from dataclasses import replace

import pytest

from synergy.errors import InvalidValue
from synergy.model.journal import JournalEntry
from synergy.model.schedule import RunState
from synergy.model.unit_of_work import UnitOfWork, UnitState
from synergy.storage.codec import BYTES, FLAG, INSTANT, RecordFields
from synergy.storage.instants import micros
from synergy.storage.stored_fields import ENTRY, RUN, RUN_STATES, SCHEDULE, UNIT, UNIT_STATES
from tests.contract.scheduled import a_run, a_schedule
from tests.factories import NOW, a_unit, an_entry


def the_unit() -> UnitOfWork:
    return replace(a_unit(), state=UnitState.NOOP, counts={"a": 1}, started_at=NOW)


def test_a_row_has_the_columns_in_the_requested_order() -> None:
    row = UNIT.writes_row("created_at state counts not_before id")(the_unit())
    assert row == (micros(NOW), 4, '{"a":1}', None, the_unit().id)


def test_a_row_is_read_in_any_order_of_columns() -> None:
    columns = " ".join(reversed(UNIT.names))
    row = UNIT.writes_row(columns)(the_unit())
    assert UNIT.reads_row(columns)(row) == the_unit()


def test_columns_that_are_not_fields_are_ignored() -> None:
    columns = f"number {' '.join(ENTRY.names)} more"
    entry = an_entry()
    row = ENTRY.writes_row(" ".join(ENTRY.names))(entry)
    assert ENTRY.reads_row(columns)((17, *row, "x")) == entry


def test_a_document_may_rename_fields_and_spells_states_as_words() -> None:
    document = UNIT.writes_document("id state counts", id="_id")(the_unit())
    assert document == {"_id": the_unit().id, "state": "noop", "counts": [{"name": "a", "n": 1}]}


def test_extra_fields_of_a_document_are_ignored() -> None:
    document = {**UNIT.writes_document(id="_id")(the_unit()), "v": 3}
    assert UNIT.reads_document(id="_id")(document) == the_unit()


def test_missing_fields_of_older_documents_get_their_defaults() -> None:
    document = ENTRY.writes_document()(an_entry())
    del document["flags"], document["seq"]
    entry = ENTRY.reads_document()(document)
    assert isinstance(entry, JournalEntry)
    assert (entry.flags, entry.seq) == (0, 0)


def test_the_stored_codes_of_states_never_change() -> None:
    assert [state.value for state in UNIT_STATES] == [
        "requested", "in_progress", "invalid", "processed", "noop", "canceled",
    ]  # fmt: skip
    assert set(UNIT_STATES) == set(UnitState)
    assert [state.value for state in RUN_STATES] == [
        "pending_constraint", "pending_launch", "launched", "processed", "noop", "failed",
        "aborted", "skipped", "canceled",
    ]  # fmt: skip
    assert set(RUN_STATES) == set(RunState)


def test_values_that_json_cannot_hold_are_refused_by_name() -> None:
    wrong = {"a": object()}
    with pytest.raises(InvalidValue, match="the progress of schedule 'nightly' cannot be stored"):
        SCHEDULE.writes_row("name progress")(a_schedule(progress=wrong))
    run = a_run(request=wrong)
    with pytest.raises(InvalidValue, match=f"the request of run {run.id} cannot be stored: Type"):
        RUN.writes_document("id request", id="_id")(run)


def test_stored_values_become_a_record_and_back() -> None:
    kinds = {"at": INSTANT, "is_on": FLAG, "body": BYTES}
    fields = RecordFields("name=_id at is_on body", kinds, lambda kind: kind.row)
    assert fields.stored == ["_id", "at", "is_on", "body"]
    record = fields.record(("a", 17, 1, b"\0"))
    assert record == {"name": "a", "at": 17, "is_on": True, "body": "AA=="}
    assert fields.values(record) == ["a", 17, True, b"\0"]
    assert fields.record(("a", None, None, None))["is_on"] is None
