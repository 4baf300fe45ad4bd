"""The engines that the conformance suite runs over.

An engine is named by an address, which other processes can be given too: a new engine adds
its address to `_address` below and its case to `open_store`. A test module that is for some of
them only names these as `ENGINES`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from synergy.messaging.stored import StoredBus
from synergy.storage.protocol import Store
from tests.contract.crowd import open_store
from tests.contract.engines import ALL, MONGOMOCK, SHARED, beyond_mongomock


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    engines: Sequence[str] = getattr(metafunc.module, "ENGINES", ALL)
    for fixture, possible in (("store", ALL), ("address", SHARED)):
        if fixture in metafunc.fixturenames:
            chosen = [_engine(name, metafunc.function) for name in possible if name in engines]
            metafunc.parametrize(fixture, chosen, indirect=True)


def _engine(name: str, test: object) -> object:
    reason = beyond_mongomock(test) if name == MONGOMOCK else None
    return pytest.param(name, marks=pytest.mark.skip(reason)) if reason else name


def _address(request: pytest.FixtureRequest, folder: Path) -> str:
    if request.param == "mongodb":
        url: str = request.getfixturevalue("mongodb_url")
        return url
    return {
        "sqlite-file": f"sqlite:{folder / 'synergy.db'}",
        "sqlite-memory": "sqlite::memory:",
        MONGOMOCK: f"{MONGOMOCK}:",
    }[request.param]


@pytest.fixture
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A new store, of every engine."""
    store = open_store(_address(request, tmp_path))
    yield store
    store.close()


@pytest.fixture
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a new store, of every engine that several processes can share."""
    return _address(request, tmp_path)


@pytest.fixture
def shared(address: str) -> Iterator[Store]:
    """This process's opening of the store at `address`."""
    store = open_store(address)
    yield store
    store.close()


@pytest.fixture
def much(request: pytest.FixtureRequest) -> int:
    """How many of a thing make a crowd. The stand-in for MongoDB reads all of them each time."""
    engine = request.node.callspec.params.get("store") or request.node.callspec.params["address"]
    return 60 if engine == "mongodb" else 300


@pytest.fixture
def bus(request: pytest.FixtureRequest, store: Store, tmp_path: Path) -> Iterator[StoredBus]:
    """A bus over every store; one in memory is heard within the process only."""
    engine = request.node.callspec.params["store"]
    bus = StoredBus(store, tmp_path if engine in SHARED else None)
    yield bus
    bus.close()
