"""A member of the pool takes turns among processes, within their limits, and fails alone."""

from __future__ import annotations

import pytest

from synergy.errors import InvalidValue, StorageUnavailable
from synergy.model.unit_of_work import UnitState
from synergy.worker.pool import member as pool_member
from synergy.worker.pool import runners
from synergy.worker.task import Task
from tests.service.free_runs import unit
from tests.service.pools import (
    BOX,
    Members,
    a_pooled_system,
    launched,
    pooled,
    states,
)
from tests.service.scheduler_harness import OPERATOR

PROCESSED, REQUESTED, INVALID = UnitState.PROCESSED, UnitState.REQUESTED, UnitState.INVALID


def slow(system, seconds=1.0):
    """Work that takes so long that a group has one unit."""
    return lambda _task: system.clock.advance(seconds)


def test_many_units_of_one_process_delay_another_by_one_group():
    system = a_pooled_system(pooled("A"), pooled("B"))
    members = Members(system, slow(system))
    launched(system, "A", 30)
    launched(system, "B", 2)
    with members.member() as member:
        while member.round():
            pass
    assert members.order[:4] == ["A", "B", "A", "B"]
    assert members.order.count("A") == 30


def test_a_member_goes_on_after_the_process_that_it_served_last():
    system = a_pooled_system(*(pooled(name) for name in "ABC"))
    members = Members(system, slow(system))
    for name in "CAB":
        launched(system, name, 2)
    with members.member() as member:
        while member.round():
            pass
    assert members.order == ["A", "B", "C"] * 2


def test_the_module_of_a_process_is_used_by_one_worker_for_all_its_units():
    system = a_pooled_system(pooled("A"), pooled("B"))
    members = Members(system, slow(system))
    launched(system, "A", 3)
    launched(system, "B", 3)
    with members.member() as member:
        while member.round():
            pass
    assert members.made == ["A", "B"]


def test_nothing_is_imported_before_the_first_unit():
    system = a_pooled_system(pooled("A"), pooled("B"))
    members = Members(system)
    launched(system, "B")
    with members.member() as member:
        assert members.made == []
        assert member.round()
    assert members.made == ["B"]


@pytest.mark.parametrize(("most", "at_once"), [(1, 1), (2, 2), (9, 2)])
def test_a_process_has_at_most_its_number_of_members_and_never_all(most, at_once):
    """Of three members, each of which begins while the ones before it are still at work."""
    system = a_pooled_system(pooled("A", max_active=most), pooled("B"), size=3)
    launched(system, "A", 9)
    found = []

    def act(_task: Task) -> None:
        if len(members.done) < 3:
            with members.member(f"member-{len(members.done) + 1}") as other:
                found.append(other.round())

    members = Members(system, act)
    with members.member() as member:
        member.round()
    assert members.order == ["A"] * at_once
    assert found == [False, *[True] * (at_once - 1)]


def test_a_free_member_serves_others_while_a_process_has_its_place():
    system = a_pooled_system(pooled("A"), pooled("B"))
    launched(system, "A", 2)
    launched(system, "B")

    def act(task: Task) -> None:
        if task.process.name == "A" and len(members.done) == 1:
            with members.member("member-2") as other:
                assert other.round()
                assert not other.round(), "the only place of A is taken"

    members = Members(system, act)
    with members.member() as member:
        member.round()
        assert members.order[:2] == ["A", "B"]
        while member.round():
            pass
    assert members.order.count("A") == 2


def test_members_that_wait_are_told_when_a_place_is_free_again():
    system = a_pooled_system(pooled("A"), pooled("B"))
    members = Members(system, slow(system))
    launched(system, "A", 2)
    launched(system, "B")
    listener = system.bus.listener("pool")
    with members.member() as member:
        member.round()
        listener.wait(0)
        assert not listener.wait(0)
        member.round()  # it leaves A, which has one more
        assert listener.wait(0)
    listener.close()


def test_a_process_that_is_switched_off_is_not_served():
    system = a_pooled_system(pooled("A"), pooled("B"))
    members = Members(system)
    runs = [*launched(system, "A"), *launched(system, "B")]
    system.store.boxes.switch(BOX, "A", False, "a test", system.clock.now())
    with members.member() as member:
        while member.round():
            pass
        assert states(system, *runs) == [REQUESTED, PROCESSED]
        system.store.boxes.switch(BOX, "A", True, "a test", system.clock.now())
        assert member.refresh()
        assert member.round()
    assert states(system, *runs) == [PROCESSED, PROCESSED]


def test_a_switch_gives_back_what_is_done_for_the_process_and_leaves_the_member():
    system = a_pooled_system(pooled("A"), pooled("B"))
    (a,), (b,) = launched(system, "A"), launched(system, "B")

    def act(task: Task) -> None:
        if task.process.name == "A" and task.unit.attempt == 1:
            system.store.boxes.switch(BOX, "A", False, "a test", system.clock.now())
            member.refresh()
            task.checkpoint()
            raise AssertionError("it goes on")

    members = Members(system, act)
    with members.member() as member:
        while member.round():
            pass
        assert states(system, a, b) == [REQUESTED, PROCESSED]
        assert unit(system, a).attempt == 2
        system.store.boxes.switch(BOX, "A", True, "a test", system.clock.now())
        member.refresh()
        while member.round():
            pass
    assert states(system, a, b) == [PROCESSED, PROCESSED]
    assert system.ended == []


def test_a_request_to_stop_reaches_the_work():
    system = a_pooled_system(pooled("A"))
    (run,) = launched(system, "A")

    def act(task: Task) -> None:
        system.stop.set()
        task.checkpoint()
        raise AssertionError("it goes on")

    members = Members(system, act)
    with members.member() as member:
        member.round()
    assert states(system, run) == [REQUESTED]


def test_work_that_may_be_finished_is_finished():
    system = a_pooled_system(pooled("A"))
    (run,) = launched(system, "A")

    def act(task: Task) -> None:
        system.stop.finish()
        task.checkpoint()

    members = Members(system, act)
    with members.member() as member:
        member.round()
    assert states(system, run) == [PROCESSED]


def test_a_process_without_a_usable_class_fails_its_own_units_only():
    system = a_pooled_system(pooled("A"), pooled("B"))
    (a,), (b,) = launched(system, "A"), launched(system, "B")
    members = Members(system)
    make, is_mended = members._worker, []

    def worker(place):
        if place.process.name == "A" and not is_mended:
            raise InvalidValue("cannot import shop.nightly")
        return make(place)

    members._worker = worker
    with members.member() as member:
        while member.round():
            pass
        assert states(system, a, b) == [INVALID, PROCESSED]
        assert "cannot import shop.nightly" in unit(system, a).reason
        is_mended.append(True)
        (again,) = [launched(system, "A", 2)[1]]
        while member.round():
            pass
    assert states(system, again) == [PROCESSED], "the next unit tries the import again"


def test_what_a_store_failure_leaves_is_finished_before_anything_else(monkeypatch):
    system = a_pooled_system(pooled("A"), pooled("B"))
    (a,), (b,) = launched(system, "A"), launched(system, "B")
    members = Members(system)
    store, conclude = system.store.units, system.store.units.conclude

    def unavailable(*_: object) -> None:
        raise StorageUnavailable("the disk is away")

    with members.member() as member:
        monkeypatch.setattr(store, "conclude", unavailable)
        with pytest.raises(StorageUnavailable):
            member.round()
        with members.member("member-2") as other:
            monkeypatch.setattr(store, "conclude", conclude)
            assert other.round()
            assert not other.round(), "the place of A is still taken"
        assert states(system, a, b) == [UnitState.IN_PROGRESS, PROCESSED]
        assert member.round()
    assert members.order == ["A", "B"], "it is not done twice"
    assert states(system, a, b) == [PROCESSED, PROCESSED]


def test_a_member_that_has_grown_says_so_after_its_unit():
    system = a_pooled_system(pooled("A"))
    launched(system, "A")
    members = Members(system)
    seen = []

    def act(_task: Task) -> None:
        members.memory += pool_member.GROWTH + 1
        seen.append(member.has_grown)

    members.act = act
    with members.member() as member:
        assert not member.has_grown
        member.round()
        assert member.has_grown
    assert seen == [False], "not while it holds a unit"


def test_the_runners_of_processes_long_unused_are_forgotten(monkeypatch):
    monkeypatch.setattr(runners, "KEPT", 2)
    system = a_pooled_system(*(pooled(name) for name in "ABC"))
    members = Members(system)
    with members.member() as member:
        for name in "ABCA":
            launched(system, name, 1 + members.order.count(name))
            while member.round():
                pass
        assert member._runners.names() == ["C", "A"]
    assert members.made == ["A", "B", "C", "A"]


def test_a_message_whose_unit_is_no_longer_requested_is_taken_in_the_end():
    system = a_pooled_system(pooled("A"))
    (run,) = launched(system, "A")
    members = Members(system)
    with members.member() as member:
        system.unit_commands.cancel(unit(system, run), OPERATOR, system.clock.now())
        assert not member.round()
        assert system.bus.depths() == {"A": 1}
        system.clock.advance(pool_member.SWEEP_SECONDS)
        member.round()
    assert system.bus.depths() == {}
    assert members.done == []
