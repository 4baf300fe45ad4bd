"""The engines that the conformance suite runs over.

An engine is named by an address, which other processes can be given too: a new engine adds
its address to the fixtures below and its case to `open_store`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from synergy.messaging.stored import StoredBus
from synergy.storage.protocol import Store
from tests.contract.crowd import open_store


def _address(engine: str, folder: Path) -> str:
    return {"sqlite-file": f"sqlite:{folder / 'synergy.db'}", "sqlite-memory": "sqlite::memory:"}[
        engine
    ]


@pytest.fixture(params=["sqlite-file", "sqlite-memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A new store, of every engine."""
    store = open_store(_address(request.param, tmp_path))
    yield store
    store.close()


@pytest.fixture(params=["sqlite-file"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a new store, of every engine that several processes can share."""
    return _address(request.param, tmp_path)


@pytest.fixture
def shared(address: str) -> Iterator[Store]:
    """This process's opening of the store at `address`."""
    store = open_store(address)
    yield store
    store.close()


@pytest.fixture
def bus(store: Store, tmp_path: Path) -> Iterator[StoredBus]:
    """A bus over every store; one in memory is heard within the process only."""
    on_disk = Path(store.status().location).is_absolute()
    bus = StoredBus(store, tmp_path if on_disk else None)
    yield bus
    bus.close()
