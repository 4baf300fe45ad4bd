"""Reads the logs of a site, sends their events, and reports the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from synergy.clock import Clock
from synergy.errors import InvalidValue, NotFound, Refused
from synergy.model.process import Deployment
from synergy.worker import Documents
from workers.access_log.earlier import Continued, Ingested, SessionsInStore
from workers.access_log.files import DamagedFile, LogFile
from workers.access_log.formats import Format
from workers.access_log.outlet import Outlet
from workers.access_log.rejected import RejectedFile
from workers.access_log.report import IngestReport, Progress, RejectedLine
from workers.access_log.sessions import Event, Sessionizer
from workers.access_log.stream import Block, Source, Stream, recognised, time_of

SESSION_WORKER = "SingleSessionWorker"
_SAMPLES = 10  # the most rejected lines in the report
_EXCERPT = 120  # the most bytes of each of them


class Ingestion:
    """Reads the logs of one site, in order of time; reading them again adds nothing."""

    def __init__(
        self,
        site: str,
        outlet: Outlet,
        documents: Documents,
        start: str = "",
        keep_rejected: bool = False,
        progress: Callable[[Progress], None] = lambda _: None,
        format_: Format | None = None,
    ) -> None:
        """`start` is the first hour of the timetable, or empty; `format_` None: recognise it."""
        self._site = checked_site(site)
        self._outlet = outlet
        self._documents = documents
        self._start = start
        self._keep_rejected = keep_rejected
        self._progress = progress
        self._format = format_
        self._formats: dict[str, str] = {}
        self._lines = self._accepted = self._ignored = self._repeated = 0
        self._sessions = self._early = 0
        self._samples: list[RejectedLine] = []
        self._rejected_files: list[str] = []
        self._notes: list[str] = []
        self._problems: list[str] = []
        self._hours: set[str] = set()

    def read(self, logs: Sequence[LogFile], timeout: float | None) -> None:
        """Reads all logs to their ends, or up to their damages.

        Raises Refused or Unreachable, before anything is sent, if their visits cannot be joined
        with those of earlier logs; `timeout` limits the wait for the events of these.
        """
        with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            if len(logs) > 1:
                _make_repeatable(logs, folder)
            sources = [source for log in logs if (source := self._recognised(log))]
            begun = [source for source in sources if source.head]
            first = min(begun, key=lambda source: source.begin, default=None)
            if first is not None:
                ingested = Ingested(self._documents, self._site)
                if ingested.others(first.begin):
                    self._outlet.await_earlier(timeout)
                if later := ingested.after(first.begin):
                    _make_repeatable(logs, folder)
                    self._check(sources, first, later)
                ingested.add(first.begin, first.log.name)
            self._read(Stream(sources), self._sessionizer(first))

    def _recognised(self, log: LogFile) -> Source | None:
        try:
            source = recognised(log, self._format)
        except InvalidValue as error:
            self._problems.append(f"{log.name} was left out: {error}")
            return None
        except DamagedFile as error:
            self._problems.append(str(error))
            return None
        self._formats[log.name] = source.format.name if source else ""
        return source

    def _check(self, sources: Sequence[Source], first: Source, later: Mapping[int, str]) -> None:
        """Raises Refused if visits of these logs continue in later ones that are stored."""
        sessionizer = self._sessionizer(first)
        continued = Continued(SessionsInStore(self._documents, self._site), later)
        for _, blocks in Stream(sources):
            with suppress(DamagedFile):
                for block in blocks:
                    for entry, line in zip(block.entries, block.lines, strict=True):
                        continued.see(entry, sessionizer.event(entry, line)["session"])
        if found := continued.found():
            begin = max(each for each in later if each <= found[0].opened)
            raise Refused(
                f"{later[begin]}, which begins at {time_of(begin)}, was ingested before, and "
                f"these logs overlap it or end there: {len(found):,} of their visits continue in "
                f"it, the first at {time_of(found[0].opened)}, and would count twice. Nothing was "
                "ingested; ingest logs in order of time, or all at once into an empty store"
            )

    def _sessionizer(self, first: Source | None) -> Sessionizer:
        stored = SessionsInStore(self._documents, self._site)
        return Sessionizer(self._site, stored, stored.repeats(first.head if first else ()))

    def _read(self, stream: Stream, visitors: Sessionizer) -> None:
        for source, blocks in stream:
            log, lines, accepted = source.log, 0, self._accepted + self._repeated
            with RejectedFile(log.name, self._keep_rejected) as rejected:
                try:
                    for block in blocks:
                        self._outlet.send(self._events(block, log.name, visitors, rejected))
                        lines += block.size
                        self._progress(Progress(log.name, log.position, log.size, lines))
                except DamagedFile as error:
                    self._problems.append(f"{error}; {lines:,} lines before it were read")
            if rejected.path:
                self._rejected_files.append(rejected.path)
            if rejected.lines and self._accepted + self._repeated == accepted:
                self._problems.append(
                    f"{log.name} is not an access log: none of its lines can be parsed"
                )
        self._sessions = visitors.sessions
        self._notes += stream.notes
        self._problems += stream.problems

    def _events(
        self, block: Block, file: str, visitors: Sessionizer, rejected: RejectedFile
    ) -> list[Event]:
        for number, line, reason in block.rejected:
            rejected.add(line)
            if len(self._samples) < _SAMPLES:
                excerpt = line[:_EXCERPT].decode("latin-1")
                self._samples.append(RejectedLine(file, number, reason, excerpt))
        events = list(map(visitors.event, block.entries, block.lines))
        self._lines += block.size
        self._accepted += len(events)
        self._ignored += block.ignored
        self._repeated += block.repeated
        hours = [event["hour"] for event in events]
        self._hours.update(hours)
        self._early += sum(hour < self._start for hour in hours)
        return events

    def report(self, seconds: float, waiting: int) -> IngestReport:
        """The report on the logs that were read so far."""
        hours = sorted(self._hours)
        return IngestReport(
            site=self._site,
            files=tuple(self._formats),
            formats=self._formats,
            lines=self._lines,
            accepted=self._accepted,
            rejected=self._lines - self._accepted - self._ignored - self._repeated,
            ignored=self._ignored,
            repeated=self._repeated,
            samples=tuple(self._samples),
            rejected_files=tuple(self._rejected_files),
            sessions=self._sessions,
            hours=len(hours),
            first_hour=hours[0] if hours else "",
            last_hour=hours[-1] if hours else "",
            early_events=self._early,
            early_from=hours[0] if self._early else "",
            notes=tuple(self._notes),
            problems=tuple(self._problems),
            waiting=waiting,
            seconds=seconds,
        )


def _make_repeatable(logs: Sequence[LogFile], folder: str) -> None:
    for number, log in enumerate(logs):
        if not log.is_repeatable:
            log.copy_to(Path(folder, str(number)))


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


def ingest(
    logs: Sequence[LogFile],
    ingestion: Ingestion,
    outlet: Outlet,
    clock: Clock,
    timeout: float | None,
) -> IngestReport:
    """Reads all logs, and waits until their events are processed.

    The wait ends when no message was processed for `timeout` seconds (None: no limit).
    """
    began = clock.monotonic()
    ingestion.read(logs, timeout)
    read = clock.monotonic()
    waiting = outlet.drain(0, timeout)
    return ingestion.report((read if waiting else clock.monotonic()) - began, waiting)
