"""The engines that the conformance suite runs over.

An engine is named by an address, which can be passed to other processes: a new engine adds its
address to `_address` below and its case to `open_store`. A test module for only some engines names
them as `ENGINES`. A bus needs a store: `BUSES` lists the tested pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from synergy.messaging.protocol import Bus
from synergy.messaging.rabbitmq.bus import DEPLOYMENT
from synergy.messaging.stored import StoredBus
from synergy.storage.mongodb import MongoStore
from synergy.storage.mongodb.database import Database
from synergy.storage.protocol import Store
from tests.contract.concurrency import open_bus, open_store
from tests.contract.engines import (
    ALL,
    BUSES,
    MONGO_JAVA,
    MONGOMOCK,
    RABBITMQ,
    SERVERS,
    SHARED,
    STORED,
    case,
    impossible,
)
from tests.contract.mongodb.deaths import Place
from tests.servers import rabbitmq

# A slow machine must not fail these tests; tests of deadlines have URLs of their own.
LONG_TIMEOUTS = "timeoutMS=120000&connectTimeoutMS=60000"

_LAID_OUT: set[str] = set()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    engines: Sequence[str] = getattr(metafunc.module, "ENGINES", ALL)
    if "bus" in metafunc.fixturenames:
        buses: Sequence[str] = getattr(metafunc.module, "BUS_ENGINES", (STORED, RABBITMQ))
        pairs = [
            _pair(store, bus, metafunc.function)
            for store, bus in BUSES
            if store in engines and bus in buses
        ]
        metafunc.parametrize(("store", "bus"), pairs, indirect=True)
        return
    for fixture, possible in (("store", ALL), ("address", SHARED)):
        if fixture in metafunc.fixturenames:
            chosen = [case(name, metafunc.function) for name in possible if name in engines]
            metafunc.parametrize(fixture, chosen, indirect=True)


def _pair(store: str, bus: str, test: object) -> object:
    reason = impossible(store, test)
    marks = [pytest.mark.skip(reason)] if reason else []
    return pytest.param(store, bus, marks=marks, id=f"{bus}-{store}")


def _address(request: pytest.FixtureRequest, folder: Path) -> str:
    if request.param in SERVERS:
        url: str = request.getfixturevalue(f"emptied_{request.param}_url")
        return f"{url}?{LONG_TIMEOUTS}"
    return {
        "sqlite-file": f"sqlite:{folder / 'synergy.db'}",
        "sqlite-memory": "sqlite::memory:",
        MONGOMOCK: f"{MONGOMOCK}:",
    }[request.param]


def _opened(address: str) -> Store:
    """Opens a store; checks the layout only once for the MongoDB database that tests share."""
    if address in _LAID_OUT:
        return MongoStore(Database.connect(address))
    store = open_store(address)
    if address.startswith("mongodb:"):
        _LAID_OUT.add(address)
    return store


@pytest.fixture
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A new store, of every engine."""
    store = _opened(_address(request, tmp_path))
    yield store
    store.close()


@pytest.fixture
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a new store, of every engine that several processes can share."""
    return _address(request, tmp_path)


@pytest.fixture
def shared(address: str) -> Iterator[Store]:
    """The store at `address`, opened in this process."""
    store = _opened(address)
    yield store
    store.close()


@pytest.fixture
def much(request: pytest.FixtureRequest) -> int:
    """The number of items for tests with many; low for servers that read all each time."""
    engine = request.node.callspec.params.get("store") or request.node.callspec.params["address"]
    return {"mongodb": 25, MONGO_JAVA: 100}.get(engine, 300)


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of the bus, to open it again with `open_bus`."""
    params = request.node.callspec.params
    if params["bus"] == RABBITMQ:
        url: str = request.getfixturevalue("rabbitmq_url")
        return url
    return f"stored:{tmp_path if params['store'] in SHARED else ''}"


@pytest.fixture
def bus(store: Store, place: str) -> Iterator[Bus]:
    """A bus of every engine; over a store in memory, wake-ups reach only this process."""
    with closing(open_bus(place, store, ["pooled"])) as bus:
        bus.declare(["q", "other", "pooled"])
        yield bus


@pytest.fixture
def deliver(request: pytest.FixtureRequest, store: Store, bus: Bus) -> Callable[[bytes], None]:
    """Puts a body into the queue `q` unchecked, also one that no bus would publish."""
    if isinstance(bus, StoredBus):
        return lambda body: store.messages.put("q", [body])
    url: str = request.getfixturevalue("rabbitmq_url")
    return lambda body: rabbitmq.put(url, "q", [body], store.facts.get(DEPLOYMENT) or "")


@pytest.fixture(params=[MONGOMOCK, *SERVERS])
def mongodb_place(request: pytest.FixtureRequest) -> Place:
    """MongoDB databases in memory, and on servers."""
    in_memory = request.param == MONGOMOCK
    return Place(None if in_memory else request.getfixturevalue(request.param))
