"""A store over MongoDB in memory whose requests a test can interrupt."""

from __future__ import annotations

from collections.abc import Callable

import mongomock

from synergy.model.retention import DEFAULT
from synergy.scheduler.collector import Collector
from synergy.storage.mongodb import MongoStore
from synergy.storage.mongodb.database import Database
from tests.contract import mongomock_engine
from tests.service.agent_harness import AgentHarness

assert mongomock_engine  # makes mongomock understand what pymongo asks of it


def a_store(wrapped: Callable[[object], object]) -> MongoStore:
    """A new store over a database that `wrapped` has wrapped."""
    database = Database(mongomock.MongoClient(), "synergy", "mongomock")
    database._database = wrapped(database._database)
    return MongoStore.over(database)


def announce(agents: AgentHarness) -> None:
    """Publishes messages for all unclaimed units, as the collector of a scheduler does."""
    processes = agents.deployment.freerun
    collector = Collector(
        agents.store, agents.bus, agents.clock, processes, lambda _: False, DEFAULT
    )
    collector.run_once(flush=True)
