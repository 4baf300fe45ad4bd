"""Malformed rows are set aside: every list goes on without them, and `rows` finds them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest

from synergy.commands.row_check import check_rows
from synergy.errors import Malformed
from synergy.model.box import ObservedProcess
from synergy.model.job import UNREADABLE
from synergy.names import PAUSED_SCHEDULES
from synergy.queries.malformed_rows import malformed_rows
from synergy.runtime.paused_schedules import paused_schedules
from synergy.storage.protocol import LogLine, Store
from synergy.storage.row_checks import check_all
from synergy.supervisor.reload_requests import Requests, ask
from tests.contract.documents import put
from tests.contract.operated import an_operation
from tests.contract.scheduled import a_run, a_schedule, an_event
from tests.factories import NOW, a_move, an_entry, some_units
from tests.malformed_rows import spoil, spoiled
from tests.seeds import seeds


def filled(store: Store) -> Store:
    """A store with two rows of most kinds."""
    store.units.create(some_units(2), "scheduler")
    store.jobs.move([a_move()], NOW)
    store.schedules.create([a_schedule("a"), a_schedule("b")], "ada")
    store.runs.create([a_run("due:1"), a_run("due:2")], "agent")
    store.events.append([an_event("e-1"), an_event("e-2")])
    for id_ in ("o-1", "o-2"):
        store.operations.accept(an_operation(id_))
    for process in ("P", "Q"):
        store.controls.set_on(process, False, "ada", "", NOW)
    store.boxes.assign("box", ["P", "Q"])
    store.boxes.report("box", [ObservedProcess("box", "P", 1, "running")], NOW)
    lines = [LogLine(NOW + timedelta(seconds=at), 1, "INFO", str(at)) for at in range(2)]
    store.logs.append("u-1", lines)
    for body in (b"1", b"2"):
        store.messages.bury("q", body, "no JSON", NOW)
    store.journal.append([an_entry()])
    put(store, ("2015051700", "k"), n=1)
    return store


LISTS: Sequence[tuple[str, str, Callable[[Store], Sequence[object]], int]] = (
    ("units", "attempt", lambda store: store.units.find()[0], 1),
    ("units", "counts", lambda store: store.units.unfinished(), 1),
    ("schedules", "progress", lambda store: store.schedules.find()[0], 1),
    ("schedules", "keys", lambda store: store.schedules.get(["a", "b"]), 1),
    ("runs", "request", lambda store: store.runs.find()[0], 1),
    ("runs", "due_at", lambda store: store.runs.unfinished(), 1),
    ("events", "body", lambda store: store.events.find()[0], 1),
    ("events", "type", lambda store: store.events.since(0, 9), 1),
    ("operations", "request", lambda store: store.operations.find()[0], 1),
    ("boxes", "seen_at", lambda store: store.boxes.all(), 0),
    ("unit_logs", "level", lambda store: store.logs.of_unit("u-1"), 1),
    ("dead_messages", "queue", lambda store: store.messages.buried(), 1),
)


@pytest.mark.parametrize(
    ("kind", "field", "listed", "left"), LISTS, ids=[f"{k}-{f}" for k, f, *_ in LISTS]
)
def test_a_list_goes_on_without_a_malformed_row(
    store: Store, kind: str, field: str, listed: Callable[[Store], Sequence[object]], left: int
) -> None:
    filled(store)
    spoil(store, kind, field)
    assert len(listed(store)) == left
    assert [row.kind for row in store.rows.met()] == [kind]
    _, found = check_all(store.rows, lambda _: None)
    assert [row.kind for row in found] == [kind]
    assert field in found[0].problem


def test_a_page_after_a_malformed_row_is_found(store: Store) -> None:
    filled(store)
    spoil(store, "units", "attempt")
    names: list[str] = []
    cursor: str | None = None
    for _ in range(2):
        page, cursor = store.units.find(limit=1, cursor=cursor)
        names += [unit.id for unit in page]
    assert len(names) == 1
    assert cursor is None


def test_the_journal_goes_on_without_a_malformed_entry(store: Store) -> None:
    filled(store)
    whole = store.journal.since(0, 100)
    spoil(store, "journal", "who")
    assert store.journal.since(0, 100) == whole[1:]


def test_a_malformed_block_of_jobs_is_unreadable_and_not_moved(store: Store) -> None:
    move = a_move()
    store.jobs.move([move], NOW)
    spoil(store, "job_blocks", "states")
    (span,) = store.jobs.load()
    assert (span.process, set(span.states)) == (move.process, {UNREADABLE})
    assert span.first <= move.first < span.first + len(span.states)
    assert list(store.jobs.load([move.process])) == [span]
    with pytest.raises(Malformed):
        store.jobs.move([a_move()], NOW)


def test_a_malformed_fact_that_only_informs_counts_as_missing(store: Store) -> None:
    store.facts.set(PAUSED_SCHEDULES, '["a"]')
    spoil(store, "facts", "value")
    assert paused_schedules(store) == []


def test_a_malformed_request_of_a_reload_stops_no_supervisor(store: Store) -> None:
    ask(store.facts, "box", dry_run=True)
    spoil(store, "facts", "value")
    requests = Requests(store.facts, "box")
    assert (requests.skip(), requests.next()) == (None, None)
    request = ask(store.facts, "box", dry_run=True)
    assert requests.next() == request


def test_sound_rows_are_no_finding(store: Store) -> None:
    filled(store)
    count, found = check_all(store.rows, lambda _: None)
    assert found == []
    assert count > 20
    assert store.rows.met() == []


def test_a_check_in_portions_reaches_every_row(store: Store) -> None:
    filled(store)
    spoil(store, "dead_messages", "reason")
    turns = 0
    while not check_rows(store, limit=3):
        turns += 1
    assert turns > 5
    assert [row.kind for row in malformed_rows(store)] == ["dead_messages"]


def test_a_malformed_row_is_logged_by_the_first_check_only(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    filled(store)
    spoil(store, "dead_messages", "reason")
    for _ in range(3):
        while not check_rows(store, limit=5):
            pass
    logged = [one for one in caplog.records if one.__dict__.get("event") == "store.malformed"]
    assert len(logged) == 1


def test_a_check_goes_on_after_an_id_that_looks_like_one_of_the_driver(store: Store) -> None:
    """Such are the ids of units that were imported from an older version."""
    ids = [f"{number:024x}" for number in range(5)]
    units = some_units(5)
    store.units.create([replace(u, id=id_) for u, id_ in zip(units, ids, strict=True)], "scheduler")
    part = store.rows.check("units", None, 2)
    count = part.count
    while part.last is not None:
        part = store.rows.check("units", part.last, 2)
        count += part.count
    assert count == len(ids)


@pytest.mark.parametrize("seed", seeds(10))
def test_a_repaired_row_is_malformed_no_longer(store: Store, seed: int) -> None:
    filled(store)
    with spoiled(store, Random(seed)) as done:
        while not check_rows(store):
            pass
        assert len(malformed_rows(store)) >= 1, done
    assert malformed_rows(store) == ()
