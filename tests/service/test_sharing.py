"""Several schedulers share the trees."""

from __future__ import annotations

import pytest

from synergy.model.job import JobState
from synergy.names import SCHEDULER_TOPIC
from synergy.queries.reads import Reads
from synergy.queries.timetable.causes import Kind
from synergy.runtime.leadership import VALID_SECONDS, WAIT_SECONDS
from synergy.runtime.shared_parts import lease_of, part_of_tree
from tests.service.scheduler_harness import OPERATOR
from tests.service.several_schedulers import HOUR, SOON, STEP, TREES, SchedulerGroup, five_trees


def test_a_lone_scheduler_leads_all_trees():
    group = SchedulerGroup(five_trees(), 1)
    group.turn()
    assert group.all[0].leads == frozenset(TREES)


def test_each_scheduler_leads_a_fair_share_and_each_tree_has_one_leader():
    group = SchedulerGroup(five_trees(), 3)
    group.turn()
    group.until(lambda: group.are_shared() and all(one.leads for one in group.all))
    group.pass_time(SOON)  # and the shares stay
    assert group.are_shared()
    assert sorted(len(one.leads) for one in group.all) in ([1, 2, 2], [2, 2, 1])


def test_a_scheduler_that_starts_later_takes_over_some_trees():
    system = five_trees()
    group = SchedulerGroup(system, 1)
    group.pass_time(10)
    group.all.append(system.a_scheduler("scheduler-2"))
    group.until(lambda: group.are_shared() and len(group.all[1].leads) >= 2, 10)
    given = [e.why for e in system.store.journal.find() if e.event == "scheduler.released"]
    assert set(given) == {"collector", *(f"tree {tree}" for tree in group.all[1].leads)}
    taken = [e.why for e in system.store.journal.find() if e.who == "scheduler scheduler-2"]
    assert all(why.endswith(", term 2") for why in taken)


def test_with_more_schedulers_than_parts_some_stand_by():
    group = SchedulerGroup(five_trees(), 8)
    group.until(lambda: group.are_shared() and max(len(one.leads) for one in group.all) == 1)
    assert sum(not one.leads for one in group.all) >= 2


@pytest.mark.parametrize("number", [2, 3])
def test_the_trees_of_a_lost_scheduler_are_led_again_within_two_minutes(number):
    system = five_trees()
    group = SchedulerGroup(system, number)
    group.until(group.are_shared)
    group.pass_time(8)
    lost = group.leader("one")
    group.paused.add(lost)
    system.write("one", HOUR, 5)
    group.until(group.are_shared)
    assert lost not in [group.leader(tree) for tree in TREES]
    group.pass_time(WAIT_SECONDS)  # late data needs its quiet time
    assert system.rows("after") == {"2015051700": 5}
    assert system.audit().unexplained == ()


def test_a_paused_scheduler_changes_nothing_and_gets_a_share_again():
    system = five_trees()
    group = SchedulerGroup(system, 2)
    group.until(group.are_shared)
    paused = group.leader("one")
    group.paused.add(paused)
    group.pass_time(60)
    epoch = system.store.leases.read(lease_of(part_of_tree("one"))).epoch
    moves = [e for e in system.store.journal.find(limit=1000) if e.event.startswith("job.")]
    group.paused.clear()
    paused.run_once()
    assert "one" not in paused.leads
    group.until(lambda: group.are_shared() and bool(paused.leads))
    assert system.store.leases.read(lease_of(part_of_tree("one"))).epoch >= epoch
    after = [e for e in system.store.journal.find(limit=1000) if e.event.startswith("job.")]
    assert after == moves  # there was nothing to do


def test_a_scheduler_that_ends_releases_its_trees_at_once():
    group = SchedulerGroup(five_trees(), 2)
    group.until(group.are_shared)
    ends = group.all.pop(0)
    ends._resign()
    group.until(group.are_shared, 5)


def test_a_job_of_another_tree_is_woken_at_once_if_another_scheduler_leads_it():
    system = five_trees()
    group = SchedulerGroup(system, 2)
    group.until(group.are_shared)
    for _ in range(20):
        if group.leader("one") is not group.leader("after"):
            break
        group.pass_time(STEP)
    first, second = group.leader("one"), group.leader("after")
    assert first is not second
    system.write("one", HOUR, 5)
    group.pass_time(14)
    listener = system.bus.listener(SCHEDULER_TOPIC)
    system.reprocess("one-hour", (HOUR, HOUR), OPERATOR, system.clock.now())
    for process in ("one-hour", "one-day"):
        first.run_once()
        first.run_once()
        system.work(process)
    while listener.wait(0):
        pass
    first.run_once()
    assert listener.wait(0)  # the finished day wakes the leader of the dependent tree
    listener.close()
    second.run_once()
    assert [unit.process for unit in system.store.units.unfinished()] == ["after-day"]


def test_a_scheduler_acts_only_while_its_lease_is_valid():
    system = five_trees()
    group = SchedulerGroup(system, 1)
    group.turn()
    (only,) = group.all
    system.write("one", HOUR, 5)
    system.reprocess("one-hour", (HOUR, HOUR), OPERATOR, system.clock.now())
    only._loop.feed.follow(system.clock.now())
    before = system.store.journal.last_seq()
    system.clock.advance(VALID_SECONDS)
    only._loop.turn()  # as if it had been paused since it checked its leases
    assert system.store.journal.last_seq() == before
    assert only.leads == frozenset(TREES) - {"one"}
    group.turn()
    assert only.leads == frozenset(TREES)
    system.settle()
    assert system.state("one-hour", HOUR) is JobState.PROCESSED


def test_the_leaders_of_trees_are_visible():
    system = five_trees()
    reads = Reads(system.store, system.bus, system.deployment, system.clock)
    assert {part.is_led for part in reads.leaders()} == {False}
    group = SchedulerGroup(system, 2)
    group.until(group.are_shared)
    seen = {part.part: part.host for part in reads.leaders()}
    assert set(seen) == {"collector", *(f"tree {tree}" for tree in TREES)}
    for tree in TREES:
        assert seen[f"tree {tree}"] == group.leader(tree).workplace.owner
        assert reads.is_led(f"{tree}-day")
    for one in group.all:
        one._resign()
    assert not any(part.is_led for part in reads.leaders())


def test_why_names_a_tree_without_a_leader():
    system = five_trees()
    system.store.facts.set_default("timetable.start", system.start)
    system.write("one", HOUR, 5)
    cause = system.why("one-hour", HOUR)
    assert cause.kind is Kind.NO_SCHEDULER
    assert "no scheduler leads tree one" in cause.text
