"""Units that take too long fail, and are tried again."""

from __future__ import annotations

from datetime import timedelta

from synergy.model.unit_of_work import UnitState
from synergy.worker.outcome import Outcome
from synergy.worker.task import Task
from tests.service.scheduler_harness import copy_rows
from tests.service.slow_units import (
    FIRST,
    SECOND,
    THIRD,
    Hanging,
    a_system,
    the_unit,
    timed_out,
)


def test_a_unit_that_takes_too_long_has_failed():
    system = a_system()
    Hanging(system, FIRST, lambda: timed_out(system)).run()
    unit = the_unit(system, FIRST)
    assert (unit.state, unit.reason, unit.failures) == (
        UnitState.INVALID, "timed out after 20 s", 1,
    )  # fmt: skip
    assert unit.not_before == system.clock.now() + timedelta(seconds=60)


def test_a_late_success_changes_nothing_and_the_worker_continues():
    system = a_system()
    hanging = Hanging(system, FIRST, lambda: timed_out(system))
    hanging.run()
    assert the_unit(system, FIRST).state is UnitState.INVALID
    assert FIRST not in system.rows("hour")
    assert hanging.codes == []
    system.work("Hour")
    assert system.rows("hour") == {SECOND: 1, THIRD: 1}


def test_the_log_of_a_timed_out_unit_shows_the_stack_of_its_work():
    system = a_system()
    Hanging(system, FIRST, lambda: timed_out(system)).run()
    lines = system.store.logs.of_unit(the_unit(system, FIRST).id)
    assert any("in timed_out" in line.text and "soon(" in line.text for line in lines)


def test_timed_out_work_ends_at_its_checkpoint():
    system = a_system()
    reached: list[str] = []

    def work(task: Task) -> Outcome:
        if task.timeperiod == FIRST:
            timed_out(system)
            task.checkpoint()
            reached.append("what comes after the checkpoint")
        return copy_rows(task)

    system.round("Hour", work)
    assert reached == []
    assert system.ended == []
    assert the_unit(system, FIRST).reason == "timed out after 20 s"


def test_without_a_timeout_a_unit_may_take_long():
    system = a_system(timeout=None)
    Hanging(system, FIRST, lambda: system.clock.advance(86_400)).run()
    assert the_unit(system, FIRST).state is UnitState.PROCESSED


def test_a_timed_out_unit_is_tried_again_after_its_back_off():
    system = a_system()
    Hanging(system, FIRST, lambda: timed_out(system)).run()
    system.advance(59)
    assert the_unit(system, FIRST).state is UnitState.INVALID
    system.advance(120)
    assert (the_unit(system, FIRST).state, the_unit(system, FIRST).attempt) == (
        UnitState.REQUESTED,
        2,
    )
    system.work("Hour")
    assert system.rows("hour") == {FIRST: 1, SECOND: 1, THIRD: 1}
