"""Records read from one engine can be written to any other and keep their meaning."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from itertools import islice

import pytest

from synergy.model.job import JobState
from synergy.model.operation import OperationState
from synergy.model.run_detail import RunDetail
from synergy.model.schedule import RunState
from synergy.model.unit_of_work import UnitState
from synergy.storage import copy_records
from synergy.storage.copy_records import key_of
from synergy.storage.mongodb import payloads
from synergy.storage.payload import name_of
from synergy.storage.protocol import Bounds, LogLine, Store
from synergy.storage.sqlite import SqliteStore
from tests.contract.operated import an_answer, an_operation
from tests.contract.scheduled import (
    a_change,
    a_run,
    a_run_change,
    a_schedule,
    an_event,
    the_schedule,
)
from tests.factories import (
    HOUR,
    NEXT_HOUR,
    NOW,
    TYPED,
    a_conclusion,
    a_hint,
    a_move,
    a_sink_write,
    a_unit,
    a_unit_move,
    an_entry,
    some_units,
)
from tests.records import everything

MANY = 40  # records of a kind
LONG_PAYLOAD_NAME = name_of(bytes(2_000))


@pytest.fixture(autouse=True)
def short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes MongoDB store a short payload in two parts."""
    monkeypatch.setattr(payloads, "PART", 1_000)


@pytest.fixture
def other() -> Iterator[Store]:
    """A second store, the source or target of a copy."""
    with closing(SqliteStore.open(":memory:")) as store:
        yield store


def copy(source: Store, target: Store) -> None:
    for kind, found in everything(source).items():
        target.transfer.write(kind, found)


def fill(store: Store) -> None:
    """Writes records of every kind, units in every state, and records deleted again."""
    store.facts.set("deployment", "d-1")
    store.facts.set("naïve ✓", '{"a": 1}')
    store.controls.set_on("SiteHourly", False, "me", "so", NOW)
    store.controls.set_trigger("SiteDaily", "every 60", "me", "so", NOW)
    store.boxes.assign("box-1", ["SiteHourly", "SiteDaily"])
    store.boxes.assign("box-2", [])
    store.boxes.report("box-1", [], NOW)
    store.boxes.switch("box-1", "SiteDaily", False, "me", NOW)
    _fill_jobs(store)
    _fill_units(store)
    _fill_documents(store)
    _fill_schedules(store)
    _fill_operations(store)
    store.messages.put("q", [b"gone", *(bytes([n, 0, 255]) for n in range(MANY))])
    store.messages.put("p", [b""])
    store.messages.take("q", 1)
    for n in range(3):
        store.messages.bury("q", b"%d" % n, "unknown", NOW)
    store.messages.replay([3])


def _fill_operations(store: Store) -> None:
    for n in range(3):
        operation = an_operation(f"o-{3 - n}", request={"jobs": [["P", "2015051700"]], "é.$": n})
        store.operations.accept(operation)
    (found, *_), _ = store.operations.find()
    ended = replace(found, state=OperationState.FAILED, detail="é", finished_at=NOW, done=3)
    store.operations.change(ended)
    for person in ("", "jo"):
        for key in ("b", "a|"):
            begun, _ = store.answers.begin(an_answer(key, person))
    store.answers.change(replace(begun, status=200, headers={"a": "é"}, body=b"\0\xff"))


def _fill_jobs(store: Store) -> None:
    store.jobs.move([a_move(500_000, 503_000), a_move(600_000, process="SiteDaily")], NOW)
    over = a_move(
        500_002, 500_005, before=JobState.IN_PROGRESS, after=JobState.EMBRYO, start_over=True
    )
    stale = a_move(
        500_100, before=JobState.IN_PROGRESS, after=JobState.IN_PROGRESS, stale=True, covered=17
    )
    assert store.jobs.move([over, stale], NOW) == []


def _fill_units(store: Store) -> None:
    units = some_units(6)
    store.units.create(units, "scheduler")
    store.units.create(
        [a_unit(generation=2), a_unit("SiteDaily", published_at=NOW, first_claimed_at=NOW)],
        "scheduler",
    )
    requested, running, done, failed, canceled, extended = units
    store.units.claim([a_hint(one) for one in (running, done, failed)], "w", NOW)
    store.units.conclude(
        [
            a_conclusion(
                done, "w", counts={"b": 2, "a.$": 1}, writes=(a_sink_write(("d", {"n": 1})),)
            ),
            a_conclusion(failed, "w", UnitState.INVALID, reason="é", not_before=NOW),
        ],
        NOW,
    )
    store.units.move([a_unit_move(canceled, UnitState.CANCELED)], NOW)
    assert store.units.extend(extended.id, 1, 99, NOW)
    store.units.published([a_hint(requested)], NOW)
    for attempt in (1, 2):
        store.logs.append(
            failed.id, [LogLine(NOW, attempt, "INFO", f"{attempt}.{n}") for n in range(MANY)]
        )


def _fill_documents(store: Store) -> None:
    places = [(f"key {n:02}", hour) for n in range(MANY) for hour in (HOUR, NEXT_HOUR)]
    for turn in range(3):  # some keys are written several times
        some = places[turn * 10 :]
        store.documents.update("sessions", some, lambda key, _old, n=turn: {"k": key, "n": n})
    store.documents.update("a", [("ü~", HOUR)], lambda _key, _old: {**TYPED, "x": [1.5, None, "é"]})


def _fill_schedules(store: Store) -> None:
    """Adds edited, removed and recreated schedules, runs in every state, and payloads."""
    schedules = [a_schedule(f"{name}, é", keys=(f"FILE|/{name}", "ALL|")) for name in "cab"]
    store.schedules.create([*schedules, a_schedule(wake_at=NOW, definition={"a.$": [1.5]})], "me")
    assert store.schedules.remove(the_schedule(store, "a, é"), "", "me", NOW)
    store.schedules.create([a_schedule("a, é", keys=("ALL|",), reason="again")], "me")
    for version in (2, 4):
        edit = a_change(the_schedule(store), version=version, definition={"n": version}, who="é")
        assert store.schedules.change([edit]) == []
    store.schedules.change([a_change(the_schedule(store), progress={"$n.": None}, keys=("B|",))])
    runs = [
        a_run(f"due:{n}", state=state, finished_at=NOW if state.is_finished else None)
        for n, state in enumerate(RunState)
    ]
    gone, *stored = store.runs.create([a_run("gone", state=RunState.NOOP), *runs], "agent")
    store.runs.change([a_run_change(gone, finished_at=NOW - timedelta(days=1))])
    assert store.runs.prune(NOW, 10) == 1
    waiting = a_run_change(
        stored[0],
        request={"x.y": "é"},
        detail=RunDetail(cause={"$": [None]}),
        owner="a",
        launched_at=NOW,
    )
    store.runs.change([waiting])
    store.events.append([an_event(f"{n}", body={"$": n}, at=NOW) for n in range(MANY)])
    store.events.prune(NOW + timedelta(days=1), 3)
    for body in (b"", bytes(range(256)), bytes(2_000)):
        store.payloads.put(body)


def test_an_empty_store_has_no_records(store: Store) -> None:
    assert not any(everything(store).values())


def test_every_kind_is_read_in_the_order_of_its_keys(store: Store) -> None:
    fill(store)
    for kind, found in everything(store).items():
        keys = [key_of(kind, record) for record in found]
        assert keys, kind
        assert keys == sorted(set(keys)), kind


def test_reading_continues_after_any_key(store: Store) -> None:
    fill(store)
    for kind, found in everything(store).items():
        for place, record in enumerate(found[:50], 1):
            rest = store.transfer.read(kind, key_of(kind, record))
            assert list(islice(rest, 3)) == found[place : place + 3], kind


def test_the_size_of_pages_does_not_change_what_is_read(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(store)
    whole = everything(store)
    monkeypatch.setattr(copy_records, "PORTION", 2)
    assert everything(store) == whole
    monkeypatch.setattr(copy_records, "LONG", 1)
    assert everything(store) == whole


def test_pages_of_long_records_hold_fewer_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    some = [{"text": "x" * 1_000}] * 5
    monkeypatch.setattr(copy_records, "LONG", 2_000)
    found = iter(some)
    assert [len(copy_records.portion(found)) for _ in range(4)] == [2, 2, 1, 0]


def test_counts_equal_the_number_of_records(store: Store) -> None:
    fill(store)
    assert store.transfer.counts() == {
        kind: len(found) for kind, found in everything(store).items()
    }


def test_copied_records_equal_their_source(store: Store, other: Store) -> None:
    fill(other)
    copy(other, store)
    assert everything(store) == everything(other)


def test_a_copy_of_a_copy_equals_the_original(store: Store, other: Store) -> None:
    fill(store)
    copy(store, other)
    with closing(SqliteStore.open(":memory:")) as third:
        copy(other, third)
        assert everything(third) == everything(store)


def test_copying_twice_changes_nothing(store: Store, other: Store) -> None:
    fill(other)
    copy(other, store)
    copy(other, store)
    assert everything(store) == everything(other)
    assert store.messages.quarantine() == other.messages.quarantine()


def test_every_query_returns_the_same_from_a_copy(store: Store, other: Store) -> None:
    fill(other)
    copy(other, store)
    for ask in (
        lambda one: list(one.jobs.load()),
        lambda one: one.units.find(limit=100)[0],
        lambda one: {unit.id for unit in one.units.unfinished()},
        lambda one: one.units.counts(),
        lambda one: one.journal.since(0, 1_000),
        lambda one: one.journal.of_job("SiteHourly", HOUR),
        lambda one: list(one.documents.read("sessions", "", "")),
        lambda one: one.documents.bounds_by_timeperiod("sessions", "", ""),
        lambda one: one.documents.changed_since(0, 100),
        lambda one: one.documents.collections(),
        lambda one: one.controls.all(),
        lambda one: one.boxes.all(),
        lambda one: one.boxes.assignments(),
        lambda one: one.messages.depths(),
        lambda one: one.messages.buried(),
        lambda one: sorted(one.schedules.find()[0], key=lambda schedule: schedule.name),
        lambda one: one.schedules.versions("nightly"),
        lambda one: one.schedules.due(NOW, 10),
        lambda one: sorted(found.name for found in one.schedules.listening(["ALL|", "B|"])),
        lambda one: one.runs.find()[0],
        lambda one: one.runs.find("nightly", RunState.FAILED),
        lambda one: one.runs.unfinished(),
        lambda one: one.runs.last("nightly", list(RunState)),
        lambda one: one.events.since(0, 1_000),
        lambda one: one.payloads.get(LONG_PAYLOAD_NAME),
        lambda one: one.operations.find(),
        lambda one: list(one.operations.unfinished()),
        lambda one: one.operations.get("o-1"),
        lambda one: one.answers.begin(an_answer("a|")),
        lambda one: one.answers.begin(an_answer("b", "")),
        lambda one: one.logs.of_unit(some_units(4)[3].id),
    ):
        assert ask(store) == ask(other)


def test_numbers_continue_above_the_copied_ones(store: Store, other: Store) -> None:
    fill(other)
    copy(other, store)
    last = other.journal.last_seq()
    store.journal.append([an_entry()])
    assert [entry.seq for entry in store.journal.since(last, 10)] == [last + 1]
    high = other.documents.changed_since(0, 100)[-1].seq
    store.documents.update("a", [("new", HOUR)], lambda _key, _old: {})
    assert [change.seq for change in store.documents.changed_since(high, 10)] == [high + 1]
    store.units.create([a_unit(start_id=5, end_id=6)], "scheduler")
    assert store.units.find(limit=1)[0][0].start_id == 5
    store.messages.bury("q", b"", "", NOW)
    assert store.messages.buried(1)[0].seq == 4
    assert store.events.append([an_event("new")])[0][0].seq == MANY + 1
    store.operations.accept(an_operation("new"))
    assert store.operations.find(1)[0][0].id == "new"
    store.runs.create([a_run("new")], "agent")
    assert store.runs.find(limit=1)[0][0].key == "new"
    store.messages.put("q", [b"last"])
    assert [message.body for message in store.messages.take("q", 100)][-1] == b"last"


def test_numbers_of_deleted_records_are_not_reused_in_a_copy(store: Store, other: Store) -> None:
    other.journal.append([an_entry(), an_entry()])
    other.messages.bury("q", b"", "", NOW)
    other.journal.prune(NOW.replace(year=2100), 10)
    other.messages.purge_buried()
    copy(other, store)
    store.journal.append([an_entry()])
    store.messages.bury("q", b"", "", NOW)
    assert store.journal.last_seq() == 3
    assert store.messages.buried()[0].seq == 2


def test_units_and_jobs_can_be_continued_on_a_copy(store: Store, other: Store) -> None:
    fill(other)
    copy(other, store)
    requested, running, *_ = some_units(6)
    store.units.move([a_unit_move(requested, UnitState.CANCELED)], NOW)
    write = a_sink_write(("d", {"n": 2}), timeperiod=running.timeperiod, end=running.end_timeperiod)
    assert store.units.conclude([a_conclusion(running, "w", writes=(write,))], NOW) == []
    ends = [entry.event for entry in store.journal.since(other.journal.last_seq(), 10)]
    assert ends == ["unit.canceled", "unit.processed"]
    over = a_move(500_002, generation=2)
    assert store.jobs.move([over], NOW) == []
    assert store.jobs.move([over], NOW) == [over]
    found = next(run for run in store.jobs.load(["SiteHourly"]) if run.first <= 500_002)
    assert found.states[500_002 - found.first] == JobState.IN_PROGRESS
    rows = store.documents.bounds("site_hourly", running.timeperiod, running.end_timeperiod)
    assert rows is not None
    assert rows.rows == 1


def test_schedules_and_runs_can_be_continued_on_a_copy(store: Store, other: Store) -> None:
    fill(other)
    copy(other, store)
    last = store.journal.last_seq()
    seen = the_schedule(store)
    edit = a_change(seen, event="schedule.changed", version=5, keys=("C|",), definition={})
    assert store.schedules.change([edit, edit]) == [edit]
    assert [one.version for one in store.schedules.versions("nightly")] == [5, 4, 2, 1]
    assert store.schedules.listening(["B|"]) == []
    assert [one.name for one in store.schedules.listening(["C|"])] == ["nightly"]
    assert store.schedules.remove(the_schedule(store), "", "me", NOW)
    assert store.schedules.create([a_schedule()], "me") == []
    assert len(store.schedules.versions("nightly")) == 1
    *_, run = store.runs.unfinished()
    assert store.runs.change([a_run_change(run, state=RunState.PROCESSED)]) == []
    assert store.runs.create([run], "agent")[0].state is RunState.PROCESSED
    assert store.events.append([an_event("7")])[0][1] is False
    assert [entry.event for entry in store.journal.since(last, 10)] == [
        "schedule.changed", "schedule.removed", "schedule.created", "run.processed",
    ]  # fmt: skip


def test_copied_rows_can_be_merged_and_replaced(store: Store, other: Store) -> None:
    other.documents.update("s", [("a", HOUR), ("b", HOUR)], lambda key, _old: {"k": key})
    copy(other, store)
    store.documents.update("s", [("b", HOUR)], lambda _key, old: {**(old or {}), "more": 1})
    assert list(store.documents.read("s", "", "")) == [{"k": "a"}, {"k": "b", "more": 1}]
    assert store.documents.bounds("s", HOUR, NEXT_HOUR) == Bounds(1, 3, 2)
    unit = a_unit()
    store.units.create([unit], "scheduler")
    store.units.claim([a_hint(unit)], "w", NOW)
    write = a_sink_write(("c", {"k": "c"}), collection="s")
    store.units.conclude([a_conclusion(unit, "w", writes=(write,))], NOW)
    assert list(store.documents.read("s", "", "")) == [{"k": "c"}]
    assert store.documents.bounds("s", HOUR, NEXT_HOUR) == Bounds(1, 6, 1)
