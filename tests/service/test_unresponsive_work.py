"""Work that ignores its timeout or cancellation ends its process, and costs no other unit."""

from __future__ import annotations

import pytest

from synergy.errors import StorageUnavailable
from synergy.model.unit_of_work import Conclusion, UnitOfWork, UnitState
from synergy.runtime.abandoned_work import EXIT_CODE, GRACE_SECONDS
from tests.service.scheduler_harness import OPERATOR
from tests.service.slow_units import (
    FIRST,
    SECOND,
    THIRD,
    Hanging,
    a_system,
    claims_of_the_units,
    soon,
    the_unit,
    timed_out,
)


@pytest.mark.parametrize("how", ["timed out", "canceled"])
def test_abandoned_work_ends_its_process_and_costs_no_other_unit(how, caplog):
    system = a_system()

    def hang() -> None:
        if how == "timed out":
            timed_out(system, SECOND)
        else:
            system.clock.advance(1)
            unit = the_unit(system, SECOND)
            system.unit_commands.cancel(unit, OPERATOR, system.clock.now())
            soon(lambda: hanging.runner._claims._lost is not None)
        assert not hanging.ended.is_set()
        system.clock.advance(GRACE_SECONDS)
        hanging.until_ended()
        done = the_unit(system, FIRST), the_unit(system, THIRD)
        found.extend((unit.state, unit.failures) for unit in done)

    found: list[tuple[UnitState, int]] = []
    hanging = Hanging(system, SECOND, hang)
    hanging.run()
    assert set(hanging.codes) == {EXIT_CODE}
    assert found == [(UnitState.PROCESSED, 0), (UnitState.REQUESTED, 0)]
    assert the_unit(system, THIRD).first_claimed_at is None  # it never ran
    assert "does not return within 10 s" in caplog.text
    system.work("Hour")
    assert system.rows("hour") == {FIRST: 1, THIRD: 1}


def test_work_that_returns_within_the_grace_time_does_not_end_its_process():
    system = a_system()

    def return_late() -> None:
        timed_out(system)
        system.clock.advance(GRACE_SECONDS - 0.1)

    hanging = Hanging(system, FIRST, return_late)
    hanging.run()
    assert hanging.codes == []


def refuse(*_arguments: object) -> None:
    raise StorageUnavailable("the disk is away")


def test_finished_units_are_written_before_the_process_ends(monkeypatch):
    system = a_system()
    claimed, (first, second, _) = claims_of_the_units(system)
    done = Conclusion(first.id, 1, "worker", UnitState.PROCESSED)
    claimed.next()
    claimed.conclude(done, flush_after=60.0)
    claimed.next()
    ended: list[UnitOfWork] = []
    with monkeypatch.context() as away:
        away.setattr(system.store.units, "conclude", refuse)
        system.clock.advance(20)
        with pytest.raises(StorageUnavailable):
            claimed.time_out(20.0)
        system.clock.advance(3600)
        with pytest.raises(StorageUnavailable):
            claimed.exit_if_abandoned(GRACE_SECONDS, ended.append)
        assert ended == []
    claimed.exit_if_abandoned(GRACE_SECONDS, ended.append)
    assert ended == [second]
    assert the_unit(system, FIRST).state is UnitState.PROCESSED
    assert the_unit(system, THIRD).state is UnitState.REQUESTED


@pytest.fixture
def unwritten(monkeypatch):
    """The claims of a worker, and the unit whose timeout could not be stored."""
    system = a_system()
    claimed, (first, *_) = claims_of_the_units(system)
    claimed.next()
    with monkeypatch.context() as away:
        away.setattr(system.store.units, "conclude", refuse)
        system.clock.advance(20)
        with pytest.raises(StorageUnavailable):
            claimed.time_out(20.0)
    return system, claimed, first


def test_a_timeout_that_cannot_be_written_at_once_is_written_later(unwritten):
    system, claimed, first = unwritten
    claimed.conclude(Conclusion(first.id, 1, "worker", UnitState.PROCESSED), flush_after=0.0)
    unit = the_unit(system, FIRST)
    assert (unit.state, unit.reason) == (UnitState.INVALID, "timed out after 20 s")


def test_an_unwritten_timeout_is_kept_when_the_work_fails_without_the_store(unwritten):
    system, claimed, first = unwritten
    claimed.requeue(first)
    claimed.flush()
    assert the_unit(system, FIRST).reason == "timed out after 20 s"
    following = claimed.next()
    assert following is not None
    assert following.timeperiod == SECOND
