"""Fifty clients of the stream of MX while many entries arrive: memory, and lost messages."""

from __future__ import annotations

import selectors
import socket
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from bench import procfs
from bench.contexts.years import HOURLY, MX
from bench.figures import BenchFailed, Figure, percentile
from bench.history import closed_hours_ago
from bench.machine import MIB
from bench.stage import Lab, Stage
from synergy.clock import SystemClock
from synergy.model.journal import JournalEntry
from synergy.model.journal_event import JournalEvent

CONTEXT = "bench.contexts.years"
HOST = "127.0.0.1"
LISTENERS = 50
BATCH = 20  # entries at once
EVERY_SECONDS = 0.1  # the time between two batches
WARM = 10  # batches before the first measurement of memory
TIMEOUT_SECONDS = 10.0  # the time limit for connecting, and for the last messages
_HELLO = b": listening"
_MESSAGE = b"\nevent: "

_clock = SystemClock()


def measure(lab: Lab, size: int) -> list[Figure]:
    """Counts, delays, CPU and memory during `size` seconds."""
    hour = closed_hours_ago(1, _clock.now())
    with lab.stage(CONTEXT, start_timeperiod=hour) as stage, ExitStack() as open_:
        stage.start(MX)
        port = int(stage.environ["SYNERGY_MX_PORT"])
        listeners = [open_.enter_context(_Listener(port)) for _ in range(LISTENERS)]
        with _Listeners(listeners) as all_:
            all_.read_until(lambda one: one.is_connected, "the beginning of the stream")
            return _figures(stage, all_, size)


def _figures(stage: Stage, listeners: _Listeners, seconds: int) -> list[Figure]:
    (mx,) = stage.children(MX)
    batches, delays, before = max(1, int(seconds / EVERY_SECONDS)), [], 0.0
    began, cpu = _clock.monotonic(), procfs.cpu_seconds(mx.pid)
    for number in range(batches):
        if number == min(WARM, batches - 1):
            before = procfs.rss_bytes(mx.pid) / MIB
        _append_entries(stage)
        ends_at = began + EVERY_SECONDS * (number + 1)
        delays.append(listeners.read_for(ends_at - _clock.monotonic(), BATCH * (number + 1)))
        stage.tell(int((number + 1) * EVERY_SECONDS), seconds)
    listeners.read_until(lambda one: one.received >= BATCH * batches, "the last message")
    elapsed, after = _clock.monotonic() - began, procfs.rss_bytes(mx.pid) / MIB
    received = sum(one.received for one in listeners.all)
    return [
        Figure("messages received", received / elapsed, "/s"),
        Figure("messages received twice", received - LISTENERS * BATCH * batches, "", at_most=0),
        Figure("lag of the slowest client, p99", percentile(delays, 99), "messages"),
        Figure("CPU of one core", (procfs.cpu_seconds(mx.pid) - cpu) / elapsed * 100, "%"),
        Figure("memory of MX at the start", before, "MiB"),
        Figure("memory of MX at the end", after, "MiB"),
        Figure("growth of that memory", max(0.0, after - before), "MiB", at_most=10),
    ]


def _append_entries(stage: Stage) -> None:
    now = _clock.now()
    entry = JournalEntry.without_period(JournalEvent.JOB_NOOP, now, "bench", process=HOURLY[0])
    stage.store.journal.append([entry] * BATCH)


class _Listener:
    """A client of the stream, which counts messages."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection((HOST, port), TIMEOUT_SECONDS)
        self.socket.sendall(b"GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.socket.setblocking(False)
        self.is_connected = False
        self.received = 0
        self._rest = b""

    def __enter__(self) -> _Listener:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def read(self) -> None:
        """Reads the data that has arrived."""
        data = self.socket.recv(1 << 20)
        if not data:
            raise BenchFailed("MX closed the connection of a listener")
        text = self._rest + data
        self.is_connected = self.is_connected or _HELLO in text
        self.received += text.count(_MESSAGE)
        self._rest = text[-len(_MESSAGE) + 1 :]  # a message may arrive in two pieces


class _Listeners:
    """All listeners, read together."""

    def __init__(self, listeners: Sequence[_Listener]) -> None:
        self.all = listeners
        self._selector = selectors.DefaultSelector()
        for one in listeners:
            self._selector.register(one.socket, selectors.EVENT_READ, one)

    def __enter__(self) -> _Listeners:
        return self

    def __exit__(self, *_: object) -> None:
        self._selector.close()

    def read_for(self, seconds: float, entries: int) -> float:
        """Reads for so long; returns how many of the entries the slowest listener lacks."""
        deadline = _clock.monotonic() + seconds
        while (left := deadline - _clock.monotonic()) > 0:
            for key, _ in self._selector.select(left):
                key.data.read()
        return entries - min(one.received for one in self.all)

    def read_until(self, is_done: Callable[[_Listener], bool], what: str) -> None:
        """Reads until `is_done` for all listeners; raises BenchFailed after the timeout."""
        deadline = _clock.monotonic() + TIMEOUT_SECONDS
        while not all(map(is_done, self.all)):
            left = deadline - _clock.monotonic()
            if left <= 0:
                raise BenchFailed(f"{what} did not reach all within {TIMEOUT_SECONDS:g} s")
            for key, _ in self._selector.select(left):
                key.data.read()
