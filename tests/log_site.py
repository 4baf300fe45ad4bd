"""A site whose logs are ingested by the real pipeline and the real session worker, in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from synergy.clock import SteppedClock
from synergy.messaging.message import EventsMessage
from synergy.runtime.stop import Stop
from workers.access_log import files
from workers.access_log.formats import FORMATS
from workers.access_log.outlet import Outlet
from workers.access_log.pipeline import Ingestion, ingest
from workers.access_log.report import IngestReport
from workers.single_session_worker import SESSIONS, SingleSessionWorker

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
    """A site; `is_working` says whether its session workers run."""

    def __init__(self, name: str = "example.com") -> None:
        self.name = name
        self.documents = Shelf()
        self.is_working = True
        self.waiting: list[EventsMessage] = []
        self._worker = SingleSessionWorker(None)  # type: ignore[arg-type]

    def ingest(self, *names: Path | str, format_: str = "", keep: bool = False) -> IngestReport:
        outlet = Outlet(self, self, "sessions", Stop())  # type: ignore[arg-type]
        ingestion = Ingestion(
            self.name,
            outlet,
            self.documents,  # type: ignore[arg-type]
            keep_rejected=keep,
            format_=FORMATS.get(format_),
        )
        clock = SteppedClock(datetime(2026, 1, 1, tzinfo=UTC))
        return ingest(files.logs([str(name) for name in names]), ingestion, outlet, clock, 0.0)

    def figures(self) -> Figures:
        """The figures of the stored sessions."""
        sums: dict[str, Counter[int]] = {}
        for row in self.documents.read(SESSIONS, "", ""):
            history = row["browsing_history"]
            own = (
                1,
                history["number_of_entries"],
                history["number_of_pageviews"],
                history["total_duration"],
            )
            sums.setdefault(row["timeperiod"], Counter()).update(dict(enumerate(own)))
        return {hour: (own[0], own[1], own[2], own[3]) for hour, own in sums.items()}

    def work(self) -> None:
        """Processes the messages that wait."""
        for message in self.waiting:
            self._worker.handle(message.events, self.documents)  # type: ignore[arg-type]
        self.waiting = []

    # What the pipeline uses of a store and a bus.

    @contextmanager
    def batch(self) -> Iterator[None]:
        yield

    def publish(self, _queue: str, messages: Sequence[EventsMessage], _batch: object) -> None:
        self.waiting.extend(messages)
        if self.is_working:
            self.work()

    def depths(self, queues: Sequence[str]) -> dict[str, int]:
        return dict.fromkeys(queues, len(self.waiting))
