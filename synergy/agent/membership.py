"""Which agents are running, and which one of them decides.

Each running agent holds a member's lease, with the first free number; one of them also holds the
decider's lease. An agent's claims carry the name of its incarnation, which is the holder of its
member's lease: without that lease the agent is gone.
"""

from __future__ import annotations

from itertools import count

from synergy.clock import Clock
from synergy.runtime.leadership import Leadership
from synergy.runtime.shared_parts import AGENTS, DECIDER
from synergy.storage.protocol import Leases

FAMILY = "agent/"


class Membership:
    """The leases of one agent; call `tick` when `due_in` has passed."""

    def __init__(self, leases: Leases, clock: Clock, owner: str) -> None:
        self._leases = leases
        self._clock = clock
        self._stands_back_until = 0.0  # monotonic; does not take the decider's lease before it
        self._owner = owner
        self._leadership = Leadership(leases, clock, FAMILY, owner)
        self._number = 0
        self.joined = 0  # how often this agent became a member
        self._known: frozenset[str] = frozenset()  # the owners that were running at the last look
        self.is_changed = False  # whether a member was lost since the flag was last cleared

    @property
    def number(self) -> int:
        """The number of this agent among the members; 0 while it is not a member."""
        return self._number if self.is_member else 0

    @property
    def is_member(self) -> bool:
        """Whether this agent may claim runs now."""
        return self._number > 0 and self._leadership.is_held(_member(self._number))

    @property
    def is_alone(self) -> bool:
        """Whether no other agent was running at the last look."""
        return len(self._known) <= 1

    @property
    def decides(self) -> bool:
        """Whether this agent may decide now."""
        return self._leadership.is_held(DECIDER)

    def assert_decides(self) -> None:
        """Raises LostLease if another agent may decide; call it within each batch."""
        self._leadership.assert_ours(DECIDER)

    @property
    def term(self) -> int:
        """The term of the decider's lease; 0 if this agent does not hold it."""
        return self._leadership.epoch(DECIDER)

    def due_in(self) -> float:
        """Seconds until the next tick."""
        return self._leadership.due_in()

    def renew(self) -> None:
        """Renews the leases of this agent and reads those of the others."""
        was_member = self.is_member
        self._leadership.tick()
        self.joined += self.is_member and not was_member  # others may have thought it gone
        members = self._members()
        self.is_changed |= not self._known <= members
        self._known = members

    def tick(self) -> None:
        """Renews and reads leases, and takes those that are free."""
        self.renew()
        if not self.is_member:
            self._join()
        may_take = self._clock.monotonic() >= self._stands_back_until
        if may_take and not self.decides and self._leadership.is_free(DECIDER):
            self._leadership.take(DECIDER)

    def live(self) -> frozenset[str]:
        """The owners that are running, as far as leases show.

        An owner whose claim was read before this call and that is not among them is gone, because
        an agent is a member before it claims. Leases are read before and after renewing, so that
        a lease that was just taken is not judged by its former holder's silence.
        """
        leases = self._leases.all(AGENTS)
        self.renew()
        live = {
            lease.holder
            for lease in leases
            if not lease.released and not self._leadership.is_free(lease.name)
        }
        if self.is_member:
            live.add(self._owner)
        return frozenset(live)

    def _members(self) -> frozenset[str]:
        """The owners that are running, this one included.

        Owners rather than numbers: a successor may have taken a lost member's number.
        """
        holders = self._leadership.holders()
        return frozenset(
            holder
            for name, holder in holders.items()
            if name.startswith(AGENTS)
            and (not self._leadership.is_free(name) or name == _member(self._number))
        )

    def stop_deciding(self, seconds: float = 0.0) -> None:
        """Releases the decider's lease, and does not take it again for so many seconds."""
        self._stands_back_until = self._clock.monotonic() + seconds
        self._leadership.release(DECIDER)

    def resign(self) -> None:
        """Releases all leases."""
        self._leadership.resign()

    def _join(self) -> None:
        """Takes the first free number; one that was taken meanwhile belongs to another member."""
        free = (n for n in count(1) if self._leadership.is_free(_member(n)))
        self._number = next(n for n in free if self._leadership.take(_member(n)))
        self.joined += 1


def _member(number: int) -> str:
    return f"{AGENTS}{number}"
