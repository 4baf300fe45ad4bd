"""An asyncio event loop in a thread of its own, for coroutines and callbacks of other threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

from synergy.runtime.service import STOP_TIMEOUT_SECONDS

LAST_TASKS_SECONDS = 5.0  # how long cancelled tasks may take to end

T = TypeVar("T")


class EventLoopThread:
    """An event loop that starts with its first use.

    It is no `Service`, because it has no work to repeat or to retry; `start` and `stop` keep the
    contract of services.
    """

    def __init__(self, name: str) -> None:
        """`name` is that of the thread."""
        self._name = name
        self._lifecycle = threading.Lock()
        self._is_stopped = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def started(self) -> bool:
        """Whether the thread runs."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> bool:
        """Starts the thread, if it does not run; False if it was stopped."""
        with self._lifecycle:
            if self._thread is None and not self._is_stopped:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=_run, args=[self._loop], name=self._name, daemon=True
                )
                self._thread.start()
            return not self._is_stopped

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T] | None:
        """A future for the result of `work`; None if the loop was stopped, and `work` not begun."""
        if self.start() and self._loop is not None:
            with suppress(RuntimeError):  # stopped meanwhile
                return asyncio.run_coroutine_threadsafe(work, self._loop)
        work.close()
        return None

    def post(self, act: Callable[..., object], *arguments: object) -> None:
        """Calls `act` in the loop soon; does nothing if the loop was stopped."""
        if self.start() and self._loop is not None:
            with suppress(RuntimeError):  # stopped meanwhile
                self._loop.call_soon_threadsafe(act, *arguments)

    def stop(self, timeout: float = STOP_TIMEOUT_SECONDS) -> bool:
        """Cancels running tasks and ends the thread; returns whether it has ended in time."""
        with self._lifecycle:
            is_first, self._is_stopped = not self._is_stopped, True
            loop, thread = self._loop, self._thread
            if is_first and loop is not None:
                loop.call_soon_threadsafe(loop.stop)
        if thread is None or thread is threading.current_thread():
            return thread is None
        thread.join(timeout)
        return not thread.is_alive()


def _run(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
        loop.run_until_complete(_cancel_all())
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


async def _cancel_all() -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    if left:
        await asyncio.wait(left, timeout=LAST_TASKS_SECONDS)
