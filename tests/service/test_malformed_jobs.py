"""A malformed row stops nothing else: the scheduler, the collector and queries go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from synergy.commands.row_check import check_rows
from synergy.errors import Malformed
from synergy.model.job import JobState
from synergy.queries.timetable.causes import Kind
from synergy.queries.timetable.follower import TimetableFollower
from tests.contract.scheduled import an_event
from tests.deployments import HOURLY, a_deployment, a_process
from tests.malformed_rows import loosened, spoil
from tests.mx.conftest import client_of
from tests.service.query_kit import reads_of
from tests.service.scheduler_harness import OPERATOR, SchedulerHarness, close_systems
from tests.service.verdict.kit import done, fails_at, settle

FIRST = "2015052000"


@pytest.fixture
def system() -> Iterator[SchedulerHarness]:
    """Two trees of hours, all done."""
    trees = {"a": [a_process("Broken", HOURLY)], "b": [a_process("Sound", HOURLY)]}
    made = SchedulerHarness(a_deployment(trees), start=FIRST)
    settle(made)
    yield made
    close_systems()


def states(system: SchedulerHarness, process: str) -> set[JobState]:
    level = system.timetable().place(process).level
    return {level.state(at) for at in range(level.start, level.end - 1)}


def break_states(system: SchedulerHarness) -> Callable[[], None]:
    """Makes the block of states of Broken malformed; returns what repairs it."""
    connection = loosened(system.store)
    query = "SELECT states FROM job_block WHERE process = 'Broken'"
    before = connection.execute(query).get
    change = "UPDATE job_block SET states = ? WHERE process = 'Broken'"
    connection.execute(change, (b"\0",))

    def repair() -> None:
        connection.execute(change, (before,))

    return repair


def test_a_malformed_block_is_undecided_and_other_processes_go_on(system) -> None:
    break_states(system)
    system.scheduler = system.a_scheduler("scheduler-2")
    system.advance(timedelta(hours=2).total_seconds())
    system.runner("Sound", done)
    units = len(system.units("Broken", FIRST))
    system.settle()
    assert states(system, "Sound") == {JobState.PROCESSED}
    assert len(system.units("Broken", FIRST)) == units, "nothing is requested again"
    assert states(system, "Broken") == {JobState.FAILED}


def test_a_repaired_block_is_decided_again_at_the_next_tick(system) -> None:
    repair = break_states(system)
    system.scheduler = system.a_scheduler("scheduler-2")
    system.advance(timedelta(hours=1).total_seconds())
    system.settle()
    assert states(system, "Broken") == {JobState.FAILED}
    repair()
    system.advance(600)
    system.runner("Broken", done)
    system.settle()
    assert states(system, "Broken") == {JobState.PROCESSED}


def test_a_failed_job_of_a_malformed_block_is_not_retried(caplog) -> None:
    trees = {"a": [a_process("Broken", HOURLY, max_attempts=1, retry_failed=600)]}
    system = SchedulerHarness(a_deployment(trees), start=FIRST)
    settle(system, fails_at(FIRST))
    break_states(system)
    system.scheduler = system.a_scheduler("scheduler-2")
    system.advance(1_200)
    system.settle()
    close_systems()
    assert "scheduler.trouble" not in [line.__dict__.get("event") for line in caplog.records]


def test_a_malformed_block_is_told_by_why_audit_and_verdict(system) -> None:
    break_states(system)
    reads = reads_of(system)
    assert reads.why("Broken", FIRST).kind is Kind.MALFORMED
    found = reads.audit()
    assert not found.is_clean
    assert found.accounted < found.expected
    assert {one.process for one in found.unexplained} == {"Broken"}
    verdict = reads.verdict()
    assert verdict.is_well is False
    kinds = {finding.kind.value for finding in verdict.findings}
    assert {"failed", "malformed"} <= kinds
    (failed,) = [one for one in verdict.findings if one.kind.value == "failed"]
    assert "cannot be read" in failed.text


def test_an_operator_is_told_that_a_job_cannot_be_moved(system) -> None:
    break_states(system)
    with pytest.raises(Malformed, match="Broken"):
        system.reprocess("Broken", (FIRST, "2015052001"), OPERATOR, system.clock.now())


def test_a_malformed_unit_is_told_when_it_is_asked_for(system) -> None:
    unit = system.store.units.find()[0][-1]
    spoil(system.store, "units", "attempt")
    reads = reads_of(system)
    with pytest.raises(Malformed, match=f"the row {unit.id} of units is malformed"):
        reads.unit(unit.id)
    answer = client_of(system).get(f"/api/v1/units/{unit.id}")
    assert (answer.status_code, "malformed" in answer.json()["detail"]) == (409, True)


def test_the_collector_judges_the_other_units(system) -> None:
    system.advance(3600)
    system.schedule()
    before = len(system.store.units.unfinished())
    connection = loosened(system.store)
    connection.execute("UPDATE unit SET heartbeat = x'00' WHERE state = 0 AND process = 'Broken'")
    left = system.store.units.unfinished()
    assert 0 < len(left) < before
    assert {unit.process for unit in left} == {"Sound"}
    system.advance(61)
    system.schedule()  # runs the collector
    system.runner("Sound", done)
    system.settle()
    assert states(system, "Sound") == {JobState.PROCESSED}


def test_the_collector_checks_rows_in_the_course_of_time(system) -> None:
    system.store.events.append([an_event()])
    spoil(system.store, "events", "body")  # which no query of the verdict reads
    for _ in range(3):
        system.advance(61)
        system.schedule()
    found = reads_of(system).verdict()
    (one,) = [finding for finding in found.findings if finding.kind.value == "malformed"]
    assert (one.count, "events" in one.text) == (1, True)
    assert [remedy.command for remedy in one.helps] == ["launch.py store check"]


def test_a_follower_goes_on_past_a_malformed_entry(system) -> None:
    follower = TimetableFollower(system.store, system.deployment, system.clock)
    follower.timetable()
    system.advance(3600)
    system.runner("Sound", done)
    system.settle()
    connection = loosened(system.store)
    connection.execute(
        "UPDATE journal SET after = 'nonsense' WHERE seq = (SELECT max(seq) FROM journal "
        "WHERE event LIKE 'job.%')"
    )
    expected = system.timetable().place("Sound").level.states
    assert follower.timetable().place("Sound").level.states == expected
    while not check_rows(system.store):
        pass
    kinds = {finding.kind.value for finding in reads_of(system).verdict().findings}
    assert "malformed" in kinds


def test_a_follower_sees_that_a_block_was_repaired(system) -> None:
    repair = break_states(system)
    follower = TimetableFollower(system.store, system.deployment, system.clock)
    assert any(follower.timetable().place("Broken").level.unreadable())
    repair()
    assert not any(follower.timetable().place("Broken").level.unreadable())
