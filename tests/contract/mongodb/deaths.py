"""Kills the writer of a MongoDB store between any two commands to the server.

The same work is repeated; each time its writer dies one command later. Then another writer
recovers the store and continues, as schedulers and workers do.

Over mongomock, the writer dies after every command; over a server, which takes ten times as long,
only after some of them. The checks are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import mongomock
import pytest
from pymongo.collection import Collection

from synergy.storage.mongodb import MongoStore
from tests.contract.mongomock_engine import mongomock_store
from tests.servers.mongodb import Server

WRITES = (
    "insert_one", "insert_many", "update_one", "update_many", "bulk_write", "delete_one",
    "delete_many", "find_one_and_update",
)  # fmt: skip
STEP_OVER_SERVER = 12  # over a server, only one of so many commands is tried


class Died(BaseException):
    """The death of a writer; no code catches it."""


@contextmanager
def dying_after(count: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], int]]:
    """Kills the writer after that many writing commands, 0: never; yields their counter."""
    done = 0

    def counted(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal done
            answer = method(*args, **kwargs)
            done += 1
            if done == count:
                raise Died
            return answer

        return call

    with monkeypatch.context() as patch:
        for kind in (Collection, mongomock.Collection):
            for name in WRITES:
                patch.setattr(kind, name, counted(getattr(kind, name)))
        yield lambda: done


@contextmanager
def opened(url: str) -> Iterator[MongoStore]:
    with closing(MongoStore.open(url)) as store:
        yield store


Opening = Callable[[], closing[MongoStore]]


@dataclass(frozen=True)
class Place:
    """Where databases are: on a server, or in the memory of this process."""

    server: Server | None

    @contextmanager
    def database(self) -> Iterator[Opening]:
        """Yields what opens connections to a new database."""
        if self.server is None:
            client = mongomock.MongoClient()
            yield lambda: closing(mongomock_store(client))
        else:
            with self.server.fresh_database() as url:
                yield lambda: closing(MongoStore.open(url))

    def moments(self, count: int) -> range:
        """The numbers of commands after which the writer dies."""
        return range(1, count, 1 if self.server is None else STEP_OVER_SERVER)

    def deaths(
        self,
        act: Callable[[MongoStore], None],
        check: Callable[[MongoStore], None],
        monkeypatch: pytest.MonkeyPatch,
        more_than: int,
    ) -> Iterator[MongoStore]:
        """Yields the store of a writer that died during `act`, once for each moment.

        Fails unless `act` takes more than `more_than` writing commands.
        """
        with self.database() as opened, opened() as store:
            with dying_after(0, monkeypatch) as count:
                act(store)
            check(store)
        assert count() > more_than
        for number in self.moments(count()):
            with self.database() as opened:
                with opened() as dying, dying_after(number, monkeypatch), pytest.raises(Died):
                    act(dying)
                with opened() as store:
                    yield store


def counted(store: MongoStore, collection: str) -> int:
    """Returns the number of documents of a collection."""
    return store._database[collection].count_documents({})
