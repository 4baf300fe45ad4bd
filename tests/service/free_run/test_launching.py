"""Runs of schedules that workers carry out, from the launch to the end."""

from __future__ import annotations

from contextlib import closing, contextmanager
from datetime import timedelta

import pytest

from synergy.agent.context import AgentContext
from synergy.agent.delivering.unit_ends import UnitEnds
from synergy.commands.run_units import launch_worker, unit_of
from synergy.errors import (
    StorageUnavailable,
)
from synergy.lifecycle.legal_moves import RunMove
from synergy.lifecycle.state_changes import outcome_of
from synergy.model.schedule import RunState
from synergy.model.unit_of_work import UnitState
from synergy.runtime.agent_counters import Meter
from synergy.worker.outcome import Nothing, Processed
from tests.service.free_runs import (
    NOW,
    SECOND,
    a_free_process,
    a_run,
    a_system,
    another_runner,
    carry_out,
    events,
    fail,
    launch,
    no_work,
    unit,
)
from tests.service.scheduler_harness import OPERATOR


def test_the_unit_of_a_run_has_its_id_and_its_due_second():
    run = a_run(due_at=NOW.replace(microsecond=999_999))
    made = unit_of(run, NOW + timedelta(hours=1))
    number = int(run.id[:14], 16)
    assert (made.id, made.process, made.generation) == (run.id, "Report", 1)
    assert (made.timeperiod, made.start_timeperiod, made.end_timeperiod) == (SECOND,) * 3
    assert (made.start_id, made.end_id) == (number, number)
    assert 0 <= number < 1 << 63  # a signed integer of 64 bits
    assert made.created_at == NOW + timedelta(hours=1)


def test_a_worker_is_given_the_run_and_its_arguments(system):
    request = {"process": "Report", "arguments": {"days": 1, "more": [1, {"x": None}]}}
    run = a_run(request=request)
    seen = []

    def work(task):
        seen.append((task.run.id, task.timeperiod, dict(task.arguments)))
        for name in ("source", "sink"):
            with pytest.raises(ValueError, match=f"Report has no {name}"):
                getattr(task, name)
        return Processed({"rows": 3})

    launch(system, run)
    assert carry_out(system, work)
    assert seen == [(run.id, SECOND, {"site": "a", "days": 1, "more": [1, {"x": None}]})]
    done = unit(system, run)
    assert (done.state, done.counts) == (UnitState.PROCESSED, {"rows": 3})
    assert outcome_of(done) == (RunMove.PROCESS, "")
    assert events(system, [done]) == [
        "run.launched",
        "unit.requested",
        "unit.in_progress",
        "unit.processed",
    ]


def test_a_unit_without_a_run_has_the_declared_arguments(system):
    run = a_run()
    with system.store.batch() as batch:
        process = system.deployment.freerun()["Report"]
        launch_worker(system.store, system.bus, [run], process, NOW, "a test", batch)
    seen = []

    def work(task):
        seen.append((task.run, dict(task.arguments)))
        return Nothing()

    carry_out(system, work)
    assert seen == [(None, {"site": "a", "days": 7})]
    assert outcome_of(unit(system, run)) == (RunMove.PASS, "")


def test_a_group_of_units_reads_its_runs_at_once(system, monkeypatch):
    runs = [a_run(f"due:{n}", request={"arguments": {"n": n}}) for n in range(6)]
    launch(system, *runs)
    asked, seen = [], []
    monkeypatch.setattr(
        system.store.runs,
        "get",
        lambda ids, get=system.store.runs.get: asked.append(ids) or get(ids),
    )

    def work(task):
        seen.append(task.arguments["n"])
        return Processed()

    while system.round("Report", work):
        pass
    assert seen == [0, 1, 2, 3, 4, 5]
    assert sorted(id_ for ids in asked for id_ in ids) == sorted(run.id for run in runs)
    assert len(asked) == 3  # groups of 1, 2, 3


def test_a_store_that_fails_while_runs_are_read_loses_none(system, monkeypatch):
    run = a_run(request={"arguments": {"days": 2}})
    launch(system, run)

    def away(ids):
        raise StorageUnavailable("the store is away")

    seen = []

    def work(task):
        seen.append(task.arguments["days"])
        return Processed()

    with monkeypatch.context() as patch:
        patch.setattr(system.store.runs, "get", away)
        with pytest.raises(StorageUnavailable):
            carry_out(system, work)
    while carry_out(system, work):
        pass
    assert seen == [2]
    assert unit(system, run).state is UnitState.PROCESSED


def test_claims_whose_answer_was_lost_are_carried_out_with_their_runs(system, monkeypatch):
    run = a_run(request={"arguments": {"days": 2}})
    launch(system, run)
    batch = system.store.batch
    seen = []

    def work(task):
        seen.append(task.arguments["days"])
        return Processed()

    @contextmanager
    def lost():
        with batch() as one:
            yield one
        raise StorageUnavailable("the answer is lost")

    with monkeypatch.context() as patch:
        patch.setattr(system.store, "batch", lost)
        with pytest.raises(StorageUnavailable):
            system.round("Report", work)
    assert unit(system, run).state is UnitState.IN_PROGRESS
    assert system.round("Report", work)
    assert seen == [2]


def test_launching_twice_makes_one_unit_and_one_message(system):
    run = a_run()
    first = launch(system, run)
    assert launch(system, run) == [unit(system, run)]
    assert [one.id for one in first] == [run.id]
    assert system.bus.depths() == {"Report": 1}
    carry_out(system, no_work)
    [done] = launch(system, run)
    assert (done.state, system.bus.depths()) == (UnitState.PROCESSED, {})


def test_two_workers_carry_out_runs_of_the_same_second(system):
    runs = [a_run("due:1"), a_run("due:2")]
    launch(system, *runs)
    seen = []

    def inner(task):
        states = [unit(system, run).state for run in runs]
        seen.append((task.timeperiod, states))
        return Processed()

    with closing(another_runner(system, "Report", "second worker", inner)) as second:

        def outer(task):
            with closing(system.bus.consumer("Report")) as consumer:
                assert second.round(consumer)
            return Processed()

        assert carry_out(system, outer, owner="first worker")
    assert seen == [(SECOND, [UnitState.IN_PROGRESS, UnitState.IN_PROGRESS])]
    assert {unit(system, run).owner for run in runs} == {"first worker", "second worker"}
    assert [unit(system, run).state for run in runs] == [UnitState.PROCESSED] * 2


def ended(system, run):
    """The run after an agent has recorded the end of its unit."""
    agent = AgentContext(
        system.store, system.bus, system.clock, system.deployment, Meter(), "an agent"
    )
    assert UnitEnds(agent).of_units([run.id], system.clock.now()) == []
    return system.store.runs.get([run.id])[0]


@pytest.mark.parametrize("failures", [1, 2])
def test_the_attempt_of_a_failed_run_is_the_number_of_its_failures(failures):
    system = a_system(a_free_process(max_attempts=failures, retry_backoff=0.0))
    run = a_run()
    launch(system, run)
    for _ in range(failures):
        system.schedule()
        assert carry_out(system, fail)
    system.schedule()
    done = ended(system, run)
    assert (done.state, done.attempt) == (RunState.FAILED, failures)


def test_a_run_that_succeeds_after_a_failure_has_two_attempts():
    system = a_system(a_free_process(max_attempts=2, retry_backoff=0.0))
    run = a_run()
    launch(system, run)
    for work in (fail, no_work):
        system.schedule()
        assert carry_out(system, work)
    done = ended(system, run)
    assert (done.state, done.attempt) == (RunState.PROCESSED, 2)


def test_a_run_whose_unit_an_operator_canceled_has_one_attempt(system):
    run = a_run()
    (requested,) = launch(system, run)
    system.unit_commands.cancel(requested, OPERATOR, system.clock.now())
    done = ended(system, run)
    assert (done.state, done.attempt) == (RunState.CANCELED, 1)
