"""Clocks that are wrong or set back, and an outage of the store."""

from __future__ import annotations

from datetime import timedelta

from synergy.errors import StorageUnavailable
from synergy.model.unit_of_work import UnitState
from tests.service.hour_and_day import fail, hour_and_day
from tests.service.scheduler_harness import SchedulerHarness


def test_periods_closed_by_a_wrong_clock_get_their_data_after_it_is_corrected():
    system = SchedulerHarness(hour_and_day())
    system.settle()
    right = system.clock.now()
    system.clock.set_wall(right + timedelta(days=1))
    system.schedule()
    system.clock.set_wall(right)
    system.schedule()
    system.scheduler._forget()  # a restart, with the right time
    system.schedule()
    system.write("raw", "2015052014", 7)
    system.advance(4 * 3600)
    for _ in range(3):
        system.settle()
        system.advance(60)
    assert system.rows("hour") == {"2015052014": 7}
    assert not system.audit().unexplained


def test_a_back_off_does_not_grow_when_the_clock_is_set_back():
    system, hour = SchedulerHarness(hour_and_day()), "2015051704"
    system.write("raw", hour, 1)
    system.schedule()
    system.work("Hour", work=fail)
    system.clock.set_wall(system.clock.now() - timedelta(days=1))
    system.advance(120)
    assert system.unit_states("Hour", hour) == [UnitState.REQUESTED]


def test_an_outage_of_the_store_does_not_end_the_scheduler(monkeypatch):
    system = SchedulerHarness(hour_and_day())
    waits: list[float] = []

    def wait(seconds: float) -> bool:
        waits.append(seconds)
        if len(waits) == 2000:
            system.stop.set()
        return system.stop.is_set

    def unavailable() -> float:
        raise StorageUnavailable("it is away")

    monkeypatch.setattr(system.stop, "wait", wait)
    monkeypatch.setattr(system.scheduler, "run_once", unavailable)
    system.scheduler.start()
    assert max(waits) == waits[-1] == 2.0
