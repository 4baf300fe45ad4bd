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
from tests.service.several_schedulers import HOUR, SOON, STEP, TREES, Several, five_trees


def test_a_lone_scheduler_leads_all_trees():
    several = Several(five_trees(), 1)
    several.turn()
    assert several.all[0].leads == frozenset(TREES)


def test_each_of_several_has_a_fair_share_and_each_tree_one_leader():
    several = Several(five_trees(), 3)
    several.turn()
    several.until(lambda: several.are_shared() and all(one.leads for one in several.all))
    several.pass_time(SOON)  # and so it stays
    assert several.are_shared()
    assert sorted(len(one.leads) for one in several.all) in ([1, 2, 2], [2, 2, 1])


def test_a_later_scheduler_is_given_some_trees():
    system = five_trees()
    several = Several(system, 1)
    several.pass_time(10)
    several.all.append(system.a_scheduler("scheduler-2"))
    several.until(lambda: several.are_shared() and len(several.all[1].leads) >= 2, 10)
    given = [e.why for e in system.store.journal.find() if e.event == "scheduler.released"]
    assert set(given) == {"collector", *(f"tree {tree}" for tree in several.all[1].leads)}
    taken = [e.why for e in system.store.journal.find() if e.who == "scheduler scheduler-2"]
    assert all(why.endswith(", term 2") for why in taken)


def test_more_schedulers_than_parts_leave_some_standing_by():
    several = Several(five_trees(), 8)
    several.until(lambda: several.are_shared() and max(len(one.leads) for one in several.all) == 1)
    assert sum(not one.leads for one in several.all) >= 2


@pytest.mark.parametrize("number", [2, 3])
def test_the_trees_of_a_lost_one_are_led_again_within_half_a_minute(number):
    system = five_trees()
    several = Several(system, number)
    several.until(several.are_shared)
    several.pass_time(8)
    lost = several.leader("one")
    several.paused.add(lost)
    system.write("one", HOUR, 5)
    several.until(several.are_shared)
    assert lost not in [several.leader(tree) for tree in TREES]
    several.pass_time(WAIT_SECONDS)  # late data needs its quiet time
    assert system.rows("after") == {"2015051700": 5}
    assert system.audit().unexplained == ()


def test_a_paused_scheduler_changes_nothing_and_gets_a_share_again():
    system = five_trees()
    several = Several(system, 2)
    several.until(several.are_shared)
    paused = several.leader("one")
    several.paused.add(paused)
    several.pass_time(60)
    epoch = system.store.leases.read(lease_of(part_of_tree("one"))).epoch
    moves = [e for e in system.store.journal.find(limit=1000) if e.event.startswith("job.")]
    several.paused.clear()
    paused.run_once()
    assert "one" not in paused.leads
    several.until(lambda: several.are_shared() and bool(paused.leads))
    assert system.store.leases.read(lease_of(part_of_tree("one"))).epoch >= epoch
    after = [e for e in system.store.journal.find(limit=1000) if e.event.startswith("job.")]
    assert after == moves  # there was nothing to do


def test_a_scheduler_that_ends_releases_its_trees_at_once():
    several = Several(five_trees(), 2)
    several.until(several.are_shared)
    ends = several.all.pop(0)
    ends._resign()
    several.until(several.are_shared, 5)


def test_a_job_of_another_tree_is_woken_at_once_whoever_leads_it():
    system = five_trees()
    several = Several(system, 2)
    several.until(several.are_shared)
    for _ in range(20):
        if several.leader("one") is not several.leader("after"):
            break
        several.pass_time(STEP)
    first, second = several.leader("one"), several.leader("after")
    assert first is not second
    system.write("one", HOUR, 5)
    several.pass_time(14)
    listener = system.bus.listener(SCHEDULER_TOPIC)
    system.reprocess("one-hour", (HOUR, HOUR), OPERATOR, system.clock.now())
    for process in ("one-hour", "one-day"):
        first.run_once()
        first.run_once()
        system.work(process)
    while listener.wait(0):
        pass
    first.run_once()
    assert listener.wait(0)  # it finished the day, which somebody else waits for
    listener.close()
    second.run_once()
    assert [unit.process for unit in system.store.units.unfinished()] == ["after-day"]


def test_a_scheduler_acts_only_while_its_right_lasts():
    system = five_trees()
    several = Several(system, 1)
    several.turn()
    (only,) = several.all
    system.write("one", HOUR, 5)
    system.reprocess("one-hour", (HOUR, HOUR), OPERATOR, system.clock.now())
    only._loop.feed.follow(system.clock.now())
    before = system.store.journal.last_seq()
    system.clock.advance(VALID_SECONDS)
    only._loop.turn()  # as if it had been paused since it looked at its leases
    assert system.store.journal.last_seq() == before
    assert only.leads == frozenset(TREES) - {"one"}
    several.turn()
    assert only.leads == frozenset(TREES)
    system.settle()
    assert system.state("one-hour", HOUR) is JobState.PROCESSED


def test_the_leaders_of_trees_are_visible():
    system = five_trees()
    reads = Reads(system.store, system.bus, system.deployment, system.clock)
    assert {part.is_led for part in reads.leaders()} == {False}
    several = Several(system, 2)
    several.until(several.are_shared)
    seen = {part.part: part.host for part in reads.leaders()}
    assert set(seen) == {"collector", *(f"tree {tree}" for tree in TREES)}
    for tree in TREES:
        assert seen[f"tree {tree}"] == several.leader(tree).workplace.owner
        assert reads.is_led(f"{tree}-day")
    for one in several.all:
        one._resign()
    assert not any(part.is_led for part in reads.leaders())


def test_why_names_the_tree_without_leader():
    system = five_trees()
    system.store.facts.set_default("timetable.start", system.start)
    system.write("one", HOUR, 5)
    cause = system.why("one-hour", HOUR)
    assert cause.kind is Kind.NO_SCHEDULER
    assert "no scheduler leads tree one" in cause.text
