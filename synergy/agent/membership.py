"""Which agents there are, and which one of them decides.

Each agent that is at work holds the lease of a member, the first number that is free; one of
them holds that of the decider. What an agent took in hand is named by its incarnation, which is
the holder of its member's lease: who holds none is gone.
"""

from __future__ import annotations

from itertools import count

from synergy.clock import Clock
from synergy.runtime.leaders import AGENTS, DECIDER
from synergy.runtime.leadership import Leadership
from synergy.storage.protocol import Leases

FAMILY = "agent/"


class Membership:
    """One agent among all; `tick` is to be called when `due_in` says so."""

    def __init__(self, leases: Leases, clock: Clock, owner: str) -> None:
        self._leases = leases
        self._clock = clock
        self._unwilling_until = 0.0
        self._owner = owner
        self._leadership = Leadership(leases, clock, FAMILY, owner)
        self._number = 0
        self.joined = 0  # how often its right to take things in hand began
        self._known: frozenset[str] = frozenset()  # who was at work at the last look
        self.is_changed = False  # whether a member was lost since somebody asked

    @property
    def number(self) -> int:
        """Its number among the members; 0 while it is none."""
        return self._number if self.is_member else 0

    @property
    def is_member(self) -> bool:
        """Whether it may take things in hand at this moment."""
        return self._number > 0 and self._leadership.is_held(_member(self._number))

    @property
    def is_alone(self) -> bool:
        """Whether no other agent was at work at the last look."""
        return len(self._known) <= 1

    @property
    def decides(self) -> bool:
        """Whether it may decide at this moment."""
        return self._leadership.is_held(DECIDER)

    def assert_decides(self) -> None:
        """Raises LostLease if another agent may decide by now: to be asked in what is written."""
        self._leadership.assert_ours(DECIDER)

    @property
    def term(self) -> int:
        """The term of the decider, if that is this agent."""
        return self._leadership.epoch(DECIDER)

    def due_in(self) -> float:
        """Seconds until the next tick."""
        return self._leadership.due_in()

    def renew(self) -> None:
        """Renews and looks, and takes nothing."""
        was_member = self.is_member
        self._leadership.tick()
        self.joined += self.is_member and not was_member  # others may have thought it gone
        members = self._members()
        self.is_changed |= not self._known <= members
        self._known = members

    def tick(self) -> None:
        """Renews, looks, and takes what is free."""
        self.renew()
        if not self.is_member:
            self._join()
        is_willing = self._clock.monotonic() >= self._unwilling_until
        if is_willing and not self.decides and self._leadership.is_free(DECIDER):
            self._leadership.take(DECIDER)

    def live(self) -> frozenset[str]:
        """The owners who are at work, as far as can be seen.

        Whose claim was read before this was asked, and is not among them, is gone: who claims is
        a member first. The look between the two readings makes sure that a lease that was taken
        anew is not judged by its former holder's silence.
        """
        leases = self._leases.all(AGENTS)
        self.renew()
        return (
            frozenset(
                lease.holder
                for lease in leases
                if not lease.released and not self._leadership.is_free(lease.name)
            )
            | self._own()
        )

    def _own(self) -> frozenset[str]:
        return frozenset([self._owner]) if self.is_member else frozenset()

    def _members(self) -> frozenset[str]:
        """Who is at work, itself among them.

        By owner: a successor may have a lost one's number before anybody looks.
        """
        holders = self._leadership.holders()
        return frozenset(
            holder
            for name, holder in holders.items()
            if name.startswith(AGENTS)
            and (not self._leadership.is_free(name) or name == _member(self._number))
        )

    def stop_deciding(self, seconds: float = 0.0) -> None:
        """Gives up the lease of the decider to another one, and leaves it alone for so long."""
        self._unwilling_until = self._clock.monotonic() + seconds
        self._leadership.release(DECIDER)

    def resign(self) -> None:
        """Gives all leases up."""
        self._leadership.resign()

    def _join(self) -> None:
        """Takes the first number that is free; each that was taken meanwhile is another member."""
        free = (n for n in count(1) if self._leadership.is_free(_member(n)))
        self._number = next(n for n in free if self._leadership.take(_member(n)))
        self.joined += 1


def _member(number: int) -> str:
    return f"{AGENTS}{number}"
