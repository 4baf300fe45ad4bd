"""Reads claims from the store, for many requests at a time."""

from __future__ import annotations

import asyncio

from synergy.delivery.thread_pool import ThreadPool
from synergy.model.schedule import Run
from synergy.storage.protocol import Runs

READ_SECONDS = 3.0  # how long a request waits for the store before it is given back

_Rows = dict[str, Run]


class ClaimReads:
    """Reads runs; requests that ask during a read share the next one. For one event loop."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self._threads = ThreadPool("delivery-claims", 1)
        self._asked: list[str] = []  # the runs of the next read
        self._next: asyncio.Task[_Rows] | None = None
        self._turn = asyncio.Lock()

    async def read(self, run: str) -> Run | None:
        """The row of a run; raises StorageUnavailable, or TimeoutError."""
        async with asyncio.timeout(READ_SECONDS):
            if self._next is None:
                self._next = asyncio.create_task(self._rows())
                self._next.add_done_callback(_is_retrieved)  # those that asked may have given up
            self._asked.append(run)
            return (await asyncio.shield(self._next)).get(run)

    def close(self) -> None:
        self._threads.close()

    async def _rows(self) -> _Rows:
        async with self._turn:
            ids, self._asked, self._next = self._asked, [], None
            rows = await self._threads.run(lambda: self._runs.get(ids))
            return {row.id: row for row in rows}


def _is_retrieved(reading: asyncio.Task[_Rows]) -> bool:
    """Marks the error of a read as retrieved."""
    return reading.cancelled() or reading.exception() is not None
