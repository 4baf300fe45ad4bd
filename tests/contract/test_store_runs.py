"""Runs of schedules are created once, found and pruned."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from synergy.errors import InvalidValue
from synergy.model.journal import JournalEntry
from synergy.model.run_detail import RunDetail
from synergy.model.schedule import Run, RunState
from synergy.storage.protocol import Store
from tests.contract.journal import events
from tests.contract.runs import NO_JSON, create
from tests.contract.scheduled import ODD, a_run, a_run_change, the_run
from tests.factories import LATER, NOW, TICK

FINISHED = [state for state in RunState if state.is_finished]


def keys(runs: list[Run]) -> list[str]:
    return [run.key for run in runs]


# Creating


def test_every_field_is_kept(store: Store) -> None:
    run = a_run(
        "events:7",
        "Zürich, 東京",
        due_at=NOW + TICK,
        version=3,
        state=RunState.LAUNCHED,
        program="https://example.com:443",
        created_at=NOW + 2 * TICK,
        group="grün",
        priority=-9,
        reason="wegen Ärger",
        attempt=4,
        owner="agent-1",
        not_before=NOW + 3 * TICK,
        launched_at=NOW + 4 * TICK,
        finished_at=NOW + 5 * TICK,
        request={"target": "https://example.com/é", "headers": {"X.Y": "$1"}, "body": "x" * 70_000},
        detail=RunDetail(
            cause={"events": ["e-1"], "n": 2.5, "none": None, "$": {"x.y": []}},
            waits=("é",),
            in_turn=True,
            answers=({"status": 500, "body": "$1"},),
            first_attempt=3,
            first_attempt_at=NOW + TICK,
            again="ü",
            retry_of="r",
        ),
    )
    assert create(store, run) == [replace(run, rev=1)]
    assert store.runs.get([run.id]) == [replace(run, rev=1)]


@pytest.mark.parametrize("state", RunState)
def test_a_run_may_begin_in_any_state(store: Store, state: RunState) -> None:
    create(store, a_run(state=state, reason="so it is"))
    assert the_run(store, a_run()).state is state
    assert len(store.runs.unfinished()) == (not state.is_finished)
    (entry,) = store.journal.since(0, 10)
    assert (entry.event, entry.after) == (f"run.{state.value}", state.value)


def test_creating_a_run_twice_returns_the_first(store: Store) -> None:
    (first,) = create(store, a_run())
    store.runs.change([a_run_change(first, state=RunState.LAUNCHED, launched_at=NOW)])
    again = a_run(state=RunState.SKIPPED, created_at=LATER)
    assert create(store, again) == [the_run(store, first)]
    assert the_run(store, first).state is RunState.LAUNCHED
    assert events(store) == ["run.pending_constraint", "run.launched"]


def test_a_run_that_comes_twice_in_one_call_is_created_once(store: Store) -> None:
    first, again = a_run(), a_run(reason="again")
    assert create(store, first, again) == [replace(first, rev=1)] * 2
    assert events(store) == ["run.pending_constraint"]


def test_a_key_has_one_run_whatever_its_id(store: Store) -> None:
    create(store, a_run())
    assert create(store, a_run(id="another")) == [replace(a_run(), rev=1)]
    assert store.runs.get(["another"]) == []
    assert events(store) == ["run.pending_constraint"]


def test_new_and_known_runs_come_back_in_the_order_given(store: Store) -> None:
    runs = [a_run(f"due:{n}") for n in range(6)]
    create(store, *runs[2:4])
    assert keys(create(store, *runs)) == keys(runs)
    assert len(events(store)) == 6
    assert create(store) == []


def test_schedules_have_keys_of_their_own(store: Store) -> None:
    create(store, a_run("due:1", "a"), a_run("due:1", "b"), a_run("due:1", ""))
    assert {run.schedule for run in store.runs.find()[0]} == {"a", "b", ""}


def test_the_journal_records_a_new_run_with_its_reason(store: Store) -> None:
    run = a_run(state=RunState.SKIPPED, reason="a holiday", created_at=NOW, finished_at=LATER)
    create(store, run)
    (entry,) = store.journal.since(0, 10)
    assert replace(entry, seq=0) == JournalEntry(
        LATER, "run.skipped", "nightly", "", "", "", "skipped", 0, "a holiday", "agent", run.id
    )


def test_a_run_without_a_schedule_is_journaled_under_its_program(store: Store) -> None:
    create(store, a_run(schedule="", program="Cleaner"))
    assert [entry.event for entry in store.journal.find("Cleaner")] == ["run.pending_constraint"]


@pytest.mark.parametrize("wrong", NO_JSON)
def test_values_that_are_not_json_are_refused_before_any_write(
    store: Store, wrong: dict[str, Any]
) -> None:
    bad = a_run("bad", **wrong)
    with pytest.raises(InvalidValue, match=bad.id):
        create(store, a_run("good"), bad)
    assert store.runs.find() == ([], None)
    assert events(store) == []


def test_special_characters_in_names_are_kept(store: Store) -> None:
    create(store, *(a_run(f"trigger:{name}", name) for name in ODD))
    for name in ODD:
        (found,), cursor = store.runs.find(name)
        assert (found.schedule, found.key, cursor) == (name, f"trigger:{name}", None)
        (entry,) = store.journal.find(name)
        assert entry.unit == found.id


# Finding


def test_unfinished_runs_come_oldest_first(store: Store) -> None:
    create(store, *(a_run(f"due:{n}", state=state) for n, state in enumerate(RunState)))
    assert [run.state for run in store.runs.unfinished()] == [
        RunState.PENDING_CONSTRAINT, RunState.PENDING_LAUNCH, RunState.LAUNCHED,
    ]  # fmt: skip
    create(store, a_run("older", created_at=NOW - timedelta(days=1)))
    assert keys(store.runs.unfinished())[-1] == "older"  # which was made last


def test_pages_start_with_the_newest_run_and_filter_by_schedule_and_state(store: Store) -> None:
    states = (RunState.FAILED, RunState.PROCESSED)
    create(
        store,
        *(a_run(f"{n}", "ab"[n % 2], state=states[n // 2 % 2]) for n in range(12)),
    )
    cases: list[tuple[dict[str, Any], list[int]]] = [
        ({}, [11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]),
        ({"schedule": "a"}, [10, 8, 6, 4, 2, 0]),
        ({"state": RunState.FAILED}, [9, 8, 5, 4, 1, 0]),
        ({"schedule": "b", "state": RunState.PROCESSED}, [11, 7, 3]),
        ({"schedule": "c"}, []),
        ({"state": RunState.LAUNCHED}, []),
    ]
    for wanted, expected in cases:
        found, cursor = store.runs.find(**wanted, limit=2)
        while cursor is not None:
            page, cursor = store.runs.find(**wanted, limit=2, cursor=cursor)
            assert page
            found += page
        assert [int(key) for key in keys(found)] == expected, wanted


def test_pages_repeat_nothing_while_others_write(store: Store) -> None:
    create(store, *(a_run(str(n)) for n in range(4)))
    page, cursor = store.runs.find("nightly", limit=2)
    assert keys(page) == ["3", "2"]
    create(store, a_run("new"))
    rest, cursor = store.runs.find("nightly", limit=2, cursor=cursor)
    assert (keys(rest), cursor) == (["1", "0"], None)


def test_an_invalid_cursor_is_refused(store: Store) -> None:
    for wrong in ("x", "-1", "", "1.5", "²"):
        with pytest.raises(InvalidValue, match="cursor"):
            store.runs.find(cursor=wrong)


def test_the_last_run_is_the_one_launched_last(store: Store) -> None:
    at = {"1": NOW + TICK, "2": LATER, "3": NOW, "4": LATER - TICK, "5": None}
    done, failed = RunState.PROCESSED, RunState.FAILED
    states = {"1": done, "2": failed, "3": done, "4": RunState.NOOP, "5": done}
    create(store, *(a_run(n, state=states[n], launched_at=at[n]) for n in at))
    create(store, a_run("6", "other", state=done, launched_at=LATER))

    def last(*wanted: RunState) -> str | None:
        found = store.runs.last("nightly", wanted)
        return None if found is None else found.key

    assert last(done) == "1"
    assert last(failed) == "2"
    assert last(done, RunState.NOOP) == "4"
    assert last(*RunState) == "2"
    assert last(RunState.ABORTED) is None
    assert last() is None
    assert store.runs.last("unknown", [done]) is None


# Pruning


def test_only_finished_runs_are_deleted_in_the_order_of_their_end(store: Store) -> None:
    ends = {"a": NOW, "b": NOW - 2 * TICK, "c": NOW - TICK, "d": LATER}
    create(store, *(a_run(n, state=RunState.PROCESSED, finished_at=at) for n, at in ends.items()))
    create(store, a_run("e", state=RunState.LAUNCHED, finished_at=NOW - TICK), a_run("f"))
    assert store.runs.prune(NOW - 2 * TICK, 10) == 0
    assert store.runs.prune(NOW, 1) == 1
    assert sorted(keys(store.runs.find()[0])) == ["a", "c", "d", "e", "f"]
    assert store.runs.prune(NOW, 10) == 1
    assert store.runs.prune(NOW + TICK, 10) == 1
    assert store.runs.prune(NOW + TICK, 10) == 0
    assert sorted(keys(store.runs.find()[0])) == ["d", "e", "f"]


@pytest.mark.parametrize("state", FINISHED)
def test_runs_of_every_finished_state_are_deleted(store: Store, state: RunState) -> None:
    create(store, a_run(state=state, finished_at=NOW))
    assert store.runs.prune(LATER, 10) == 1
    assert store.runs.find() == ([], None)
    assert store.runs.prune(LATER, 0) == 0


def test_a_pruned_run_can_be_created_and_journaled_again(store: Store) -> None:
    for _ in range(2):
        create(store, a_run(state=RunState.SKIPPED, finished_at=NOW))
        assert store.runs.prune(LATER, 10) == 1
    assert events(store) == ["run.skipped"] * 2
