"""Fifty who follow the stream of MX while much happens: whether memory stays, and all is heard."""

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
EVERY = 0.1  # seconds between two batches
WARM = 10  # batches before memory is looked at first
PATIENCE = 10.0  # seconds for the last messages
_HELLO = b": listening"
_MESSAGE = b"\nevent: "

_clock = SystemClock()


def measure(lab: Lab, size: int) -> list[Figure]:
    """For `size` seconds."""
    hour = closed_hours_ago(1, _clock.now())
    with lab.stage(CONTEXT, start_timeperiod=hour) as stage, ExitStack() as open_:
        stage.start(MX)
        port = int(stage.environ["SYNERGY_MX_PORT"])
        listeners = [open_.enter_context(_Listener(port)) for _ in range(LISTENERS)]
        with _Crowd(listeners) as crowd:
            crowd.hear(lambda one: one.is_welcome, "the first word of the stream")
            return _figures(stage, crowd, size)


def _figures(stage: Stage, crowd: _Crowd, seconds: int) -> list[Figure]:
    (mx,) = stage.children(MX)
    batches, delays, before = max(1, int(seconds / EVERY)), [], 0.0
    began, cpu = _clock.monotonic(), procfs.cpu_seconds(mx.pid)
    for number in range(batches):
        if number == min(WARM, batches - 1):
            before = procfs.rss_bytes(mx.pid) / MIB
        _happen(stage)
        told = BATCH * (number + 1)
        delays.append(crowd.hear_for(began + EVERY * (number + 1) - _clock.monotonic(), told))
        stage.tell(int((number + 1) * EVERY), seconds)
    crowd.hear(lambda one: one.heard >= BATCH * batches, "the last message")
    elapsed, after = _clock.monotonic() - began, procfs.rss_bytes(mx.pid) / MIB
    heard = sum(one.heard for one in crowd.listeners)
    return [
        Figure("messages that were told", heard / elapsed, "/s"),
        Figure("told twice", heard - LISTENERS * BATCH * batches, "", at_most=0),
        Figure("behind what happens, p99", percentile(delays, 99), "messages"),
        Figure("CPU of one core", (procfs.cpu_seconds(mx.pid) - cpu) / elapsed * 100, "%"),
        Figure("memory of MX at the start", before, "MiB"),
        Figure("memory of MX at the end", after, "MiB"),
        Figure("what it grew by", max(0.0, after - before), "MiB", at_most=10),
    ]


def _happen(stage: Stage) -> None:
    now = _clock.now()
    entry = JournalEntry.without_period(JournalEvent.JOB_NOOP, now, "bench", process=HOURLY[0])
    stage.store.journal.append([entry] * BATCH)


class _Listener:
    """Somebody who follows the stream, and counts."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection((HOST, port), PATIENCE)
        self.socket.sendall(b"GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.socket.setblocking(False)
        self.is_welcome = False
        self.heard = 0
        self._rest = b""

    def __enter__(self) -> _Listener:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def hear(self) -> None:
        """Takes what has come."""
        data = self.socket.recv(1 << 20)
        if not data:
            raise BenchFailed("MX let go of a listener")
        text = self._rest + data
        self.is_welcome = self.is_welcome or _HELLO in text
        self.heard += text.count(_MESSAGE)
        self._rest = text[-len(_MESSAGE) + 1 :]  # a word may come in two pieces


class _Crowd:
    """All listeners, heard together."""

    def __init__(self, listeners: Sequence[_Listener]) -> None:
        self.listeners = listeners
        self._selector = selectors.DefaultSelector()
        for one in listeners:
            self._selector.register(one.socket, selectors.EVENT_READ, one)

    def __enter__(self) -> _Crowd:
        return self

    def __exit__(self, *_: object) -> None:
        self._selector.close()

    def hear_for(self, seconds: float, told: int) -> float:
        """Listens so long; how many messages the last of them is behind then."""
        deadline = _clock.monotonic() + seconds
        while (left := deadline - _clock.monotonic()) > 0:
            for key, _ in self._selector.select(left):
                key.data.hear()
        return told - min(one.heard for one in self.listeners)

    def hear(self, is_done: Callable[[_Listener], bool], what: str) -> None:
        """Listens until it is so for all; raises BenchFailed if it takes too long."""
        deadline = _clock.monotonic() + PATIENCE
        while not all(map(is_done, self.listeners)):
            left = deadline - _clock.monotonic()
            if left <= 0:
                raise BenchFailed(f"{what} did not come to all within {PATIENCE:g} s")
            for key, _ in self._selector.select(left):
                key.data.hear()
