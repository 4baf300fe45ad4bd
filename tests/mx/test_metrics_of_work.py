"""Metrics of work: durations and counts from the journal, and the throughput."""

from __future__ import annotations

from datetime import timedelta

import pytest
from prometheus_client import generate_latest

from synergy.model.unit_of_work import UnitState
from synergy.queries.metrics import activity
from synergy.queries.metrics.activity import Activity
from synergy.queries.metrics.work import WorkMetrics
from tests.factories import NOW, a_unit, an_entry
from tests.mx import prometheus

LATENCY, DURATION = "synergy_dispatch_latency_seconds", "synergy_unit_duration_seconds"


@pytest.fixture
def meter():
    return WorkMetrics({"P"})


def counted(meter):
    return prometheus.parse(generate_latest(meter.registry).decode())


def live(meter, *steps, unit="u"):
    """Adds entries of a unit, given as (seconds, event)."""
    for seconds, event in steps:
        after, at = event.partition(".")[2], NOW + timedelta(seconds=seconds)
        meter.add(an_entry(event, process="P", unit=unit, at=at, after=after))


def test_the_life_of_a_unit_becomes_durations(meter):
    live(meter, (0, "unit.requested"), (2, "unit.in_progress"), (12, "unit.processed"))
    live(meter, (12.5, "job.processed"))
    found = counted(meter)
    assert found[LATENCY].value("_sum", process="P") == 2
    of = {"process": "P", "outcome": "processed"}
    assert found[DURATION].value("_sum", **of) == 10
    assert found[DURATION].value("_bucket", **of, le="5.0") == 0
    assert found[DURATION].value("_bucket", **of, le="10.0") == 1
    assert found["synergy_wakeup_latency_seconds"].value("_sum", process="P") == 0.5
    entries = found["synergy_journal_entries_total"]
    assert entries.value(event="job.processed", process="P") == 1


def test_each_attempt_of_a_unit_has_its_own_end(meter):
    live(meter, (0, "unit.requested"), (1, "unit.in_progress"), (4, "unit.invalid"))
    live(meter, (60, "unit.requested"), (61, "unit.in_progress"))
    live(meter, (90, "unit.requested"))  # it was taken from its worker
    live(meter, (91, "unit.in_progress"), (92, "unit.canceled"))
    found = counted(meter)
    for outcome, seconds in (("invalid", 3), ("lost", 29), ("canceled", 1)):
        assert found[DURATION].value("_sum", process="P", outcome=outcome) == seconds
    assert found[LATENCY].value("_count", process="P") == 3


def test_a_clock_that_is_behind_makes_no_negative_duration(meter):
    live(meter, (5, "unit.requested"), (0, "unit.in_progress"))
    assert counted(meter)[LATENCY].value("_sum", process="P") == 0


def test_units_from_before_the_start_are_measured(meter):
    running = {"state": UnitState.IN_PROGRESS, "started_at": NOW}
    meter.begin([a_unit("P", id="a", created_at=NOW), a_unit("P", id="b", **running)])
    live(meter, (3, "unit.in_progress"), unit="a")
    live(meter, (7, "unit.noop"), unit="b")
    found = counted(meter)
    assert found[LATENCY].value("_sum", process="P") == 3
    assert found[DURATION].value("_sum", process="P", outcome="noop") == 7


def test_undeclared_names_are_no_labels(meter):
    for name in ("nightly-1", "nightly-2"):
        meter.add(an_entry("run.launched", process=name))
    entries = counted(meter)["synergy_journal_entries_total"]
    assert entries.value(event="run.launched", process="") == 2


def test_actions_of_the_collector_are_counted(meter):
    for why in ("hand out 2, forgotten 500", "publish 4, hand out 1", "nothing to do", "odd"):
        meter.add(an_entry("gc.run", why=why))
    actions = counted(meter)["synergy_collector_actions_total"]
    for action, count in (("hand out", 3), ("forgotten", 500), ("publish", 4)):
        assert actions.value(action=action) == count


# The journal is read in pages


def write(world, event="unit.noop", number=1, **fields):
    fields = {"process": "Sitehourly", "at": world.clock.now(), **fields}
    world.store.journal.append([an_entry(event, **fields)] * number)


def look(world, monkeypatch, page):
    monkeypatch.setattr(activity, "PAGE", page)
    monkeypatch.setattr(activity, "PAGES", 2)
    return Activity(world.store, world.deployment, world.clock)


def test_a_scrape_reads_new_entries_up_to_a_limit(world, monkeypatch):
    seen = look(world, monkeypatch, 3)

    def entries():
        found = prometheus.parse(generate_latest(seen).decode())
        return sum(found["synergy_journal_entries_total"].samples.values())

    write(world, "job.noop", 2)
    assert entries() == 0  # earlier entries are not counted
    write(world, "job.noop", 8)
    assert [entries() for _ in range(3)] == [6, 8, 8]
    assert seen.throughput().jobs[-1] == 10


def test_throughput_is_counted_by_minute_and_from_before_the_first_look(world):
    write(world, "job.noop")
    world.clock.advance(61 * 60)  # now that was more than an hour ago
    write(world, "unit.processed")
    write(world, "job.skipped", first="2015051700", last="2015051802")  # 27 hours in one step
    world.clock.advance(60)
    seen = Activity(world.store, world.deployment, world.clock)
    for event in ("unit.noop", "unit.invalid", "job.in_progress"):
        write(world, event)
    found = seen.throughput()
    assert (len(found.units), len(found.jobs)) == (60, 60)
    assert found.units[-2:] == (1, 1)
    assert found.jobs[-2:] == (27, 0)
    assert sum(found.jobs) == 27
    assert found.since == world.clock.now() - timedelta(minutes=60)


def test_throughput_says_since_when_it_counts_if_there_is_too_much(world, monkeypatch):
    for _ in range(6):
        write(world)
        world.clock.advance(60)
    found = look(world, monkeypatch, 2).throughput()
    assert sum(found.units) == 4
    assert found.since == world.clock.now() - timedelta(minutes=4)
