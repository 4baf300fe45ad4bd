"""Every attempt has a number. Only the result of the newest attempt is accepted."""

from __future__ import annotations

from datetime import timedelta

from synergy.model.unit_of_work import Conclusion, Hint, UnitState


def test_the_unit_is_handed_out_again_and_the_lost_workers_result_is_refused(system):
    system.write("visits", "2015051709", n=3)
    system.schedule()
    (unit,) = system.units("SiteHour", "2015051709")
    (lost,) = system.store.units.claim([Hint(unit.id, 1)], "a lost worker", system.clock.now())

    system.clock.advance(timedelta(minutes=10).total_seconds())  # without a heartbeat
    system.advance(60)
    (unit,) = system.units("SiteHour", "2015051709")
    assert (unit.state, unit.attempt) == (UnitState.REQUESTED, 2)

    late = Conclusion(lost.id, lost.attempt, "a lost worker", UnitState.PROCESSED)
    assert system.store.units.conclude([late], system.clock.now()) == [late]
    system.settle()
    assert system.rows("hours") == {"2015051709": 3}
