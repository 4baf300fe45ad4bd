"""Several schedulers share the trees: fairly, without gaps, whatever becomes of one of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest

from synergy.errors import MessagingUnavailable, StorageUnavailable
from synergy.model.job import JobState
from synergy.model.process import Blocking
from synergy.names import SCHEDULER_TOPIC
from synergy.queries.reads import Reads
from synergy.queries.timetable.causes import Kind
from synergy.runtime.leaders import COLLECTOR, lease_of, part_of_tree
from synergy.runtime.leadership import VALID, WAIT
from synergy.scheduler.circuit_breaker import GIVEN_UP_SECONDS
from synergy.scheduler.scheduler import Scheduler
from tests.deployments import DAILY, HOURLY, a_deployment, a_process
from tests.service.scheduler_harness import OPERATOR, SchedulerHarness

STEP = 2.0  # seconds between two turns
SOON = 120.0  # seconds within which the trees of a lost scheduler have another one
TREES = ("one", "two", "three", "four", "after")
HOUR = "2015051701"


def the_world() -> SchedulerHarness:
    """Four trees of an hourly process, and a daily one that depends on the first."""
    trees = {
        name: [
            a_process(f"{name}-day", DAILY, source=f"{name}-hours", sink=f"{name}-days"),
            a_process(f"{name}-hour", HOURLY, source=name, sink=f"{name}-hours"),
        ]
        for name in TREES[:4]
    }
    after = a_process(
        "after-day", DAILY, source="one-days", sink="after", blocking=Blocking.DEPENDENCIES
    )
    return SchedulerHarness(a_deployment({**trees, "after": [after]}, {"after": ("one",)}))


class Several:
    """Schedulers of one system, moved on in turns."""

    def __init__(self, system: SchedulerHarness, number: int) -> None:
        self.system = system
        self.all = [system.scheduler]
        self.all += [system.a_scheduler(f"scheduler-{n}") for n in range(2, number + 1)]
        self.paused: set[Scheduler] = set()

    def turn(self) -> None:
        """Everybody who is not paused works until he has nothing to do at this instant."""
        for _ in range(1000):
            live = [one for one in self.all if one not in self.paused]
            if min(one.run_once() for one in live) > 0:
                return
        raise AssertionError("they never come to rest")

    def pass_time(self, seconds: float) -> None:
        while seconds > 0:
            self.system.clock.advance(min(STEP, seconds))
            seconds -= STEP
            self.turn()
            self.system.work()
            self.turn()

    def until(self, what: Callable[[], bool], seconds: float = SOON) -> None:
        self.turn()
        while not what():
            assert seconds > 0, [sorted(one.leads) for one in self.all]
            self.pass_time(STEP)
            seconds -= STEP

    def are_shared(self) -> bool:
        """Whether each tree is led by exactly one who is not paused."""
        led = sorted(tree for one in self.all if one not in self.paused for tree in one.leads)
        return led == sorted(TREES)

    def leader(self, tree: str) -> Scheduler:
        (found,) = (one for one in self.all if tree in one.leads and one not in self.paused)
        return found


def test_one_alone_leads_all():
    several = Several(the_world(), 1)
    several.turn()
    assert several.all[0].leads == frozenset(TREES)


def test_each_of_several_has_a_fair_share_and_each_tree_one_leader():
    several = Several(the_world(), 3)
    several.turn()
    several.until(lambda: several.are_shared() and all(one.leads for one in several.all))
    several.pass_time(SOON)  # and so it stays
    assert several.are_shared()
    assert sorted(len(one.leads) for one in several.all) in ([1, 2, 2], [2, 2, 1])


def test_whoever_comes_later_is_given_some():
    system = the_world()
    several = Several(system, 1)
    several.pass_time(10)
    several.all.append(system.a_scheduler("scheduler-2"))
    several.until(lambda: several.are_shared() and len(several.all[1].leads) >= 2, 10)
    given = [e.why for e in system.store.journal.find() if e.event == "scheduler.released"]
    assert set(given) == {"collector", *(f"tree {tree}" for tree in several.all[1].leads)}
    taken = [e.why for e in system.store.journal.find() if e.who == "scheduler scheduler-2"]
    assert all(why.endswith(", term 2") for why in taken)


def test_more_schedulers_than_parts_leave_some_standing_by():
    several = Several(the_world(), 8)
    several.until(lambda: several.are_shared() and max(len(one.leads) for one in several.all) == 1)
    assert sum(not one.leads for one in several.all) >= 2


@pytest.mark.parametrize("number", [2, 3])
def test_the_trees_of_a_lost_one_are_led_again_within_half_a_minute(number):
    system = the_world()
    several = Several(system, number)
    several.until(several.are_shared)
    several.pass_time(8)
    lost = several.leader("one")
    several.paused.add(lost)
    system.write("one", HOUR, 5)
    several.until(several.are_shared)
    assert lost not in [several.leader(tree) for tree in TREES]
    several.pass_time(WAIT)  # late data needs its quiet time
    assert system.rows("after") == {"2015051700": 5}
    assert system.audit().unexplained == ()


def test_one_that_was_paused_for_a_minute_changes_nothing_and_gets_a_share_again():
    system = the_world()
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


def test_whoever_ends_gives_up_at_once():
    several = Several(the_world(), 2)
    several.until(several.are_shared)
    ends = several.all.pop(0)
    ends._resign()
    several.until(several.are_shared, 5)


def test_a_job_of_another_tree_is_woken_at_once_whoever_leads_it():
    system = the_world()
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
    system = the_world()
    several = Several(system, 1)
    several.turn()
    (only,) = several.all
    system.write("one", HOUR, 5)
    system.reprocess("one-hour", (HOUR, HOUR), OPERATOR, system.clock.now())
    only._managed.feed.follow(system.clock.now())
    before = system.store.journal.last_seq()
    system.clock.advance(VALID)
    only._managed.turn()  # as if it had been paused since it looked at its leases
    assert system.store.journal.last_seq() == before
    assert only.leads == frozenset(TREES) - {"one"}
    several.turn()
    assert only.leads == frozenset(TREES)
    system.settle()
    assert system.state("one-hour", HOUR) is JobState.PROCESSED


# Trouble


def spoil(system: SchedulerHarness, process: str) -> None:
    """Puts something into the rows of a process that nobody can read."""
    database = system.store._database
    with database.writing() as connection:
        connection.execute(
            "UPDATE job_block SET generations = '{\"odd\": 1}' WHERE process = ?", (process,)
        )


def test_one_trees_odd_rows_stop_no_other_and_are_left_to_a_peer_after_three_tries(caplog):
    system = the_world()
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
    assert "tree/two cannot be worked on" in caplog.text


def test_a_tree_that_was_given_up_is_taken_by_a_peer_and_again_later():
    system = the_world()
    several = Several(system, 2)
    several.until(several.are_shared)
    first = several.leader("one")
    real, broken = first._managed._decider._of_process, [True]

    def odd(lane, share):
        if lane.place.tree == "one" and broken:
            raise ValueError("odd")
        return real(lane, share)

    first._managed._decider._of_process = odd
    system.write("one", HOUR, 5)
    several.until(lambda: any("one" in o.leads for o in several.all if o is not first), 40)
    several.until(lambda: system.rows("after") == {"2015051700": 5})
    broken.clear()
    several.pass_time(GIVEN_UP_SECONDS)
    assert several.are_shared()


def test_a_collector_that_fails_stops_no_tree(monkeypatch):
    system = the_world()
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


# Store and bus


def test_cut_off_from_the_store_it_stops_and_others_go_on(monkeypatch):
    system = the_world()
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


def test_what_the_bus_did_not_take_after_the_commit_is_said_again(monkeypatch):
    system = the_world()
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
        managed = only._managed
        (unit,) = system.units("one-hour", "2015052011")
        assert system.state("one-hour", "2015052011") is JobState.IN_PROGRESS
        try_once()
        assert only._managed is managed  # nothing was forgotten
        assert system.store.messages.depths() == {}
    only.run_once()
    assert system.store.messages.depths() == {"one-hour": 1}
    system.settle()
    assert system.state("one-hour", "2015052011") is JobState.PROCESSED
    assert [u.id for u in system.units("one-hour", "2015052011")] == [unit.id]


def test_everybody_can_see_who_leads_what():
    system = the_world()
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


def test_why_says_which_tree_nobody_leads():
    system = the_world()
    system.store.facts.set_default("timetable.start", system.start)
    system.write("one", HOUR, 5)
    cause = system.why("one-hour", HOUR)
    assert cause.kind is Kind.NO_SCHEDULER
    assert "no scheduler leads tree one" in cause.text
