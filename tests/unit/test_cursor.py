"""Numeric cursors."""

from __future__ import annotations

import pytest

from synergy.errors import InvalidValue
from synergy.model.cursor import HIGHEST, number_of


@pytest.mark.parametrize(
    ("cursor", "number"),
    [
        ("0", 0), ("17", 17), ("0017", 17), ("0" * 5000 + "1", 1), ("0" * 5000, 0),
        (str(HIGHEST), HIGHEST), (str(HIGHEST + 1), HIGHEST), ("9" * 5000, HIGHEST),
    ],
)  # fmt: skip
def test_a_cursor_is_a_number_that_a_store_can_hold(cursor, number):
    assert number_of(cursor) == number


@pytest.mark.parametrize("cursor", ["", "-1", "+1", "1.0", "1 ", "٣", "²", "x", "0x1", "1_000"])
def test_only_numbers_are_cursors(cursor):
    with pytest.raises(InvalidValue, match="not a cursor"):
        number_of(cursor)
