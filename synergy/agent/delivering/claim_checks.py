"""Looks at a claim again, right before its request is sent.

Between the claim and the request lies time in queues, name servers and handshakes, in which this
agent may have been stopped. So each request asks here, as the last step before its bytes go out.
The clock shows an agent that was away for longer than its lease; a virtual machine that was paused
can have a clock that shows nothing, and only the row does. Requests that ask while the store is
being read share the next read.
"""

from __future__ import annotations

import asyncio

from synergy.agent.membership import Membership
from synergy.delivery.request import NotSent
from synergy.delivery.thread_pool import ThreadPool
from synergy.errors import StorageUnavailable
from synergy.model.schedule import Run, RunState
from synergy.storage.protocol import Runs

READ_SECONDS = 3.0  # how long a request waits for the store before it is given back

_Rows = dict[str, Run]


class ClaimChecks:
    """Checks the claims of one agent; `assert_held` is for one event loop."""

    def __init__(self, runs: Runs, members: Membership, owner: str) -> None:
        self._runs = runs
        self._members = members
        self._owner = owner
        self._threads = ThreadPool("delivery-claims", 1)
        self._asked: list[str] = []  # the runs of the next read
        self._next: asyncio.Task[_Rows] | None = None
        self._turn = asyncio.Lock()

    async def assert_held(self, run: Run, joined: int) -> None:
        """Raises NotSent unless this agent, a member since `joined`, holds the run's claim."""
        self._assert_member(joined)
        try:
            async with asyncio.timeout(READ_SECONDS):
                row = (await self._read(run.id)).get(run.id)
        except (StorageUnavailable, TimeoutError) as error:
            raise NotSent(f"its claim could not be checked: {error or 'no answer'}") from error
        held = (RunState.LAUNCHED, self._owner, run.attempt)
        if row is None or (row.state, row.owner, row.attempt) != held:
            raise NotSent("the run has ended, or belongs to another agent or attempt")
        self._assert_member(joined)

    def close(self) -> None:
        self._threads.close()

    def _assert_member(self, joined: int) -> None:
        if not self._members.is_member or self._members.joined != joined:
            raise NotSent("the claim is older than the lease of this agent")

    async def _read(self, run: str) -> _Rows:
        if self._next is None:
            self._next = asyncio.create_task(self._rows())
            self._next.add_done_callback(_is_retrieved)  # those that asked may have given up
        self._asked.append(run)
        return await asyncio.shield(self._next)

    async def _rows(self) -> _Rows:
        async with self._turn:
            ids, self._asked, self._next = self._asked, [], None
            rows = await self._threads.run(lambda: self._runs.get(ids))
            return {row.id: row for row in rows}


def _is_retrieved(reading: asyncio.Task[_Rows]) -> bool:
    """Marks the error of a read as retrieved."""
    return reading.cancelled() or reading.exception() is not None
