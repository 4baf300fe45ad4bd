"""The thread that does all input and output with the broker."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from synergy.errors import MessagingUnavailable
from synergy.runtime.event_loop_thread import EventLoopThread

T = TypeVar("T")

LATE_SECONDS = 5.0  # how late the loop may be, beyond the limit of each coroutine


class IoThread(EventLoopThread):
    """Runs coroutines for threads that wait for their results."""

    def __init__(self) -> None:
        super().__init__("rabbitmq")

    def run(self, work: Coroutine[Any, Any, T], limit: float, what: str) -> T:
        """The result of `work`; raises MessagingUnavailable, with `what`, after `limit` seconds.

        Also raises MessagingUnavailable if the thread was stopped.
        """
        future = self.submit(asyncio.wait_for(work, limit))
        if future is None:
            work.close()
            raise MessagingUnavailable("the bus was closed")
        try:
            return future.result(limit + LATE_SECONDS)
        except TimeoutError:
            future.cancel()
            raise MessagingUnavailable(f"{what} within {limit:g} s") from None
