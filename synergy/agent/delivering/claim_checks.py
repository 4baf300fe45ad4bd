"""Looks at a claim again, right before its request is sent.

Between the claim and the request lies time in queues, name servers and handshakes, in which this
agent may have been stopped. So each request asks here, as the last step before its bytes go out.
The clock shows an agent that was away for longer than its lease; a virtual machine that was paused
can have a clock that shows nothing, and only the row does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from synergy.agent.membership import Membership
from synergy.delivery.request import NotSent
from synergy.errors import StorageUnavailable
from synergy.model.schedule import Run, RunState
from synergy.storage.protocol import Runs

if TYPE_CHECKING:
    from synergy.agent.delivering.claim_reads import ClaimReads


class ClaimChecks:
    """Checks the claims of one agent; `assert_held` is for one event loop."""

    def __init__(self, runs: Runs, members: Membership, owner: str) -> None:
        self._runs = runs
        self._members = members
        self._owner = owner
        self._reads: ClaimReads | None = None

    async def assert_held(self, run: Run, joined: int) -> None:
        """Raises NotSent unless this agent, a member since `joined`, holds the run's claim."""
        from synergy.agent.delivering.claim_reads import ClaimReads  # it needs an event loop

        self._assert_member(joined)
        self._reads = self._reads or ClaimReads(self._runs)
        try:
            row = await self._reads.read(run.id)
        except (StorageUnavailable, TimeoutError) as error:
            raise NotSent(f"its claim could not be checked: {error or 'no answer'}") from error
        held = (RunState.LAUNCHED, self._owner, run.attempt)
        if row is None or (row.state, row.owner, row.attempt) != held:
            raise NotSent("the run has ended, or belongs to another agent or attempt")
        self._assert_member(joined)

    def close(self) -> None:
        if self._reads is not None:
            self._reads.close()

    def _assert_member(self, joined: int) -> None:
        if not self._members.is_member or self._members.joined != joined:
            raise NotSent("the claim is older than the lease of this agent")
