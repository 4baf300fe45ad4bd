"""A SQLite store in a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from synergy.storage.sqlite import SqliteStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "synergy.db"


@pytest.fixture
def opened(path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore.open(path)
    yield store
    store.close()
