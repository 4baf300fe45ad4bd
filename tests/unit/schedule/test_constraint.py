"""Run constraints: each one, several together, and their reasons."""

from __future__ import annotations

from datetime import time, timedelta

import pytest

from synergy.schedule.constraint import judge
from synergy.schedule.definition import (
    AtMost,
    Concurrency,
    Delay,
    Load,
    LoadOf,
    Scope,
    SinceLastRun,
    TimeWindow,
    WhenUnmet,
)
from tests.factories import TICK
from tests.unit.schedule.constraint_kit import ABORT, MET, NOON, TOMORROW, WAIT, a_run, facts, of
from tests.unit.schedule.kit import HOUR, MINUTE, at


def test_a_run_without_constraints_is_launched():
    found = judge(of(), a_run(), facts(), NOON)
    assert (found.verdict, found.reasons, found.again_at, found.awaits) == (
        MET, (), None, frozenset(),
    )  # fmt: skip


# One by one: (constraint, facts, now, verdict, again_at unless it is the timeout, awaits)


AGO = {"last_success_at": at("11:00")}
LAUNCHES = {"launches": (at("11:50"), at("11:40"), at("11:00"))}


@pytest.mark.parametrize(
    ("constraint", "known", "now", "verdict", "again_at", "awaits"),
    [
        # concurrency: active runs >= n
        (Concurrency(2), {"active_of_program": 1}, NOON, MET, None, ()),
        (Concurrency(2), {"active_of_program": 2}, NOON, ABORT, None, ()),
        (Concurrency(2), {"active_of_program": 3}, NOON, ABORT, None, ()),
        (
            Concurrency(1, when_unmet=WhenUnmet.WAIT), {"active_of_program": 1}, NOON, WAIT,
            TOMORROW, ("program:W",),
        ),
        (Concurrency(1, Scope.GROUP), {"active_of_program": 1}, NOON, MET, None, ()),
        (
            Concurrency(1, Scope.GROUP, WhenUnmet.WAIT), {"active_of_group": 1}, NOON, WAIT,
            TOMORROW, ("group:g",),
        ),
        # delay: from the creation of the job
        (Delay(MINUTE), {}, NOON, WAIT, at("12:01"), ()),
        (Delay(MINUTE), {}, at("12:01") - TICK, WAIT, at("12:01"), ()),
        (Delay(MINUTE), {}, at("12:01"), MET, None, ()),
        # since the last run: active, or succeeded within the duration
        (SinceLastRun(HOUR), AGO, at("12:00") - TICK, ABORT, None, ()),
        (SinceLastRun(HOUR), AGO, at("12:00"), MET, None, ()),
        (SinceLastRun(HOUR), {}, NOON, MET, None, ()),  # failures are no success
        (SinceLastRun(HOUR), {"active_of_schedule": 1}, NOON, ABORT, None, ()),
        (
            SinceLastRun(2 * HOUR, WhenUnmet.WAIT), AGO, NOON, WAIT, at("13:00"), (),
        ),
        (
            SinceLastRun(HOUR, WhenUnmet.WAIT), {**AGO, "active_of_schedule": 1}, NOON, WAIT,
            TOMORROW, ("schedule:s",),
        ),
        # at most n within a sliding window
        (AtMost(3, HOUR), LAUNCHES, at("12:00") - TICK, WAIT, at("12:00"), ()),
        (AtMost(3, HOUR), LAUNCHES, at("12:00"), MET, None, ()),
        (AtMost(2, HOUR), LAUNCHES, NOON, WAIT, at("12:40"), ()),
        (AtMost(1, HOUR), LAUNCHES, NOON, WAIT, at("12:50"), ()),
        (AtMost(1, HOUR), {}, NOON, MET, None, ()),
        (AtMost(1, HOUR, WhenUnmet.ABORT), LAUNCHES, NOON, ABORT, None, ()),
        # load: above, not equal
        (Load(0.5), {"load": 0.5}, NOON, MET, None, ()),
        (Load(0.5), {"load": 0.51, "depth": 0}, NOON, WAIT, TOMORROW, ("load",)),
        (Load(7, LoadOf.QUEUE), {"load": 99.0, "depth": 7}, NOON, MET, None, ()),
        (Load(7, LoadOf.QUEUE), {"depth": 8}, NOON, WAIT, TOMORROW, ("load",)),
        (Load(7, LoadOf.QUEUE, WhenUnmet.ABORT), {"depth": 8}, NOON, ABORT, None, ()),
        # windows: the start is in it, the end is not
        (TimeWindow(time(9), time(12)), {}, NOON, WAIT, at("09:00") + timedelta(days=1), ()),
        (TimeWindow(time(9), time(12)), {}, NOON - TICK, MET, None, ()),
        (TimeWindow(time(12), time(13)), {}, NOON, MET, None, ()),
        (TimeWindow(time(12), time(13)), {}, NOON - TICK, WAIT, NOON, ()),
        (TimeWindow(time(13), time(14), when_unmet=WhenUnmet.ABORT), {}, NOON, ABORT, None, ()),
        (TimeWindow(time(22), time(6)), {}, NOON, WAIT, at("22:00"), ()),
        (TimeWindow(time(22), time(6)), {}, at("22:00"), MET, None, ()),
        (TimeWindow(time(22), time(6)), {}, at("05:59:59") + timedelta(days=1), MET, None, ()),
        (TimeWindow(time(13), time(12)), {}, NOON, WAIT, at("13:00"), ()),
        # 12:00Z is 08:00 in New York in March, after the clock change of the 8th
        (TimeWindow(time(8), time(9), "America/New_York"), {}, NOON, MET, None, ()),
        (TimeWindow(time(9), time(10), "America/New_York"), {}, NOON, WAIT, at("13:00"), ()),
    ],
)  # fmt: skip
def test_a_constraint_yields_its_verdict_and_time_of_reevaluation(
    constraint, known, now, verdict, again_at, awaits
):
    found = judge(of(constraint), a_run(), facts(**known), now)
    assert (found.verdict, found.again_at, found.awaits) == (verdict, again_at, frozenset(awaits))
    assert len(found.reasons) == (0 if verdict is MET else 1)


def test_one_aborting_constraint_aborts_the_run_and_all_reasons_are_reported():
    definition = of(Delay(HOUR), Load(1.0), Concurrency(1))
    waits = judge(definition, a_run(), facts(load=2.0), NOON)
    assert (waits.verdict, waits.again_at, waits.awaits) == (WAIT, at("13:00"), {"load"})
    assert waits.reasons == (
        "delayed until 2026-03-10T13:00:00Z",
        "2.00 is the load of the box, above 1",
    )
    aborts = judge(definition, a_run(), facts(load=2.0, active_of_program=1), NOON)
    assert aborts.verdict is ABORT
    assert aborts.reasons == (*waits.reasons, "1 of at most 1 runs of program W are active")


def test_each_unmet_constraint_has_a_readable_reason():
    definition = of(
        TimeWindow(time(22), time(6), "Europe/Berlin"),
        SinceLastRun(2 * HOUR),
        AtMost(2, HOUR),
        Concurrency(3, Scope.GROUP),
        Load(10, LoadOf.QUEUE),
    )
    known = facts(
        last_success_at=at("11:00"), launches=(at("11:50"), at("11:40")), active_of_group=3,
        depth=12,
    )  # fmt: skip
    assert judge(definition, a_run(), known, NOON).reasons == (
        "outside of 22:00-06:00 Europe/Berlin",
        "the last run succeeded at 2026-03-10T11:00:00Z: not before 2026-03-10T13:00:00Z",
        "2 runs were launched within 1h: not before 2026-03-10T12:40:00Z",
        "3 of at most 3 runs of group g are active",
        "12 messages wait in the queue, above 10",
    )


def test_numbers_and_instants_in_reasons_are_rounded():
    later = timedelta(microseconds=3299)
    run = a_run(created_at=NOON + later)
    definition = of(
        Delay(HOUR), SinceLastRun(1.5 * HOUR), AtMost(1, timedelta(seconds=90)), Load(1.25),
        Load(0, LoadOf.QUEUE),
    )  # fmt: skip
    known = facts(
        last_success_at=at("11:00") + later, launches=(NOON + later,), load=2.26196, depth=1
    )
    assert judge(definition, run, known, NOON + later).reasons == (
        "delayed until 2026-03-10T13:00:01Z",
        "the last run succeeded at 2026-03-10T11:00:00Z: not before 2026-03-10T12:30:01Z",
        "1 run was launched within 1m30s: not before 2026-03-10T12:01:31Z",
        "2.26 is the load of the box, above 1.25",
        "1 message waits in the queue, above 0",
    )
    crowded = judge(of(Load(1_500_000, LoadOf.QUEUE)), a_run(), facts(depth=2_000_000), NOON)
    assert crowded.reasons == ("2,000,000 messages wait in the queue, above 1,500,000",)


def test_a_waiting_run_is_reevaluated_when_a_window_closes():
    definition = of(Delay(4 * HOUR), TimeWindow(time(9), time(14), when_unmet=WhenUnmet.ABORT))
    found = judge(definition, a_run(), facts(), NOON)
    assert (found.verdict, found.again_at) == (WAIT, at("14:00"))
    assert judge(definition, a_run(), facts(), at("14:00")).verdict is ABORT
