"""The simulations of `test_piecemeal` over the MongoDB engine, request by request.

mongomock answers the requests, so servers are not tested; but whatever the engine does in several
requests is interrupted between any two of them.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import mongomock
import pytest
from pymongo.errors import AutoReconnect

from synergy.errors import StorageUnavailable
from synergy.model.process import Deployment
from synergy.storage.mongodb import MongoStore
from synergy.storage.mongodb.database import Database
from tests.contract import mongomock_engine
from tests.seeds import seeds
from tests.service.scheduler_harness import SchedulerHarness
from tests.service.test_piecemeal import PiecemealSimulation

assert mongomock_engine  # makes mongomock understand what pymongo asks of it

READS = frozenset({"find", "find_one", "aggregate"})
WRITES = frozenset(
    {"bulk_write", "delete_many", "delete_one", "find_one_and_delete", "find_one_and_update"}
    | {"insert_many", "insert_one", "update_many", "update_one"}
)


class Collection:
    """A collection; an actor may pause before each request."""

    def __init__(self, real: object, pause: Callable[[bool], None]) -> None:
        self._real, self._pause = real, pause

    def __getattr__(self, method: str) -> object:
        real = getattr(self._real, method)
        if method not in READS | WRITES:
            return real

        def request(*arguments, **options):
            self._pause(method in WRITES)
            return real(*arguments, **options)

        return request


class Collections:
    """A database of such collections."""

    def __init__(self, real: object, pause: Callable[[bool], None]) -> None:
        self._real, self._pause = real, pause

    def __getitem__(self, name: str) -> Collection:
        return Collection(self._real[name], self._pause)

    def __getattr__(self, method: str) -> object:
        return getattr(self._real, method)


class MongoSimulation(PiecemealSimulation):
    """A random simulation whose actors may stop at each request."""

    steps = 600

    def _system(self, deployment: Deployment, now: datetime) -> SchedulerHarness:
        database = Database(mongomock.MongoClient(), "synergy", "mongomock")
        database._database = Collections(database._database, self._request)
        return SchedulerHarness(deployment, now=now, store=MongoStore.over(database), bus=self._bus)

    def _request(self, is_write: bool) -> None:
        try:
            self._pause(is_write)
        except StorageUnavailable as error:
            raise AutoReconnect(str(error)) from error


@pytest.mark.parametrize("seed", seeds(2))
def test_random_simulations_over_mongodb_keep_all_invariants(seed):
    MongoSimulation(seed).run()
