"""Texts that SQLite stores and Python cannot decode."""

from __future__ import annotations

import pytest

from synergy.storage.row_checks import check_all
from synergy.storage.sqlite import SqliteStore
from tests.factories import some_units

UNDECODABLE = "CAST(x'ff41' AS TEXT)"


@pytest.mark.parametrize("field", ["reason", "id"])
def test_a_text_that_is_not_utf8_makes_its_row_malformed(opened: SqliteStore, field: str) -> None:
    opened.units.create(some_units(5), "scheduler")
    with opened._database.writing() as connection:
        connection.execute(f"UPDATE unit SET {field} = {UNDECODABLE} WHERE number = 3")
    assert len(opened.units.unfinished()) == 4
    assert len(opened.units.find()[0]) == 4
    _, found = check_all(opened.rows, lambda _: None)
    (row,) = found
    assert row.kind == "units"
    assert "not UTF-8" in row.problem


def test_a_malformed_name_is_found_again(opened: SqliteStore) -> None:
    opened.units.create(some_units(2), "scheduler")
    with opened._database.writing() as connection:
        connection.execute("UPDATE journal SET at = 1 << 62 WHERE seq = 1")
    _, (row,) = check_all(opened.rows, lambda _: None)
    assert opened.rows.find(row.kind, row.name) == row
    assert opened.rows.find(row.kind, (2,)) is None
