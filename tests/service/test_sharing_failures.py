"""One of several schedulers has broken rows, or is cut off from its store or bus."""

from __future__ import annotations

from contextlib import suppress

import pytest

from synergy.errors import MessagingUnavailable, StorageUnavailable
from synergy.model.job import JobState
from synergy.runtime.shared_parts import COLLECTOR, lease_of
from synergy.scheduler.circuit_breaker import GIVEN_UP_SECONDS
from tests.service.scheduler_harness import OPERATOR, SchedulerHarness
from tests.service.several_schedulers import HOUR, STEP, TREES, Several, five_trees


def spoil(system: SchedulerHarness, process: str) -> None:
    """Puts something into the rows of a process that nobody can read."""
    database = system.store._database
    with database.writing() as connection:
        connection.execute(
            "UPDATE job_block SET generations = '{\"odd\": 1}' WHERE process = ?", (process,)
        )


def test_one_trees_odd_rows_stop_no_other_and_are_left_to_a_peer_after_three_tries(caplog):
    system = five_trees()
    several = Several(system, 1)
    several.turn()
    spoil(system, "two-hour")
    several.all[0]._forget()
    system.write("one", HOUR, 5)
    system.write("three", HOUR, 6)
    several.pass_time(24)
    assert system.rows("one-days") == {"2015051700": 5}
    assert system.rows("three-days") == {"2015051700": 6}
    assert system.rows("after") == {"2015051700": 5}
    assert several.all[0].leads == frozenset(TREES) - {"two"}
    released = [e.why for e in system.store.journal.find() if e.event == "scheduler.released"]
    assert released == ["tree two"]
    assert "tree/two fails and is paused" in caplog.text


def test_a_tree_that_was_given_up_is_taken_by_a_peer_and_again_later():
    system = five_trees()
    several = Several(system, 2)
    several.until(several.are_shared)
    first = several.leader("one")
    real, broken = first._loop._decider._of_process, [True]

    def odd(lane, share):
        if lane.place.tree == "one" and broken:
            raise ValueError("odd")
        return real(lane, share)

    first._loop._decider._of_process = odd
    system.write("one", HOUR, 5)
    several.until(lambda: any("one" in o.leads for o in several.all if o is not first), 40)
    several.until(lambda: system.rows("after") == {"2015051700": 5})
    broken.clear()
    several.pass_time(GIVEN_UP_SECONDS)
    assert several.are_shared()


def test_a_collector_that_fails_stops_no_tree(monkeypatch):
    system = five_trees()
    several = Several(system, 1)
    several.turn()

    def odd(**_flags):
        raise ValueError("odd")

    with monkeypatch.context() as broken:
        broken.setattr(several.all[0]._collector, "run_once", odd)
        several.pass_time(70)
        system.write("one", HOUR, 5)
        several.pass_time(16)
        assert system.rows("one-days") == {"2015051700": 5}
    several.pass_time(GIVEN_UP_SECONDS)
    assert several.system.store.leases.read(lease_of(COLLECTOR)).released is False


def test_cut_off_from_the_store_it_stops_and_others_go_on(monkeypatch):
    system = five_trees()
    several = Several(system, 2)
    several.until(several.are_shared)
    cut_off = several.leader("one")
    several.paused.add(cut_off)

    with monkeypatch.context() as away:
        away.setattr(cut_off._leadership, "_leases", _Away())
        for _ in range(15):
            several.pass_time(STEP)
            with suppress(StorageUnavailable):
                cut_off.run_once()
        assert cut_off._balancer.mine == []
        assert several.are_shared()
    several.paused.clear()
    several.until(lambda: several.are_shared() and bool(cut_off.leads))


class _Away:
    def __getattr__(self, method):
        def unavailable(*_arguments):
            raise StorageUnavailable("it is away")

        return unavailable


def test_messages_that_the_bus_lost_after_the_commit_are_published_again(monkeypatch):
    system = five_trees()
    several = Several(system, 1)
    several.turn()
    (only,) = several.all
    system.write("one", "2015052011", 5)
    system.clock.advance(4)
    system.process_commands.trigger("one-hour", OPERATOR, system.clock.now())

    def publish(_queue, _messages, batch, _confirmed):
        batch.after_commit(fail)

    def fail():
        raise MessagingUnavailable("it is away")

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
