"""A race: the time from the first message sent to the last one carried out.

Who carries out a message leaves a mark, a byte in a file, so that the same is counted for
everybody, and counting costs next to nothing.
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

WARM_UP = 200  # messages before the race, so that everybody is at work
READY_IN = 60.0  # seconds in which they are to be at work
TIMEOUT = 600.0
_LOOK_EVERY = 0.002

_clock = SystemClock()


@dataclass(frozen=True, slots=True)
class Race:
    """Where it is run: the broker, a queue, the file of marks; and over how many messages."""

    url: str
    queue: str
    marks: Path
    count: int

    @classmethod
    def from_environ(cls) -> Race:
        """The one that this program was started for."""
        get = os.environ.__getitem__
        return cls(
            get("BENCH_URL"), get("BENCH_QUEUE"), Path(get("BENCH_MARKS")), int(get("BENCH_COUNT"))
        )

    def environ(self) -> Mapping[str, str]:
        """What a program finds it by. No argument: those can be read by everybody."""
        return {
            "BENCH_URL": self.url,
            "BENCH_QUEUE": self.queue,
            "BENCH_MARKS": str(self.marks),
            "BENCH_COUNT": str(self.count),
        }

    def marker(self) -> Callable[[], object]:
        """What to call for each message that was carried out."""
        file = os.open(self.marks, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        return lambda: os.write(file, b".")

    def run(self, send: Callable[[int], None]) -> None:
        """Sends, waits until all is carried out, and says how many seconds that took."""
        send(WARM_UP)
        self._await(WARM_UP, READY_IN)
        began = _clock.monotonic()
        send(self.count)
        self._await(WARM_UP + self.count, TIMEOUT)
        sys.stdout.write(json.dumps(_clock.monotonic() - began))

    def _await(self, count: int, timeout: float) -> None:
        deadline, pause = _clock.monotonic() + timeout, threading.Event()
        while self._marked() < count:
            if _clock.monotonic() > deadline:
                raise TimeoutError(f"{self._marked()} of {count} messages after {timeout:g} s")
            pause.wait(_LOOK_EVERY)

    def _marked(self) -> int:
        return self.marks.stat().st_size if self.marks.exists() else 0
