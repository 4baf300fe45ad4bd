"""`overlap`: what becomes of a run during another run of its schedule."""

from __future__ import annotations

import pytest

from synergy.model.run_detail import RunDetail
from synergy.schedule.constraint import ANOTHER_WAITS, AWAITED, CANCELS, UNDER_WAY, judge
from synergy.schedule.definition import Concurrency, Load, Overlap, SinceLastRun, WorkerProgram
from tests.unit.schedule.constraint_kit import ABORT, MET, NOON, WAIT, WEB, a_run, facts, of
from tests.unit.schedule.kit import HOUR

DURING = facts(active_of_schedule=1, active_of_program=1, active_of_group=1)
BEHIND = facts(active_of_schedule=1, is_behind_another=True)
OF_SCHEDULE = frozenset({"schedule:s"})


@pytest.mark.parametrize("program", [WEB, WorkerProgram("W")])
@pytest.mark.parametrize("key", ["due:2026-03-10T12:00:00Z", "events:e5"])
@pytest.mark.parametrize(
    ("overlap", "given", "verdict", "reasons", "awaits"),
    [
        (Overlap.SKIP, DURING, ABORT, (UNDER_WAY,), frozenset()),
        (Overlap.BUFFER_ONE, DURING, WAIT, (AWAITED,), OF_SCHEDULE),
        (Overlap.BUFFER_ONE, BEHIND, ABORT, (ANOTHER_WAITS,), frozenset()),
        (Overlap.BUFFER_ALL, BEHIND, WAIT, (AWAITED,), OF_SCHEDULE),
        (Overlap.CANCEL_OTHER, DURING, WAIT, (CANCELS,), OF_SCHEDULE),
        (Overlap.ALLOW, DURING, MET, (), frozenset()),
    ],
)
def test_a_run_during_another_one(program, key, overlap, given, verdict, reasons, awaits):
    definition = of(program=program, overlap=overlap)
    found = judge(definition, a_run(key), given, NOON)
    assert (found.verdict, found.reasons, found.awaits) == (verdict, reasons, awaits)
    assert found.cancels is (overlap is Overlap.CANCEL_OTHER)


@pytest.mark.parametrize("overlap", [None, *Overlap])
def test_without_another_run_it_is_launched(overlap):
    found = judge(of(program=WorkerProgram("W"), overlap=overlap), a_run(), facts(), NOON)
    assert found.verdict is MET
    assert not found.cancels


@pytest.mark.parametrize("overlap", Overlap)
def test_a_run_by_hand_and_a_run_of_a_catch_up_are_not_concerned(overlap):
    assert judge(of(overlap=overlap), a_run("trigger:x"), DURING, NOON).verdict is MET
    in_turn = a_run(detail=RunDetail(in_turn=True))
    found = judge(of(overlap=overlap), in_turn, DURING, NOON)
    assert (found.verdict, found.cancels) == (WAIT, False)


def test_an_overlap_holds_beside_a_concurrency():
    definition = of(Concurrency(5), overlap=Overlap.SKIP)
    assert judge(definition, a_run(), DURING, NOON).reasons == (UNDER_WAY,)


def test_a_run_that_cancels_another_is_judged_as_if_that_had_ended():
    def found(*constraints, **more):
        definition = of(*constraints, overlap=Overlap.CANCEL_OTHER)
        return judge(
            definition, a_run(), facts(active_of_schedule=1, active_of_program=1, **more), NOON
        )

    assert found(Concurrency(1)).cancels
    assert found(SinceLastRun(HOUR)).cancels
    assert found(SinceLastRun(HOUR), last_success_at=NOON).verdict is ABORT
    waiting = found(Load(1.0), load=2.0)
    assert (waiting.verdict, waiting.cancels) == (WAIT, False)  # nothing is canceled in vain
