"""A run is changed only by a writer that read its newest revision."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from synergy.errors import InvalidValue
from synergy.model.journal import JournalEntry
from synergy.model.run_detail import RunDetail
from synergy.model.schedule import Run, RunState
from synergy.storage.protocol import Store
from tests.contract.concurrency import in_processes, in_threads
from tests.contract.journal import events
from tests.contract.runs import NO_JSON, create
from tests.contract.scheduled import a_run, a_run_change, the_run
from tests.factories import LATER, NOW, TICK


def test_a_change_keeps_schedule_key_due_time_and_creation_of_a_run(store: Store) -> None:
    create(store, a_run())
    wanted = Run(
        id=a_run().id,
        schedule="nightly",
        key="due:1",
        due_at=NOW,
        version=2,
        state=RunState.LAUNCHED,
        program="Sweeper",
        created_at=NOW,
        group="g",
        priority=5,
        reason="why not",
        attempt=1,
        owner="agent-2",
        not_before=LATER,
        launched_at=LATER + TICK,
        finished_at=LATER + 2 * TICK,
        request={"process": "Sweeper"},
        detail=RunDetail(waits=("a", "b")),
        rev=1,
    )
    other = replace(wanted, schedule="x", key="y", due_at=LATER, created_at=LATER)
    assert store.runs.change([a_run_change(other)]) == []
    assert the_run(store, wanted) == replace(wanted, rev=2)


def test_a_change_of_an_outdated_run_is_refused(store: Store) -> None:
    (seen,) = create(store, a_run())
    assert store.runs.change([a_run_change(seen, state=RunState.PENDING_LAUNCH)]) == []
    late = a_run_change(seen, state=RunState.ABORTED, finished_at=NOW)
    assert store.runs.change([late]) == [late]
    assert the_run(store, seen) == replace(seen, state=RunState.PENDING_LAUNCH, rev=2)
    assert events(store) == ["run.pending_constraint", "run.pending_launch"]


def test_a_refused_change_does_not_affect_the_others(store: Store) -> None:
    a, b, c = create(store, *(a_run(f"due:{n}") for n in range(3)))
    changes = [
        a_run_change(a, reason="1"),
        a_run_change(replace(b, rev=0), reason="1"),
        a_run_change(a_run("unknown", rev=1), reason="1"),
        a_run_change(c, reason="1"),
        a_run_change(c, reason="2"),
    ]
    assert store.runs.change(changes) == [changes[1], changes[2], changes[4]]
    assert [(the_run(store, run).reason, the_run(store, run).rev) for run in (a, b, c)] == [
        ("1", 2), ("", 1), ("1", 2),
    ]  # fmt: skip


def test_only_changes_of_state_are_journaled(store: Store) -> None:
    (run,) = create(store, a_run())
    store.runs.change([a_run_change(run, detail=RunDetail(waits=("load",)))])
    run = the_run(store, run)
    launched = a_run_change(run, state=RunState.LAUNCHED, attempt=1, launched_at=LATER)
    store.runs.change([launched])
    store.runs.change([a_run_change(the_run(store, run), owner="agent-1", attempt=2)])
    (entry,) = store.journal.since(1, 10)
    assert replace(entry, seq=0) == JournalEntry(
        LATER, "run.launched", "nightly", "", "", "pending_constraint", "launched", 0, "so it is",
        "an agent", run.id, 1,
    )  # fmt: skip


def test_a_failed_run_may_be_launched_again(store: Store) -> None:
    (run,) = create(store, a_run(state=RunState.FAILED, launched_at=NOW, finished_at=NOW))
    change = a_run_change(run, state=RunState.LAUNCHED, launched_at=LATER, finished_at=None)
    assert store.runs.change([change]) == []
    assert [found.id for found in store.runs.unfinished()] == [run.id]
    assert events(store) == ["run.failed", "run.launched"]


@pytest.mark.parametrize("wrong", NO_JSON)
def test_a_value_that_is_not_json_refuses_all_changes_of_the_call(
    store: Store, wrong: dict[str, Any]
) -> None:
    good, bad = create(store, a_run("good"), a_run("bad"))
    changes = [a_run_change(good, reason="1"), a_run_change(bad, **wrong)]
    with pytest.raises(InvalidValue, match=bad.id):
        store.runs.change(changes)
    assert the_run(store, good) == good


def test_one_of_several_threads_takes_a_run(store: Store) -> None:
    runs = create(store, *(a_run(f"due:{n}") for n in range(20)))

    def take(number: int) -> set[str]:
        changes = [a_run_change(run, owner=f"agent-{number}", attempt=1) for run in runs]
        refused = {change.run.id for change in store.runs.change(changes)}
        return {run.id for run in runs} - refused

    taken = in_threads(5, take)
    assert sum(map(len, taken)) == 20
    assert set().union(*taken) == {run.id for run in runs}
    owners = {run.id: run.owner for run in store.runs.find()[0]}
    assert all(
        owners[id_] == f"agent-{number}" for number, some in enumerate(taken) for id_ in some
    )


def _make(store: Store, who: str) -> list[tuple[str, int]]:
    made = store.runs.create([a_run(f"due:{n}", reason=who) for n in range(30)], who)
    return [(run.reason, run.rev) for run in made]


def test_processes_that_create_the_same_runs_get_the_same_rows(shared: Store, address: str) -> None:
    first, second, third = in_processes(address, _make, [("a",), ("b",), ("c",)])
    assert first == second == third
    assert len(shared.runs.find(limit=100)[0]) == 30
    assert events(shared) == ["run.pending_constraint"] * 30
