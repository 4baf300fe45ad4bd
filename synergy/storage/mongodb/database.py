"""The connection, and batches: what all nouns are built on.

There are no transactions: each write is durable, on most members of a replica set, when the
call that made it returns. A batch only promises that nothing is written after a write in it
failed, so that what is there is a prefix of it.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit, urlunsplit

from pymongo import MongoClient
from pymongo.collection import Collection
from pymongo.errors import BulkWriteError, DuplicateKeyError, PyMongoError

from synergy.errors import ConfigurationError, StorageUnavailable
from synergy.runtime.masking import mask
from synergy.storage.mongodb.faults import duplicate, translated

Doc = dict[str, Any]
"""A document as the driver gives it."""

# What safety rests on (docs/decisions/0009-mongodb-engine.md): no URL may weaken it.
_FIXED: Doc = {
    "w": "majority",
    "journal": True,
    "readConcernLevel": "majority",
    "readPreference": "primary",
    "retryWrites": True,
    "retryReads": True,
}
_DEFAULTS: Doc = {
    "timeoutMS": 5_000,
    "serverSelectionTimeoutMS": 4_000,
    "connectTimeoutMS": 3_000,
    "appName": "synergy",
}


class WriteBatch:
    """The outermost batch of a thread. It is the Batch of the contract."""

    __slots__ = ("after", "failed", "undo")

    def __init__(self) -> None:
        self.after: list[Callable[[], object]] = []
        self.undo: list[Callable[[], object]] = []
        self.failed = False

    def after_commit(self, act: Callable[[], None]) -> None:
        self.after.append(act)

    def after_failure(self, act: Callable[[], object]) -> None:
        self.undo.append(act)


class Database:
    """A database on a server, for all threads of this process."""

    def __init__(self, client: MongoClient[Doc], name: str, place: str) -> None:
        self.client = client
        self.name = name
        self.place = place
        self._database = client[name]
        self.prepared: set[str] = set()  # collections of documents that have their index
        self._closed = False
        self._own = threading.local()

    @classmethod
    def connect(cls, url: str) -> Self:
        """The database that the URL names; the server is not asked yet.

        An option that the driver does not know is a mistake: it may have meant safety.
        """
        place = location(url)
        name = urlsplit(url).path.removeprefix("/")
        if not name:
            raise ConfigurationError([f"the store's URL {place} names no database"])
        try:
            with warnings.catch_warnings(action="error", category=UserWarning):
                client: MongoClient[Doc] = MongoClient(url, **_options(url))
        except (PyMongoError, OSError, ValueError, UserWarning) as error:
            raise ConfigurationError(
                [f"the store's URL {place} cannot be used: {mask(str(error))}"]
            ) from error
        return cls(client, name, place)

    def __getitem__(self, collection: str) -> Collection[Doc]:
        return self._database[collection]

    def collections(self, prefix: str) -> list[str]:
        """The names of the collections that are there and begin like this."""
        return sorted(n for n in self._database.list_collection_names() if n.startswith(prefix))

    def command(self, name: str) -> Doc:
        """What the server answers to a command about this database."""
        with self.calling():
            answer: Doc = self._database.command(name)
            return answer

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Within it the driver may be called; what goes wrong is StorageUnavailable.

        DuplicateKeyError and BulkWriteError pass, because they are answers.
        """
        batch = self._batch()
        self._check(batch)
        try:
            yield
        except PyMongoError as error:
            if (answer := duplicate(error)) is not None:
                raise answer from error
            if (ours := translated(error, self.place)) is None:
                if batch is not None and not isinstance(error, DuplicateKeyError | BulkWriteError):
                    batch.failed = True
                raise
            if batch is not None:
                batch.failed = True
            raise ours from error

    @contextmanager
    def batch(self) -> Iterator[WriteBatch]:
        """Writes in the order of the calls; a block within a block belongs to the outermost."""
        outer = self._batch()
        self._check(outer)
        if outer is not None:
            with _part(outer):
                yield outer
            return
        batch = self._own.batch = WriteBatch()
        try:
            yield batch
            self._check(batch)
        except BaseException:
            self._own.batch = None
            self._undo(batch)
            raise
        self._own.batch = None
        for act in batch.after:
            act()

    def at_end(self, done: Callable[[], object], undone: Callable[[], object]) -> None:
        """Calls one of both when this thread's batch ends; `done` at once if there is none."""
        batch = self._batch()
        if batch is None:
            done()
        else:
            batch.after.append(done)
            batch.undo.append(undone)

    def _undo(self, batch: WriteBatch) -> None:
        """What cannot be undone now, because the server is away, is left to `recover`."""
        for act in batch.undo:
            with suppress(StorageUnavailable):
                act()

    def close(self) -> None:
        """Closes all connections; any later use raises StorageUnavailable."""
        self._closed = True
        self.client.close()

    def _batch(self) -> WriteBatch | None:
        return getattr(self._own, "batch", None)

    def _check(self, batch: WriteBatch | None) -> None:
        if self._closed:
            raise StorageUnavailable(f"{self.place} was closed")
        if batch is not None and batch.failed:
            raise StorageUnavailable(
                "a write within the batch failed, so what follows it is not written"
            )


def location(url: str) -> str:
    """The URL without its secrets and options, for messages."""
    return mask(urlunsplit(urlsplit(url)._replace(query="", fragment="")))


@contextmanager
def _part(batch: WriteBatch) -> Iterator[None]:
    """A block within a batch: if it fails, so does the whole batch."""
    try:
        yield
    except BaseException:
        batch.failed = True
        raise


def _options(url: str) -> Doc:
    """Our options, where the URL does not say better; 0 as a deadline would mean none."""
    options = parse_qs(urlsplit(url).query)
    given = {name.lower() for name, values in options.items() if values != ["0"]}
    return _FIXED | {name: value for name, value in _DEFAULTS.items() if name.lower() not in given}
