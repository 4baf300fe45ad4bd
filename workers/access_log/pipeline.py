"""Sends the events of log files to the session workers, and reports the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from synergy.clock import Clock
from synergy.errors import InvalidValue, NotFound, Unreachable
from synergy.messaging.message import EventsMessage
from synergy.messaging.protocol import Bus
from synergy.model.process import Deployment
from synergy.runtime.stop import Stop
from synergy.storage.protocol import Store
from workers.access_log.files import DamagedFile, LogFile
from workers.access_log.lines import parse
from workers.access_log.rejected import RejectedFile
from workers.access_log.report import IngestReport, Progress, RejectedLine
from workers.access_log.sessions import Event, Sessionizer

SESSION_WORKER = "SingleSessionWorker"
EVENTS_PER_MESSAGE = 250
QUEUE_LIMIT = 400
"""Waiting messages above which the reader waits for the session workers."""

FULL_QUEUE_TIMEOUT = 30.0
"""Seconds in which no message is processed, after which the reader gives up."""

_POLL = 0.05  # seconds
_SAMPLES = 10  # the most rejected lines in the report
_EXCERPT = 120  # the most bytes of each of them


class Outlet:
    """Sends events to a queue, and waits while the queue is full."""

    def __init__(self, store: Store, bus: Bus, queue: str, stop: Stop) -> None:
        self._store = store
        self._bus = bus
        self._queue = queue
        self._stop = stop

    def send(self, events: Sequence[Event]) -> None:
        """Publishes the events in one batch.

        Raises Unreachable if the queue stays full because no messages are processed.
        """
        if not events:
            return
        waiting = self.drain(QUEUE_LIMIT, FULL_QUEUE_TIMEOUT)
        if waiting > QUEUE_LIMIT:
            raise Unreachable(
                f"{waiting} messages wait for {self._queue}, and none is processed; start it "
                "(launch.py supervisor start) and ingest again: nothing is counted twice"
            )
        messages = [
            EventsMessage(events[first : first + EVENTS_PER_MESSAGE])
            for first in range(0, len(events), EVENTS_PER_MESSAGE)
        ]
        with self._store.batch() as batch:
            self._bus.publish(self._queue, messages, batch)

    def drain(self, limit: int, timeout: float | None) -> int:
        """Waits until at most `limit` messages are left in the queue; returns their number.

        Ends earlier when none was processed for `timeout` seconds (None: no limit), or on a stop.
        """
        waiting, idle = self._depth(), 0.0
        while waiting > limit and not self._stop.wait(_POLL):
            before, waiting = waiting, self._depth()
            idle = 0.0 if waiting < before else idle + _POLL
            if timeout is not None and idle >= timeout:
                break
        return waiting

    def _depth(self) -> int:
        return self._bus.depths([self._queue]).get(self._queue, 0)


class Ingestion:
    """Reads the log files of one site; each is independent, so reading it again adds nothing."""

    def __init__(
        self,
        site: str,
        outlet: Outlet,
        start: str = "",
        keep_rejected: bool = False,
        progress: Callable[[Progress], None] = lambda _: None,
    ) -> None:
        """`start` is the first hour of the timetable, or empty."""
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
        """Reads one file to its end, or up to its damage."""
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
            self._problems.append(
                f"{log.name} is not an access log: none of its lines can be parsed"
            )
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
        """The report on the files that were read so far."""
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


def session_queue(deployment: Deployment) -> str:
    """The queue of the session workers; raises NotFound if the deployment has none."""
    if SESSION_WORKER not in deployment.processes:
        raise NotFound("process", SESSION_WORKER, "it turns events into sessions; declare it")
    return deployment.processes[SESSION_WORKER].queue


def checked_site(site: str) -> str:
    """The site if it is a valid name; raises InvalidValue."""
    if not site or len(site) > 255 or not site.isprintable() or site != site.strip():
        raise InvalidValue(
            f"{site[:80]!r} is not a valid name of a site: expected for example example.com"
        )
    return site


def checked_logs(names: Sequence[str]) -> list[LogFile]:
    """The logs of these names; raises NotFound or InvalidValue unless all can be read."""
    logs = [LogFile(name) for name in names]
    for log in logs:
        log.check()
    return logs


def ingest(
    logs: Sequence[LogFile],
    ingestion: Ingestion,
    outlet: Outlet,
    clock: Clock,
    timeout: float | None,
) -> IngestReport:
    """Reads all logs one after the other, and waits until their events are processed.

    The wait ends when no message was processed for `timeout` seconds (None: no limit).
    """
    began = clock.monotonic()
    for log in logs:
        ingestion.read(log)
    read = clock.monotonic()
    waiting = outlet.drain(0, timeout)
    return ingestion.report((read if waiting else clock.monotonic()) - began, waiting)
