"""One of several schedulers reads corrupt rows, or is cut off from its store or bus."""

from __future__ import annotations

from contextlib import suppress

import pytest

from synergy.errors import MessagingUnavailable, StorageUnavailable
from synergy.model.job import JobState
from synergy.runtime.shared_parts import COLLECTOR, lease_of
from synergy.scheduler.circuit_breaker import GIVEN_UP_SECONDS
from tests.service.scheduler_harness import OPERATOR, SchedulerHarness
from tests.service.several_schedulers import HOUR, STEP, TREES, SchedulerGroup, five_trees


def corrupt(system: SchedulerHarness, process: str) -> None:
    """Puts an unreadable value into the rows of a process."""
    database = system.store._database
    with database.writing() as connection:
        connection.execute(
            "UPDATE job_block SET generations = '{\"odd\": 1}' WHERE process = ?", (process,)
        )


def test_a_malformed_row_stops_the_jobs_in_it_and_no_other_tree(caplog):
    system = five_trees()
    group = SchedulerGroup(system, 1)
    group.turn()
    corrupt(system, "two-hour")
    group.all[0]._forget()
    for tree, n in (("one", 5), ("two", 7), ("three", 6)):
        system.write(tree, HOUR, n)
    group.pass_time(24)
    assert system.rows("one-days") == {"2015051700": 5}
    assert system.rows("three-days") == {"2015051700": 6}
    assert system.rows("after") == {"2015051700": 5}
    assert system.rows("two-days") == {}
    assert group.all[0].leads == frozenset(TREES)
    assert "malformed" in caplog.text


def test_a_tree_that_a_scheduler_gave_up_is_led_by_a_peer_and_shared_again_later():
    system = five_trees()
    group = SchedulerGroup(system, 2)
    group.until(group.are_shared)
    first = group.leader("one")
    real, broken = first._loop._decider._of_process, [True]

    def odd(lane, share):
        if lane.place.tree == "one" and broken:
            raise ValueError("odd")
        return real(lane, share)

    first._loop._decider._of_process = odd
    system.write("one", HOUR, 5)
    group.until(lambda: any("one" in o.leads for o in group.all if o is not first), 40)
    group.until(lambda: system.rows("after") == {"2015051700": 5})
    broken.clear()
    group.pass_time(GIVEN_UP_SECONDS)
    assert group.are_shared()


def test_a_collector_that_fails_stops_no_tree(monkeypatch):
    system = five_trees()
    group = SchedulerGroup(system, 1)
    group.turn()

    def odd(**_flags):
        raise ValueError("odd")

    with monkeypatch.context() as broken:
        broken.setattr(group.all[0]._collector, "run_once", odd)
        group.pass_time(70)
        system.write("one", HOUR, 5)
        group.pass_time(16)
        assert system.rows("one-days") == {"2015051700": 5}
    group.pass_time(GIVEN_UP_SECONDS)
    assert group.system.store.leases.read(lease_of(COLLECTOR)).released is False


def test_a_scheduler_cut_off_from_the_store_stops_and_others_lead_its_trees(monkeypatch):
    system = five_trees()
    group = SchedulerGroup(system, 2)
    group.until(group.are_shared)
    cut_off = group.leader("one")
    group.paused.add(cut_off)

    with monkeypatch.context() as away:
        away.setattr(cut_off._leadership, "_leases", _UnavailableLeases())
        for _ in range(15):
            group.pass_time(STEP)
            with suppress(StorageUnavailable):
                cut_off.run_once()
        assert cut_off._balancer.mine == []
        assert group.are_shared()
    group.paused.clear()
    group.until(lambda: group.are_shared() and bool(cut_off.leads))


class _UnavailableLeases:
    def __getattr__(self, method):
        def unavailable(*_arguments):
            raise StorageUnavailable("the store is unavailable")

        return unavailable


def test_messages_that_the_bus_refused_after_the_commit_are_published_again(monkeypatch):
    system = five_trees()
    group = SchedulerGroup(system, 1)
    group.turn()
    (only,) = group.all
    system.write("one", "2015052011", 5)
    system.clock.advance(4)
    system.process_commands.trigger("one-hour", OPERATOR, system.clock.now())

    def publish(_queue, _messages, batch, _confirmed):
        batch.after_commit(fail)

    def fail():
        raise MessagingUnavailable("the bus is unavailable")

    def try_once():
        with pytest.raises(MessagingUnavailable):
            system.schedule()

    with monkeypatch.context() as away:
        away.setattr(system.bus, "publish", publish)
        system.clock.advance(301)
        try_once()
        loop = only._loop
        (unit,) = system.units("one-hour", "2015052011")
        assert system.state("one-hour", "2015052011") is JobState.IN_PROGRESS
        try_once()
        assert only._loop is loop  # nothing was forgotten
        assert system.store.messages.depths() == {}
    only.run_once()
    assert system.store.messages.depths() == {"one-hour": 1}
    system.settle()
    assert system.state("one-hour", "2015052011") is JobState.PROCESSED
    assert [u.id for u in system.units("one-hour", "2015052011")] == [unit.id]
