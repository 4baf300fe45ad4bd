"""Lines that workers logged while they carried out units."""

from __future__ import annotations

from datetime import timedelta

from synergy.storage.protocol import LogLine, Store
from tests.factories import NOW


def test_lines_come_back_oldest_first_for_their_unit(store: Store) -> None:
    lines = [LogLine(NOW + timedelta(seconds=n), n, "info", f"línea {n}\n") for n in range(3)]
    store.logs.append("u", lines[:2])
    store.logs.append("other", [LogLine(NOW, 1, "error", "no")])
    store.logs.append("u", lines[2:])
    store.logs.append("u", [])
    assert store.logs.of_unit("u") == lines
    assert store.logs.of_unit("nobody") == []


def test_lines_are_read_page_by_page(store: Store) -> None:
    lines = [LogLine(NOW, 1, "info", str(number)) for number in range(5)]
    store.logs.append("u", lines)
    store.logs.append("other", lines[:2])
    assert store.logs.count("u") == 5
    assert store.logs.count("nobody") == 0
    assert store.logs.of_unit("u", 0, 2) == lines[:2]
    assert store.logs.of_unit("u", 2, 2) == lines[2:4]
    assert store.logs.of_unit("u", 4, 2) == lines[4:]
    assert store.logs.of_unit("u", 5, 2) == []
    assert store.logs.of_unit("u", 3) == lines[3:]
    assert store.logs.of_unit("u", 0, 0) == []
