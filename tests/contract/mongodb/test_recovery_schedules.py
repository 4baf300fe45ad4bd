"""Schedules, runs and operations reach the same end state whenever their writer dies."""

from __future__ import annotations

from dataclasses import replace

import pytest

from synergy.model.operation import OperationState
from synergy.model.schedule import RunState
from synergy.storage.mongodb import MongoStore, payloads
from tests.contract.mongodb.deaths import Place, counted
from tests.contract.operated import an_operation
from tests.contract.scheduled import (
    a_change,
    a_run,
    a_run_change,
    a_schedule,
    an_event,
    the_run,
    the_schedule,
)
from tests.factories import NOW

TWO_PARTS = bytes(1_500)
KEY = "due:2026-11-21T12:00:00Z"


def perform_decisions(store: MongoStore) -> None:
    """Does what an operator and an agent do to a schedule, from its creation to its removal.

    Skips each step that the journal, or a row, shows as done.
    """
    if not is_journaled(store, "schedule.created", 1):
        store.schedules.create([a_schedule(keys=("A|1",), wake_at=NOW)], "me")
    if not is_journaled(store, "schedule.changed", 1):
        edit(store, 2)
    decide(store)
    for state in (RunState.LAUNCHED, RunState.FAILED, RunState.LAUNCHED, RunState.PROCESSED):
        advance_run(store, state)
    store.events.append([an_event("e-1"), an_event("e-2"), an_event("e-1")])
    assert store.payloads.get(store.payloads.put(TWO_PARTS)) == TWO_PARTS
    if not is_journaled(store, "schedule.changed", 2):
        edit(store, 3)
    if not is_journaled(store, "schedule.removed", 1):
        assert store.schedules.remove(the_schedule(store), "obsolete", "me", NOW)
    if not is_journaled(store, "schedule.created", 2):
        store.schedules.create([a_schedule(definition={"n": "new"})], "me")
    if not is_journaled(store, "schedule.changed", 3):
        edit(store, 2)


def is_journaled(store: MongoStore, event: str, times: int) -> bool:
    """Whether the journal has the event that often; `recover` has journaled all changes."""
    return [entry.event for entry in store.journal.since(0, 1_000)].count(event) >= times


def edit(store: MongoStore, version: int) -> None:
    change = a_change(
        the_schedule(store), event="schedule.changed", version=version, definition={"n": version}
    )
    assert store.schedules.change([change]) == []


def decide(store: MongoStore) -> None:
    """Creates the run before it changes the schedule: a repeated decision creates no second run."""
    if is_journaled(store, "schedule.removed", 1) or the_schedule(store).progress:
        return
    seen = the_schedule(store)
    store.runs.create([a_run(KEY, state=RunState.PENDING_LAUNCH)], "agent")
    assert store.schedules.change([a_change(seen, progress={"last_due": KEY})]) == []


def advance_run(store: MongoStore, state: RunState) -> None:
    """Moves the run to its next state, unless it is there already."""
    run = the_run(store, a_run(KEY))
    path = {
        (RunState.PENDING_LAUNCH, 0): (RunState.LAUNCHED, 1),
        (RunState.LAUNCHED, 1): (RunState.FAILED, 1),
        (RunState.FAILED, 1): (RunState.LAUNCHED, 2),
        (RunState.LAUNCHED, 2): (RunState.PROCESSED, 2),
    }
    following = path.get((run.state, run.attempt))
    if following is not None and following[0] is state:
        change = a_run_change(run, state=state, attempt=following[1])
        assert store.runs.change([change]) == []


def check_decisions(store: MongoStore) -> None:
    """Checks the end state, which does not depend on when the writer died."""
    (schedule,), _ = store.schedules.find()
    assert (schedule.version, schedule.definition, schedule.rev) == (2, {"n": 2}, 2)
    versions = [(one.version, one.definition) for one in store.schedules.versions("nightly")]
    assert versions == [(2, {"n": 2}), (1, {"n": "new"})]
    (run,), _ = store.runs.find()
    assert (run.state, run.attempt) == (RunState.PROCESSED, 2)
    assert [(event.seq, event.id) for event in store.events.since(0, 10)] == [
        (1, "e-1"),
        (2, "e-2"),
    ]
    assert store.payloads.prune([]) == 1
    entries = store.journal.since(0, 1_000)
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    assert [entry.event for entry in entries if entry.unit is None] == [
        "schedule.created", "schedule.changed", "schedule.changed", "schedule.removed",
        "schedule.created", "schedule.changed",
    ]  # fmt: skip
    assert [entry.event for entry in entries if entry.unit == run.id] == [
        "run.pending_launch", "run.launched", "run.failed", "run.launched", "run.processed",
    ]  # fmt: skip


def test_decisions_interrupted_at_any_command_reach_the_same_end_state(
    mongodb_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(payloads, "PART", 1_000)
    for store in mongodb_place.deaths(
        perform_decisions, check_decisions, monkeypatch, more_than=20
    ):
        store.recover()
        perform_decisions(store)
        store.recover()
        check_decisions(store)
        store.recover()
        left = ("payload_parts", "schedule_versions")
        assert [counted(store, name) for name in left] == [0, 1]


def perform_operation(store: MongoStore) -> None:
    """Accepts an operation and carries it out, from wherever a dead writer stopped."""
    operation = store.operations.accept(an_operation())
    for done in range(operation.done, 3):
        step = replace(operation, state=OperationState.RUNNING, done=done + 1)
        operation = store.operations.change(step) or operation
        assert operation.done == done + 1
    if not operation.state.is_finished:
        ended = replace(operation, state=OperationState.DONE, finished_at=NOW)
        assert store.operations.change(ended) is not None


def check_operation(store: MongoStore) -> None:
    assert store.operations.find()[0][0].state is OperationState.DONE
    events = [entry.event for entry in store.journal.since(0, 10)]
    assert events == ["operation.accepted", "operation.done"]


def test_an_operation_interrupted_at_any_command_reaches_the_same_end_state(
    mongodb_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    for store in mongodb_place.deaths(perform_operation, check_operation, monkeypatch, more_than=6):
        perform_operation(store)
        store.recover()
        check_operation(store)
