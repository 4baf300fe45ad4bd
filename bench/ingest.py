"""Measures the ingestion of an access log, from file to sessions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bench import accesslog
from bench.figures import BenchFailed, Figure
from bench.stage import Lab
from synergy.clock import SystemClock
from workers.access_log.files import LogFile
from workers.access_log.ncsa import parse
from workers.access_log.pipeline import SESSION_WORKER
from workers.access_log.sessions import Sessionizer

WORKERS = 2
SESSIONS = "single_session"
TIMEOUT = 600.0


def measure(lab: Lab, size: int) -> list[Figure]:
    """Lines per second of `ingest` with two session workers, until every line is processed."""
    with lab.stage() as stage:
        log = stage.home / "access.log"
        accesslog.write(log, size)
        parsed = _parse_only(log, lambda done: stage.tell(done, size))
        stage.start(SESSION_WORKER, WORKERS)
        report = stage.command(
            "ingest", str(log), "--site", accesslog.SITE, "--wait", timeout=TIMEOUT
        )
        workers = stage.cpu_seconds(SESSION_WORKER)
        stored = stage.store.documents.collections().get(SESSIONS, 0)
    if (report["accepted"], report["waiting"], stored) != (size, 0, report["sessions"]):
        raise BenchFailed(f"{stored} sessions are stored, and the report says {report}")
    return [
        Figure("lines, from file to sessions", size / report["seconds"], "lines/s", 15_000),
        Figure("lines, from file to events only", parsed, "lines/s"),
        Figure("lines to a session", size / report["sessions"], "lines"),
        Figure("CPU of both session workers", workers / size * 1e6, "µs/line"),
    ]


def _parse_only(log: Path, tell: Callable[[int], None]) -> float:
    """Lines a second, read and parsed into events that are not sent."""
    clock, visitors, lines = SystemClock(), Sessionizer(accesslog.SITE), 0
    began = clock.monotonic()
    for block in LogFile(str(log)).blocks():
        for line in block:
            visitors.event(parse(line), line)
        lines += len(block)
        tell(lines)
    return lines / (clock.monotonic() - began)
