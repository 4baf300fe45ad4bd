"""A site whose logs are ingested by the real pipeline and the real session worker, in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from synergy.clock import SteppedClock
from synergy.messaging.message import EventsMessage
from synergy.messaging.stored import StoredBus
from synergy.runtime.stop import Stop
from synergy.storage.sqlite import SqliteStore
from synergy.storage.sqlite.engine import MEMORY
from workers.access_log import files
from workers.access_log.formats import FORMATS
from workers.access_log.outlet import Outlet
from workers.access_log.pipeline import Ingestion, ingest
from workers.access_log.report import IngestReport
from workers.single_session_worker import SESSIONS, SingleSessionWorker

QUEUE = "sessions"
Body = Mapping[str, Any]
Figures = dict[str, tuple[int, int, int, int]]
"""By hour: sessions, lines, page views, seconds."""


class Shelf:
    """Documents in a dictionary."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str, str], Body] = {}

    def read(self, collection: str, start: str, end: str) -> Iterator[Body]:
        for place in sorted(self.rows):
            if place[0] == collection and start <= place[1] and (not end or place[1] < end):
                yield self.rows[place]

    def update(self, collection: str, keys: Sequence[tuple[str, str]], merge: Any) -> int:
        for key, timeperiod in keys:
            place = (collection, timeperiod, key)
            self.rows[place] = merge(key, self.rows.get(place))
        return len(keys)


class LogSite:
    """A site in a store, of its own or that of another site.

    `is_working` says whether its session workers run.
    """

    def __init__(self, name: str = "example.com", beside: LogSite | None = None) -> None:
        self.name = name
        self.is_working = True
        self.store: SqliteStore = beside.store if beside else SqliteStore.open(MEMORY)
        self._bus = StoredBus(self.store)

    def ingest(self, *names: Path | str, format_: str = "", keep: bool = False) -> IngestReport:
        outlet = Outlet(self.store, self._bus, QUEUE, _Working(self))
        documents, given = self.store.documents, FORMATS.get(format_)
        ingestion = Ingestion(self.name, outlet, documents, keep_rejected=keep, format_=given)
        clock = SteppedClock(datetime(2026, 1, 1, tzinfo=UTC))
        return ingest(files.logs([str(name) for name in names]), ingestion, outlet, clock, 0.0)

    def figures(self) -> Figures:
        """The figures of the stored sessions."""
        sums: dict[str, Counter[int]] = {}
        for row in self.rows(SESSIONS):
            history = row["browsing_history"]
            own = (
                1,
                history["number_of_entries"],
                history["number_of_pageviews"],
                history["total_duration"],
            )
            sums.setdefault(row["timeperiod"], Counter()).update(dict(enumerate(own)))
        return {hour: (own[0], own[1], own[2], own[3]) for hour, own in sums.items()}

    def visits(self) -> int:
        return sum(hour[0] for hour in self.figures().values())

    def entries(self) -> int:
        return sum(hour[1] for hour in self.figures().values())

    def rows(self, collection: str) -> list[dict[str, Any]]:
        return list(self.store.documents.read(collection, "", ""))

    def work(self) -> None:
        """Processes the messages that wait."""
        worker = SingleSessionWorker(None)  # type: ignore[arg-type]
        with closing(self._bus.consumer(QUEUE)) as consumer, self.store.batch() as batch:
            while taken := consumer.take(100, batch):
                for delivery in taken:
                    assert isinstance(delivery.message, EventsMessage)
                    worker.handle(delivery.message.events, self.store.documents)


class _Working(Stop):
    """A stop; during each wait for it the session workers work."""

    def __init__(self, site: LogSite) -> None:
        super().__init__()
        self._site = site

    def wait(self, timeout: float) -> bool:
        if self._site.is_working:
            self._site.work()
        return super().wait(0.0)
