"""Services and loops: how they start, repeat their work, retry it, wait and stop.

A `Service` is one duty in a thread of its own. Its work is in `run_once`, which tests call
without the thread. The contract of every service:

- `start` is idempotent: a second one changes nothing. A service has one life: `start` after
  `stop` does nothing either, so no thread can appear while a process shuts down.
- `stop` may be called before `start`, more than once and from several threads. It waits for the
  thread, up to a limit, and returns whether it has ended.
- A stop request ends every wait at once, also the pauses after failures.
- A failed `run_once` is logged, an unexpected failure with its traceback, and repeated after a
  pause that grows up to a limit.

Processes (scheduler, agent, worker) run the same loop in their main thread by `repeat`; they are
asked to stop by a signal, through the `Stop` of their workplace.
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime

from synergy.clock import Clock
from synergy.errors import MessagingUnavailable, StorageUnavailable
from synergy.runtime.stop import Stop, WakeUp

STOP_TIMEOUT_SECONDS = 10.0
UNAVAILABLE = (StorageUnavailable, MessagingUnavailable)

log = logging.getLogger(__name__)

Step = Callable[[], float | None]
"""One turn of a loop; returns the seconds until the next one, None if nothing is left to do."""


@dataclass(frozen=True, slots=True)
class RetryRule:
    """Which failures a loop retries, after which pauses, and how it logs them.

    `waiting` is the event of an unavailable store or bus, logged once for each outage; `failing`
    that of any other failure, logged each time. The pause doubles from `first` to `longest`
    seconds. Failures that are not `retried` are raised.
    """

    waiting: str
    failing: str
    first: float = 0.5
    longest: float = 2.0  # short enough that leases are kept meanwhile
    retried: tuple[type[Exception], ...] = (Exception,)

    def pause(self, failures: int) -> float:
        """Seconds to wait after so many failures in a row."""
        return min(self.first * 2.0 ** min(failures - 1, 30), self.longest)


class Retry:
    """Runs the steps of one loop by a rule.

    `failed` is called with each error, and the number of failures in a row.
    """

    def __init__(
        self,
        rule: RetryRule,
        stop: Stop,
        failed: Callable[[Exception, int], object] = lambda *_: None,
    ) -> None:
        self._rule = rule
        self._stop = stop
        self._failed = failed
        self._failures = 0

    def run(self, step: Step) -> float | None:
        """What the step returns; 0 after a pause if it failed."""
        try:
            pause = step()
        except self._rule.retried as error:
            self._failures += 1
            self._log(error)
            self._failed(error, self._failures)
            self._stop.wait(self._rule.pause(self._failures))
            return 0.0
        self._failures = 0
        return pause

    def _log(self, error: Exception) -> None:
        if not isinstance(error, UNAVAILABLE):
            log.error("A turn failed", exc_info=error, extra={"event": self._rule.failing})
        elif self._failures == 1:
            log.warning("Waiting: %s", error, extra={"event": self._rule.waiting})


def repeat(step: Step, stop: Stop, wait: Callable[[float], object], retry: Retry) -> None:
    """Repeats `step`, with the waits it returns, until a stop request or until it returns None.

    A stop request interrupts `wait`.
    """

    def turn() -> float | None:
        pause = step()
        if pause is not None and pause > 0:
            wait(pause)
        return pause

    while not stop.is_set and retry.run(turn) is not None:
        pass


class Service(ABC):
    """One duty that is repeated in a thread of its own; see the module for the contract.

    The thread closes the resources on `_opened` when it ends.
    """

    stop_timeout_seconds = STOP_TIMEOUT_SECONDS

    def __init__(self, name: str, clock: Clock, rule: RetryRule) -> None:
        """`name` is that of the thread."""
        self._name = name
        self._clock = clock
        self._rule = rule
        self._stop = Stop()
        self._wake_up = WakeUp()
        self._stop.interrupts(self._wake_up.interrupt)
        self._opened = ExitStack()
        self._lifecycle = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_running = False
        self._is_requested = False  # whether `start` was called since the last turn began

    @abstractmethod
    def run_once(self, now: datetime) -> float | None:
        """Does the work that is due; returns the seconds until more is due.

        None if nothing will be due before the next `start`: the thread ends.
        """

    @property
    def started(self) -> bool:
        """Whether the thread runs."""
        return self._is_running

    def start(self) -> None:
        """Starts the thread; does nothing if it runs, or was stopped."""
        with self._lifecycle:
            if self._stop.is_set:
                return
            self._is_requested = True
            if not self._is_running:
                self._thread = threading.Thread(
                    target=self._run, args=[self._thread], name=self._name, daemon=True
                )
                self._thread.start()
                self._is_running = True

    def request_stop(self) -> None:
        """Requests the stop without waiting; from any thread or signal handler."""
        self._stop.set()

    def stop(self, timeout: float | None = None) -> bool:
        """Requests the stop and waits for the thread, by default `stop_timeout_seconds`.

        Returns whether the thread has ended; False in the thread itself.
        """
        self.request_stop()
        with self._lifecycle:
            thread = self._thread
        if thread is None or thread is threading.current_thread():
            return thread is None
        thread.join(self.stop_timeout_seconds if timeout is None else timeout)
        return not thread.is_alive()

    def wake(self) -> None:
        """Ends the present wait, or the next one."""
        self._wake_up.interrupt()

    def wait(self, seconds: float) -> None:
        """Waits between two turns; `wake` and a stop request end it."""
        self._wake_up.wait(seconds)

    def _run(self, before: threading.Thread | None) -> None:
        if before is not None:
            before.join()  # it had nothing left to do, and is ending
        retry = Retry(self._rule, self._stop)
        try:
            while self._has_work():
                repeat(self._turn, self._stop, self.wait, retry)
        finally:
            self._is_running = False
            retry.run(self._opened.close)

    def _turn(self) -> float | None:
        self._is_requested = False
        return self.run_once(self._clock.now())

    def _has_work(self) -> bool:
        """Whether there is work; if not, the next `start` begins a new thread."""
        with self._lifecycle:
            self._is_running = self._is_requested and not self._stop.is_set
            return self._is_running
