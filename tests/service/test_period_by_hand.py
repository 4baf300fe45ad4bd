"""A period whose work a person has done, over each engine."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from synergy.commands.period_by_hand import DoneByHand, PeriodByHand
from synergy.errors import InvalidValue
from synergy.lifecycle.legal_moves import UnitMove
from synergy.model.job import JobState
from synergy.model.process import StateMachine
from synergy.model.unit_of_work import Document, SinkWrite, UnitState
from synergy.storage.sqlite import SqliteStore
from tests.contract.mongomock_engine import mongomock_store
from tests.service.hour_and_day import hour_and_day
from tests.service.scheduler_harness import OPERATOR, SchedulerHarness

HOUR, DAY = "2015051701", "2015051700"
STORES = {"sqlite": lambda: SqliteStore.open(":memory:"), "mongomock": mongomock_store}


@pytest.fixture(params=[(store, machine) for store in STORES for machine in StateMachine])
def system(request):
    """A finished hour, and the day that was made from it."""
    store, machine = request.param
    system = SchedulerHarness(
        hour_and_day(machine), now=datetime(2015, 5, 18, 1, tzinfo=UTC), store=STORES[store]()
    )
    system.write("raw", HOUR, 1)
    system.settle()
    assert system.rows("day") == {DAY: 1}
    return system


def a_period(system):
    return PeriodByHand(system.store, system.bus, system.deployment, "Hour", HOUR)


def rows_of(n, timeperiod=HOUR):
    document = Document("d", timeperiod, {"domain": "d", "n": n, "timeperiod": timeperiod})
    write = SinkWrite("hour", HOUR, "2015051702", (document,))
    return DoneByHand(UnitMove.PROCESS, {"rows": 1}, (write,), ())


def conclude(system, done):
    now, period = system.clock.now(), a_period(system)
    return period.conclude(period.unit(now), done, "me", OPERATOR, now)


def test_its_rows_reach_everything_that_is_made_from_them(system):
    touched = conclude(system, rows_of(5))
    assert {(job.process, job.timeperiod) for job in touched} == {("Hour", HOUR), ("Day", DAY)}
    assert system.rows("hour") == {HOUR: 5}
    system.settle()
    assert system.state("Hour", HOUR) is JobState.PROCESSED
    assert system.unit_states("Hour", HOUR) == [UnitState.PROCESSED, UnitState.PROCESSED]
    assert system.rows("day") == {DAY: 5}
    assert system.audit().is_clean


def test_without_rows_there_are_none_left(system):
    done = DoneByHand(UnitMove.PASS, {}, (SinkWrite("hour", HOUR, "2015051702", ()),), ())
    conclude(system, done)
    system.settle()
    assert system.state("Hour", HOUR) is JobState.NOOP
    assert system.rows("hour") == {}


def test_rows_that_the_store_does_not_take_change_nothing(system):
    seq = system.store.journal.last_seq()
    with pytest.raises(InvalidValue, match="lies outside"):
        conclude(system, rows_of(5, "2015051702"))
    assert system.store.journal.last_seq() == seq


def test_what_came_while_the_work_ran_is_late_data(system):
    now, period = system.clock.now(), a_period(system)
    unit = period.unit(now)
    system.write("raw", HOUR, 7, key="another")
    period.conclude(unit, rows_of(5), "me", OPERATOR, now)
    system.settle()
    system.advance(15)
    system.settle()
    assert system.rows("hour") == {HOUR: 8}
    assert system.rows("day") == {DAY: 8}
