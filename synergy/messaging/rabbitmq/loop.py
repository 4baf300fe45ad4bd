"""The thread that does all input and output with the broker: an event loop of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from synergy.errors import MessagingUnavailable

T = TypeVar("T")

_GRACE = 5.0  # seconds that the loop may be late: what it runs ends by itself, and in time


class IoThread:
    """Runs coroutines for other threads. It begins with the first, and ends with the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def run(self, work: Coroutine[Any, Any, T], limit: float, what: str) -> T:
        """The result of `work`; raises MessagingUnavailable, with `what`, after `limit` seconds."""
        loop = self._running()
        if loop is None:
            work.close()
            raise MessagingUnavailable("the bus was closed")
        future = asyncio.run_coroutine_threadsafe(asyncio.wait_for(work, limit), loop)
        try:
            return future.result(limit + _GRACE)
        except TimeoutError:
            future.cancel()
            raise MessagingUnavailable(f"{what} within {limit:g} s") from None

    def post(self, act: Callable[..., object], *arguments: object) -> None:
        """Has the loop call `act` soon; does nothing once it is closed."""
        loop = self._running()
        if loop is not None:
            with suppress(RuntimeError):  # closed meanwhile
                loop.call_soon_threadsafe(act, *arguments)

    def close(self) -> None:
        """Cancels what still runs, and ends the thread."""
        with self._lock:
            self._is_closed = True
            loop, self._loop = self._loop, None
        if loop is not None and self._thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            self._thread.join()

    def _running(self) -> asyncio.AbstractEventLoop | None:
        with self._lock:
            if self._loop is None and not self._is_closed:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=_run, args=(self._loop,), name="rabbitmq", daemon=True
                )
                self._thread.start()
            return self._loop


def _run(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
        loop.run_until_complete(_cancel_all())
    finally:
        loop.close()


async def _cancel_all() -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
