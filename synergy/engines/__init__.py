"""The engines of stores and buses, by their URLs.

A module of this package registers an engine: it checks the engine's URLs, and imports the engine
with its driver only to open it. `docs/howto/add-an-engine.md` explains how to add one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from synergy.engines.mongodb import MongoEngine
from synergy.engines.protocol import BusEngine, StoreEngine
from synergy.engines.rabbitmq import RabbitEngine
from synergy.engines.sqlite import SqliteEngine
from synergy.engines.stored import StoredEngine
from synergy.errors import InvalidValue

STORES: Sequence[StoreEngine] = (SqliteEngine(), MongoEngine())
BUSES: Sequence[BusEngine] = (StoredEngine(), RabbitEngine())

_Engine = TypeVar("_Engine", StoreEngine, BusEngine)


def store_engine(url: str) -> StoreEngine:
    """The engine of a store; raises InvalidValue, with what was expected, if there is none."""
    return _engine(STORES, url)


def bus_engine(url: str) -> BusEngine:
    """The engine of a bus; raises InvalidValue, with what was expected, if there is none."""
    return _engine(BUSES, url)


def _engine(engines: Sequence[_Engine], url: str) -> _Engine:
    for engine in engines:
        if engine.matches(url):
            return engine
    expected = ", or ".join(engine.expected for engine in engines)
    raise InvalidValue(f"expected {expected}")
