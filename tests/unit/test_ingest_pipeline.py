"""From files to the queue: counts, reported problems, and when the reader waits."""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from synergy.clock import SteppedClock
from synergy.errors import InvalidValue, NotFound, Unreachable
from synergy.messaging.message import EventsMessage
from synergy.model.process import Deployment
from synergy.runtime.stop import Stop
from tests.access_log import access_log
from tests.log_site import Shelf
from workers.access_log.files import LogFile, logs
from workers.access_log.outlet import QUEUE_LIMIT, Outlet
from workers.access_log.pipeline import Ingestion, checked_site, ingest, session_queue
from workers.access_log.report import IngestReport, Progress

LINE = '{host} - - [17/May/2015:{hour:02}:05:03 +0000] "GET / HTTP/1.1" 200 5 "-" "Agent"\n'


class FakeQueue:
    """A store and a bus in one, with a queue in a list; each wait takes messages from it."""

    def __init__(self, taken_per_wait: int = 0) -> None:
        self.messages: list[EventsMessage] = []
        self.commits = 0
        self.depth = 0
        self.deepest = 0
        self.taken_per_wait = taken_per_wait

    @contextmanager
    def batch(self) -> Iterator[None]:
        self.commits += 1
        yield

    def publish(self, _queue: str, messages: Sequence[EventsMessage], _batch: object) -> None:
        self.messages.extend(messages)
        self.depth += len(messages)
        self.deepest = max(self.deepest, self.depth)

    def depths(self, _queues: object = None) -> dict[str, int]:
        return {"sessions": self.depth}

    def events(self) -> list[Any]:
        return [event for message in self.messages for event in message.events]


class Waits(Stop):
    """A stop; each wait for it lets consumers take some messages."""

    def __init__(self, queue: FakeQueue) -> None:
        super().__init__()
        self.waits = 0
        self._wire = queue

    def wait(self, timeout: float) -> bool:
        self.waits += 1
        self._wire.depth = max(self._wire.depth - self._wire.taken_per_wait, 0)
        return self.is_set


def run(
    *files: Path | str, queue: FakeQueue | None = None, start: str = "", keep: bool = False
) -> IngestReport:
    queue = queue or FakeQueue(taken_per_wait=10)
    outlet = Outlet(queue, queue, "sessions", Waits(queue))  # type: ignore[arg-type]
    ingestion = Ingestion("example.com", outlet, Shelf(), start, keep)  # type: ignore[arg-type]
    clock = SteppedClock(datetime(2026, 1, 1, tzinfo=UTC))
    return ingest(logs([str(file) for file in files]), ingestion, outlet, clock, 1.0)


def a_log(folder: Path, hosts: int, name: str = "access.log", hour: int = 10) -> Path:
    path = folder / name
    path.write_text("".join(LINE.format(host=f"h{n}", hour=hour) for n in range(hosts)))
    return path


@pytest.fixture(scope="module")
def whole_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return access_log().write(tmp_path_factory.mktemp("log") / "access.log")


def test_the_report_of_a_whole_log_equals_its_known_figures(whole_log: Path) -> None:
    log, queue = access_log(), FakeQueue(taken_per_wait=10)
    report = run(whole_log, queue=queue)

    assert (report.lines, report.accepted, report.rejected) == (10_000, 9_988, 12)
    assert [sample.line for sample in report.samples] == log.rejected[:10]
    assert "column 5: holds NUL bytes" in [sample.reason for sample in report.samples]
    assert (report.sessions, report.hours) == (len(log.visits()), len(log.hours))
    assert (report.first_hour, report.last_hour) == (log.hours[0], log.hours[-1])
    assert len(queue.events()) == 9_988
    assert report.waiting == 0
    assert report.problems == ()


def test_events_are_grouped_into_messages_and_messages_into_commits(
    whole_log: Path,
) -> None:
    queue = FakeQueue(taken_per_wait=10)
    run(whole_log, queue=queue)

    assert max(len(message.events) for message in queue.messages) <= 500
    assert len(queue.messages) < 80
    assert queue.commits < 20


def test_reading_a_file_again_gives_the_same_events(tmp_path: Path) -> None:
    path, queue = a_log(tmp_path, 20), FakeQueue(taken_per_wait=10)
    run(path, queue=queue)
    run(path, queue=queue)

    assert queue.events()[:20] == queue.events()[20:]


def test_rejected_lines_are_counted_sampled_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "access.log"
    good = LINE.format(host="h", hour=1).encode()
    path.write_bytes(good + b"bad \xff one\r\n" + b"bad two\n" * 30 + good)
    report = run(path, keep=True)

    assert (report.lines, report.accepted, report.rejected) == (33, 2, 31)
    assert [sample.line for sample in report.samples] == list(range(2, 12))
    assert report.rejected_files == (f"{path}.rejected",)
    kept = Path(f"{path}.rejected").read_bytes()
    assert kept == b"bad \xff one\n" + b"bad two\n" * 30


def test_rejected_lines_are_kept_only_if_asked_for(tmp_path: Path) -> None:
    path = a_log(tmp_path, 1)
    with path.open("a") as log:
        log.write("bad\n")

    assert run(path).rejected == 1
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_of_no_known_format_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "photo"
    path.write_bytes(bytes(range(256)) * 4000)
    report = run(path, a_log(tmp_path, 3))

    assert (report.lines, report.accepted) == (3, 3)
    assert f"{path} was left out: no known format" in report.problems[0]


def test_an_empty_file_is_not_a_problem(tmp_path: Path) -> None:
    report = run(a_log(tmp_path, 0))

    assert (report.lines, report.sessions, report.hours) == (0, 0, 0)
    assert report.problems == ()


def test_a_damaged_file_is_a_problem_and_the_next_is_read(tmp_path: Path) -> None:
    content = a_log(tmp_path, 20_000).read_bytes()
    damaged = tmp_path / "damaged.gz"
    damaged.write_bytes(gzip.compress(content)[:-2000])
    queue = FakeQueue(taken_per_wait=50)
    report = run(damaged, a_log(tmp_path, 3, "other", hour=11), queue=queue)

    assert 3 < report.accepted == report.lines < 20_003
    assert "damaged.gz cannot be read any further" in report.problems[0]
    assert len(queue.events()) == report.accepted
    assert report.hours == 2


def test_a_dash_reads_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(LINE.format(host="h", hour=3).encode()))
    monkeypatch.setattr(sys, "stdin", stdin)

    assert run("-").accepted == 1


def test_nothing_is_read_if_one_of_the_files_is_missing(tmp_path: Path) -> None:
    queue = FakeQueue(taken_per_wait=10)
    with pytest.raises(NotFound):
        run(a_log(tmp_path, 3), tmp_path / "missing", queue=queue)

    assert queue.messages == []


def test_events_before_the_timetables_start_are_sent_and_counted(tmp_path: Path) -> None:
    early, late = a_log(tmp_path, 2, "early", hour=9), a_log(tmp_path, 3, "late", hour=11)
    queue = FakeQueue(taken_per_wait=10)
    report = run(early, late, queue=queue, start="2015051710")

    assert (report.early_events, report.early_from) == (2, "2015051709")
    assert len(queue.events()) == 5


def test_the_reader_waits_while_the_queue_is_full(tmp_path: Path) -> None:
    queue = FakeQueue(taken_per_wait=3)
    run(a_log(tmp_path, 200_000), queue=queue)

    assert len(queue.events()) == 200_000
    assert queue.deepest < QUEUE_LIMIT + 50


def test_the_reader_gives_up_if_a_full_queue_is_not_processed(tmp_path: Path) -> None:
    queue = FakeQueue(taken_per_wait=0)
    with pytest.raises(Unreachable, match="none is processed"):
        run(a_log(tmp_path, 200_000), queue=queue)

    assert queue.deepest < QUEUE_LIMIT + 50


def test_the_report_counts_messages_that_were_not_taken(tmp_path: Path) -> None:
    assert run(a_log(tmp_path, 3), queue=FakeQueue(taken_per_wait=0)).waiting == 1


def test_a_stop_ends_the_wait_for_the_queue() -> None:
    queue = FakeQueue(taken_per_wait=0)
    queue.depth = 7
    stop = Stop()
    stop.set()

    assert Outlet(queue, queue, "sessions", stop).drain(0, None) == 7  # type: ignore[arg-type]


def test_progress_reports_lines_and_the_position_in_the_file(whole_log: Path) -> None:
    queue = FakeQueue(taken_per_wait=10)
    seen: list[Progress] = []
    outlet = Outlet(queue, queue, "sessions", Waits(queue))  # type: ignore[arg-type]
    documents: Any = Shelf()
    ingestion = Ingestion("example.com", outlet, documents, progress=seen.append)
    ingest(
        [LogFile(str(whole_log))],
        ingestion,
        outlet,
        SteppedClock(datetime(2026, 1, 1, tzinfo=UTC)),
        1.0,
    )

    assert seen[-1].lines == 10_000
    assert seen[-1].position == seen[-1].size == whole_log.stat().st_size
    assert [s.lines for s in seen] == sorted(s.lines for s in seen)


@pytest.mark.parametrize("site", ["", " ", "a ", "a\nb", "a\0", "x" * 256])
def test_invalid_names_of_sites_are_refused(site: str) -> None:
    with pytest.raises(InvalidValue, match="not a valid name of a site"):
        checked_site(site)


def test_a_deployment_needs_session_workers() -> None:
    with pytest.raises(NotFound, match="SingleSessionWorker"):
        session_queue(Deployment({}, {}))
