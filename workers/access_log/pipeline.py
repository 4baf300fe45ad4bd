"""From log files to the session workers' queue, and what there is to say about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from synergy.clock import Clock
from synergy.errors import InvalidValue, NotFound, Refused, Unreachable
from synergy.messaging.message import EventsMessage
from synergy.messaging.protocol import Bus
from synergy.model.process import Deployment
from synergy.runtime.stop import Stop
from synergy.storage.protocol import Store
from workers.access_log.files import STDIN, DamagedFile, LogFile
from workers.access_log.lines import parse
from workers.access_log.visitors import Event, Sessionizer

SESSION_WORKER = "SingleSessionWorker"
EVENTS_PER_MESSAGE = 250
QUEUE_LIMIT = 400
"""Messages that may wait before the reader waits for the session workers."""

PATIENCE = 30.0
"""Seconds without any message being taken after which the reader gives up a full queue."""

_LOOK_AGAIN = 0.05
_SAMPLES = 10
_EXCERPT = 120


@dataclass(frozen=True, slots=True)
class RejectedLine:
    """A line that did not parse: where it is, why, and how it begins."""

    file: str
    line: int
    reason: str
    excerpt: str


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the reading of a file is; `size` is None where the end is not known."""

    file: str
    position: int
    size: int | None
    lines: int


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What came of it.

    `hours` counts the hours that sessions belong to. `early_events` belong to hours before
    the timetable's start, the first of which is `early_from`. `problems` are files that are
    damaged or no access logs. `waiting` messages were not yet taken by the session workers;
    `seconds` run until everything was taken, or, if something waits, until it was sent.
    """

    site: str
    files: tuple[str, ...]
    lines: int
    accepted: int
    rejected: int
    samples: tuple[RejectedLine, ...]
    rejected_files: tuple[str, ...]
    sessions: int
    hours: int
    first_hour: str
    last_hour: str
    early_events: int
    early_from: str
    problems: tuple[str, ...]
    waiting: int
    seconds: float

    @property
    def rate(self) -> float:
        """Lines a second."""
        return self.lines / self.seconds if self.seconds > 0 else 0.0


class Outlet:
    """Sends events to a queue, and waits while more of them wait than is good."""

    def __init__(self, store: Store, bus: Bus, queue: str, stop: Stop) -> None:
        self._store = store
        self._bus = bus
        self._queue = queue
        self._stop = stop

    def send(self, events: Sequence[Event]) -> None:
        """Makes the events durable in the queue, together.

        Raises Unreachable if the queue is full and nobody takes from it.
        """
        if not events:
            return
        waiting = self.drain(QUEUE_LIMIT, PATIENCE)
        if waiting > QUEUE_LIMIT:
            raise Unreachable(
                f"{waiting} messages wait for {self._queue} and nobody takes them; start it "
                "(launch.py supervisor start) and ingest again: nothing is counted twice"
            )
        messages = [
            EventsMessage(events[first : first + EVENTS_PER_MESSAGE])
            for first in range(0, len(events), EVENTS_PER_MESSAGE)
        ]
        with self._store.batch() as batch:
            self._bus.publish(self._queue, messages, batch)

    def drain(self, limit: int, patience: float | None) -> int:
        """Waits until at most `limit` messages wait, and returns how many do.

        Gives up when none was taken for `patience` seconds (None: never), or on the wish to stop.
        """
        waiting, idle = self._depth(), 0.0
        while waiting > limit and not self._stop.wait(_LOOK_AGAIN):
            before, waiting = waiting, self._depth()
            idle = 0.0 if waiting < before else idle + _LOOK_AGAIN
            if patience is not None and idle >= patience:
                break
        return waiting

    def _depth(self) -> int:
        return self._bus.depths([self._queue]).get(self._queue, 0)


class Ingestion:
    """Reads log files of one site; each file on its own, so that reading one again adds nothing."""

    def __init__(
        self,
        site: str,
        outlet: Outlet,
        start: str = "",
        keep_rejected: bool = False,
        progress: Callable[[Progress], None] = lambda _: None,
    ) -> None:
        """`start` is the timetable's first hour, empty if it has none yet."""
        self._site = checked_site(site)
        self._outlet = outlet
        self._start = start
        self._keep_rejected = keep_rejected
        self._progress = progress
        self._files: list[str] = []
        self._lines = self._accepted = self._sessions = self._early = 0
        self._samples: list[RejectedLine] = []
        self._rejected_files: list[str] = []
        self._problems: list[str] = []
        self._hours: set[str] = set()

    def read(self, log: LogFile) -> None:
        """Reads one file to its end, or as far as it can be read."""
        visitors = Sessionizer(self._site)
        lines = accepted = 0
        self._files.append(log.name)
        with RejectedFile(log.name, self._keep_rejected) as rejected:
            try:
                for block in log.blocks():
                    events = self._events(block, log.name, lines, visitors, rejected)
                    self._outlet.send(events)
                    lines += len(block)
                    accepted += len(events)
                    self._progress(Progress(log.name, log.position, log.size, lines))
            except DamagedFile as error:
                self._problems.append(str(error))
        if rejected.path:
            self._rejected_files.append(rejected.path)
        if lines and not accepted:
            self._problems.append(f"{log.name} is no access log: none of its lines is one")
        self._sessions += visitors.sessions

    def _events(
        self,
        block: list[bytes],
        file: str,
        before: int,
        visitors: Sessionizer,
        rejected: RejectedFile,
    ) -> list[Event]:
        events = []
        for number, line in enumerate(block, start=before + 1):
            try:
                events.append(visitors.event(parse(line), line))
            except InvalidValue as error:
                rejected.add(line)
                if len(self._samples) < _SAMPLES:
                    excerpt = line[:_EXCERPT].decode("latin-1")
                    self._samples.append(RejectedLine(file, number, str(error), excerpt))
        self._lines += len(block)
        self._accepted += len(events)
        hours = [event["hour"] for event in events]
        self._hours.update(hours)
        self._early += sum(hour < self._start for hour in hours)
        return events

    def report(self, seconds: float, waiting: int) -> IngestReport:
        """What was read so far; see `IngestReport`."""
        hours = sorted(self._hours)
        return IngestReport(
            site=self._site,
            files=tuple(self._files),
            lines=self._lines,
            accepted=self._accepted,
            rejected=self._lines - self._accepted,
            samples=tuple(self._samples),
            rejected_files=tuple(self._rejected_files),
            sessions=self._sessions,
            hours=len(hours),
            first_hour=hours[0] if hours else "",
            last_hour=hours[-1] if hours else "",
            early_events=self._early,
            early_from=hours[0] if self._early else "",
            problems=tuple(self._problems),
            waiting=waiting,
            seconds=seconds,
        )


class RejectedFile:
    """Keeps a log's rejected lines in a `.rejected` file, which is made with the first of them.

    It lies beside the log, or in the working directory if nothing can be written there.
    """

    def __init__(self, log: str, is_wanted: bool) -> None:
        self._log = log
        self._is_wanted = is_wanted
        self._file: BinaryIO | None = None
        self.path = ""

    def add(self, line: bytes) -> None:
        """Keeps a line as it came; of an overlong one, its beginning."""
        if not self._is_wanted:
            return
        if self._file is None:
            self._file = self._open()
        self._file.write(line + b"\n")

    def _open(self) -> BinaryIO:
        beside = Path("stdin.rejected" if self._log == STDIN else f"{self._log}.rejected")
        for path in (beside, Path(beside.name)):
            try:
                file = path.open("wb")
            except OSError as error:
                reason = str(error)
            else:
                self.path = str(path)
                return file
        raise Refused(f"rejected lines cannot be kept: {reason}")

    def __enter__(self) -> RejectedFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()


def session_queue(deployment: Deployment) -> str:
    """The queue of the session workers; raises NotFound if the deployment has none."""
    if SESSION_WORKER not in deployment.processes:
        raise NotFound("process", SESSION_WORKER, "it turns events into sessions; declare it")
    return deployment.processes[SESSION_WORKER].queue


def checked_site(site: str) -> str:
    """The site's name, if it can be one; raises InvalidValue."""
    if not site or len(site) > 255 or not site.isprintable() or site != site.strip():
        raise InvalidValue(f"{site[:80]!r} is no name for a site: expected for example example.com")
    return site


def checked_logs(names: Sequence[str]) -> list[LogFile]:
    """The logs of these names, after a look that all of them are there."""
    logs = [LogFile(name) for name in names]
    for log in logs:
        log.check()
    return logs


def ingest(
    logs: Sequence[LogFile],
    ingestion: Ingestion,
    outlet: Outlet,
    clock: Clock,
    patience: float | None,
) -> IngestReport:
    """Reads all logs, one after the other, and waits until their events are taken.

    The waiting ends when no event was taken for `patience` seconds (None: never).
    """
    began = clock.monotonic()
    for log in logs:
        ingestion.read(log)
    read = clock.monotonic()
    waiting = outlet.drain(0, patience)
    return ingestion.report((read if waiting else clock.monotonic()) - began, waiting)
