"""Agents that start at the same moment all become members at once; lost members are noticed."""

from __future__ import annotations

import pytest

from synergy.agent.membership import Membership
from synergy.runtime.shared_parts import AGENTS


class OvertakenLeases:
    """The store's leases; before each of its first takes, another agent takes that lease."""

    def __init__(self, leases, *faster):
        self._leases = leases
        self._faster = list(faster)

    def __getattr__(self, name):
        return getattr(self._leases, name)

    def take(self, *asked):
        if self._faster:
            self._faster.pop(0).tick()
        return self._leases.take(*asked)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_an_agent_whose_number_was_taken_takes_the_next(agents, number):
    others = [Membership(agents.store.leases, agents.clock, f"other {n}") for n in range(number)]
    overtaken = Membership(OvertakenLeases(agents.store.leases, *others), agents.clock, "overtaken")

    overtaken.tick()

    assert [other.number for other in others] == list(range(1, number + 1))
    assert overtaken.number == number + 1
    assert [one.decides for one in (*others, overtaken)].count(True) == 1


def test_a_lost_member_is_noticed_even_if_its_number_is_taken_again(agents):
    leases = agents.store.leases
    decider, lost = (Membership(leases, agents.clock, name) for name in ("decider", "lost"))
    for member in (decider, lost, decider):
        member.tick()
    assert (lost.number, decider.is_changed) == (2, False)
    (seat,) = [lease for lease in leases.all(AGENTS) if lease.holder == "lost"]
    assert leases.take(seat, seat.name, "its successor")

    decider.tick()

    assert decider.is_changed
