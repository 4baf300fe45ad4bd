"""A race: the time from the first message sent to the last one processed.

Each processed message appends a byte, the mark, to a file, so that all contestants are counted in
the same way, at almost no cost.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from synergy.clock import SystemClock

WARM_UP = 200  # messages before the race, so that every process is working
READY_SECONDS = 60.0  # the time for the warm-up
TIMEOUT = 600.0
_POLL_SECONDS = 0.002

_clock = SystemClock()


@dataclass(frozen=True, slots=True)
class Race:
    """The broker, the queue, the file of marks, and the number of messages of a race."""

    url: str
    queue: str
    marks: Path
    count: int

    @classmethod
    def from_environ(cls) -> Race:
        """The race that this program was started for."""
        get = os.environ.__getitem__
        return cls(
            get("BENCH_URL"), get("BENCH_QUEUE"), Path(get("BENCH_MARKS")), int(get("BENCH_COUNT"))
        )

    def environ(self) -> Mapping[str, str]:
        """The race as environment variables; arguments would be visible to all users."""
        return {
            "BENCH_URL": self.url,
            "BENCH_QUEUE": self.queue,
            "BENCH_MARKS": str(self.marks),
            "BENCH_COUNT": str(self.count),
        }

    def marker(self) -> Callable[[], object]:
        """The function to call for each processed message."""
        file = os.open(self.marks, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        return lambda: os.write(file, b".")

    def run(self, send: Callable[[int], None]) -> None:
        """Sends messages, waits until all are processed, and prints the seconds."""
        send(WARM_UP)
        self._await(WARM_UP, READY_SECONDS)
        began = _clock.monotonic()
        send(self.count)
        self._await(WARM_UP + self.count, TIMEOUT)
        sys.stdout.write(json.dumps(_clock.monotonic() - began))

    def _await(self, count: int, timeout: float) -> None:
        deadline, pause = _clock.monotonic() + timeout, threading.Event()
        while self._marked() < count:
            if _clock.monotonic() > deadline:
                raise TimeoutError(f"{self._marked()} of {count} messages after {timeout:g} s")
            pause.wait(_POLL_SECONDS)

    def _marked(self) -> int:
        return self.marks.stat().st_size if self.marks.exists() else 0
