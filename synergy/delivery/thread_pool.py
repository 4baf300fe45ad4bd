"""Threads for blocking calls whose results are awaited in an event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")

_Call = tuple[Future[Any], Callable[[], object]]


class ThreadPool:
    """Runs calls in up to `most` threads, which are started on demand.

    The threads are no services: `close` does not wait for them, because a blocking call cannot be
    interrupted. With an executor of the standard library, a call that never returns, such as a
    lookup at a name server that does not answer, would keep the process from ending.
    """

    def __init__(self, name: str, most: int) -> None:
        self._name = name
        self._most = most
        self._lock = threading.Lock()
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._open = 0  # calls that wait or run
        self._threads = 0

    def run(self, act: Callable[[], T]) -> asyncio.Future[T]:
        """A future for the result of `act`, which runs when a thread is free; for an event loop."""
        future: Future[T] = Future()
        with self._lock:
            self._open += 1
            if self._open > self._threads and self._threads < self._most:
                self._threads += 1
                name = f"{self._name}-{self._threads}"
                threading.Thread(target=self._work, name=name, daemon=True).start()
        self._calls.put((future, act))
        return asyncio.wrap_future(future)

    def close(self) -> None:
        """Ends the threads after the calls that run or wait; does not wait for them."""
        with self._lock:
            for _ in range(self._threads):
                self._calls.put(None)

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            future, act = call
            if future.set_running_or_notify_cancel():
                try:
                    result = act()
                except BaseException as error:  # noqa: BLE001 - it is raised where it is awaited
                    future.set_exception(error)
                else:
                    future.set_result(result)
            del call, future, act
            with self._lock:
                self._open -= 1
