"""A process that work forked, and that comes back from the work, is no second worker."""

from __future__ import annotations

import os

import pytest

from synergy.model.unit_of_work import UnitState
from tests.service.pools import Members, a_pooled_system, launched, pooled, states


@pytest.mark.parametrize("error", [None, ValueError, SystemExit, KeyboardInterrupt])
def test_a_process_that_work_forked_ends_when_it_comes_back(error):
    system, test = a_pooled_system(pooled("A")), os.getpid()
    forked = []

    def fork(_task):
        child = os.fork()
        if child == 0 and error is not None:
            raise error
        forked.append(child)

    (run,) = launched(system, "A")
    with Members(system, fork).member() as member:
        try:
            member.round()
        finally:
            if os.getpid() != test:
                os._exit(0)  # it came back
    assert os.waitstatus_to_exitcode(os.waitpid(forked[0], 0)[1]) == 70
    assert states(system, run) == [UnitState.PROCESSED]
