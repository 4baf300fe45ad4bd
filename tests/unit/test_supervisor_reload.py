"""What another context changes, which processes end for it, and in which order."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from synergy.model.process import (
    POOLED,
    BuiltIn,
    DaemonProcess,
    Deployment,
    FreerunProcess,
    Process,
    Tree,
)
from synergy.names import POOL
from synergy.supervisor.assignment import belonging
from synergy.supervisor.reload import Rollout, compare, ending, restarting, workers_of_project
from synergy.supervisor.states import Slot, SlotState, SlotStatus

BOX = "dev"
SERVICES = {"Scheduler": BuiltIn.SCHEDULER, "Agent": BuiltIn.AGENT, "MX": BuiltIn.MX}


def a_process(name: str, **given: Any) -> Process:
    usual = {"token": name, "present_on_boxes": (".*",), **given}
    if name.startswith("Work"):
        return FreerunProcess(name=name, **{"classname": None, "command": ("a",), **usual})
    return DaemonProcess(name=name, classname=SERVICES.get(name, "x.Y.start"), **usual)


def a_deployment(*processes: Process, **more: Any) -> Deployment:
    return Deployment({one.name: one for one in processes}, {}, **more)


ALL = tuple(map(a_process, ("Agent", "MX", "Scheduler", "Daemon", "Work", "WorkB")))
OLD = a_deployment(*ALL)


def with_changed(name: str, **fields: Any) -> Deployment:
    return a_deployment(*ALL, replace(OLD.processes[name], **fields))


def without(name: str, deployment: Deployment = OLD) -> Deployment:
    return a_deployment(*(one for one in deployment.processes.values() if one.name != name))


def test_the_same_context_changes_nothing() -> None:
    found = compare(OLD, a_deployment(*ALL), BOX)
    assert found.unchanged == tuple(sorted(OLD.processes))
    assert (found.added, found.removed, found.changed, found.restarted) == ((), (), {}, ())
    assert ending(OLD, a_deployment(*ALL), BOX).in_turn == ()


def test_what_is_added_removed_and_changed_is_named() -> None:
    kept = without("WorkB", with_changed("Work", command=("b",), timeout=5.0))
    new = a_deployment(*kept.processes.values(), a_process("WorkC"))
    found = compare(OLD, new, BOX)
    assert (found.added, found.removed) == (("WorkC",), ("WorkB",))
    assert found.changed == {"Work": ("command", "timeout")}
    assert found.unchanged == ("Agent", "Daemon", "MX", "Scheduler")
    assert found.restarted == ("Agent", "MX", "Scheduler", "Work")


def test_another_kind_of_process_is_a_change() -> None:
    new = a_deployment(*ALL, replace(a_process("Daemon"), name="Work"))
    assert compare(OLD, new, BOX).changed == {"Work": ("kind",)}


def test_schedules_concern_agents_only() -> None:
    old = a_deployment(*ALL, schedules={"a": {"x": 1}, "b": {}, "c": {}})
    new = a_deployment(*ALL, schedules={"a": {"x": 2}, "b": {}, "d": {}})
    found = compare(old, new, BOX)
    assert (found.schedules_added, found.schedules_removed) == (("d",), ("c",))
    assert found.schedules_changed == ("a",)
    assert found.restarted == ("Agent",)


def test_trees_concern_all_services() -> None:
    found = compare(OLD, Deployment(OLD.processes, {"t": Tree(name="t", processes=())}), BOX)
    assert (found.trees, found.restarted) == (("t",), ("Agent", "MX", "Scheduler"))


def test_workers_finish_daemons_end_and_services_take_turns() -> None:
    kept = without("WorkB", with_changed("Work", command=("b",)))
    daemon = replace(OLD.processes["Daemon"], arguments={"a": 1})
    new = a_deployment(*kept.processes.values(), daemon)
    found = ending(OLD, new, BOX)
    assert found.finishing == {Slot("Work", 1), Slot("WorkB", 1)}
    assert found.ending == {Slot("Daemon", 1)}
    assert found.in_turn == (Slot("Scheduler", 1), Slot("MX", 1), Slot("Agent", 1))


@pytest.mark.parametrize(
    ("before", "after", "finishing"),
    [
        ({"instances": 1}, {"instances": 3}, set()),
        ({"instances": 3}, {"instances": 1}, {Slot("Work", 2), Slot("Work", 3)}),
        ({}, {"is_on": False}, set()),
        ({}, {"token": "w"}, set()),
        ({}, {"present_on_boxes": ("dev", "x")}, set()),
        ({}, {"present_on_boxes": ("x",)}, {Slot("Work", 1)}),
    ],
)
def test_a_process_keeps_running_where_only_its_place_changes(
    before: dict[str, Any], after: dict[str, Any], finishing: set[Slot]
) -> None:
    new = with_changed("Work", **after)
    found = ending(with_changed("Work", **before), new, BOX)
    assert found.finishing == finishing
    assert "Work" not in compare(with_changed("Work", **before), new, BOX).restarted


def test_processes_of_other_boxes_are_not_restarted_here() -> None:
    far = {"present_on_boxes": ("far",)}
    old, new = with_changed("Work", **far), with_changed("Work", **far, timeout=1.0)
    assert compare(old, new, BOX).changed == {"Work": ("timeout",)}
    assert ending(old, new, BOX).finishing == frozenset()


def pooled(**fields: Any) -> Deployment:
    """A deployment whose worker is served by a pool of two."""
    entries = {"instances": POOLED, **fields}
    worker = replace(OLD.processes["Work"], **entries)
    pool = DaemonProcess(
        name=POOL, classname=BuiltIn.POOL, token="", present_on_boxes=(".*",), instances=2
    )
    return a_deployment(*(*ALL, worker, pool) if worker.instances == POOLED else (*ALL, worker))


MEMBERS = {Slot(POOL, 1), Slot(POOL, 2)}


@pytest.mark.parametrize(
    ("after", "restarted"),
    [
        ({"timeout": 1.0}, {POOL}),
        ({"command": ("b",)}, {POOL}),
        ({"max_active": 3}, {POOL}),
        ({"present_on_boxes": ("x",)}, {POOL}),
        ({"is_on": False}, set()),
        ({"token": "w"}, set()),
    ],
)
def test_a_changed_entry_of_a_pooled_process_replaces_the_members(
    after: dict[str, Any], restarted: set[str]
) -> None:
    old, new = pooled(), pooled(**after)
    assert set(compare(old, new, BOX).restarted) - SERVICES.keys() == restarted
    assert ending(old, new, BOX).finishing == (MEMBERS if restarted else set())


def test_a_process_that_enters_the_pool_replaces_the_members() -> None:
    old = a_deployment(*without("WorkB", pooled()).processes.values())
    more = replace(OLD.processes["WorkB"], instances=POOLED)
    new = a_deployment(*(*pooled().processes.values(), more))
    assert POOL in compare(old, new, BOX).restarted


def test_a_process_that_leaves_the_pool_gets_a_worker_and_the_last_one_ends_the_pool() -> None:
    old, new = pooled(), pooled(instances=1)
    found = ending(old, new, BOX)
    assert found.finishing == MEMBERS
    assert Slot("Work", 1) in belonging(new, BOX)
    assert not MEMBERS & belonging(new, BOX)


def test_members_of_the_pool_may_finish_when_a_reload_is_resumed() -> None:
    assert restarting(pooled(), MEMBERS).finishing == MEMBERS


# The order

SCHEDULER, AGENT, WORK = Slot("Scheduler", 1), Slot("Agent", 1), Slot("Work", 1)


def known(**states: SlotState) -> dict[Slot, SlotStatus]:
    return {
        Slot(name, 1): SlotStatus(state, 0.0, datetime(2026, 1, 1, tzinfo=UTC))
        for name, state in states.items()
    }


def a_rollout() -> Rollout:
    rollout = Rollout()
    rollout.add(ending(with_changed("Work", timeout=1.0), without("MX"), BOX))
    return rollout


DESIRED = {SCHEDULER, AGENT, WORK}
S = SlotState


def test_one_service_is_up_again_before_the_next_one_ends() -> None:
    rollout = a_rollout()
    assert rollout.held == {SCHEDULER, WORK, Slot("MX", 1)}
    assert rollout.finishing == {WORK}

    rollout.advance(DESIRED, known(Scheduler=S.STOPPING, Work=S.FINISHING, Agent=S.RUNNING))
    assert rollout.held == {SCHEDULER, WORK}  # MX was never seen, or is gone
    rollout.advance(DESIRED, known(Scheduler=S.STOPPED, Work=S.FINISHING, Agent=S.RUNNING))
    assert rollout.held == {WORK}
    rollout.advance(DESIRED, known(Scheduler=S.STARTING, Work=S.FINISHING, Agent=S.RUNNING))
    assert rollout.held == {WORK}
    rollout.advance(DESIRED, known(Scheduler=S.RUNNING, Work=S.FINISHING, Agent=S.RUNNING))
    assert rollout.held == {WORK, AGENT}
    rollout.advance(DESIRED, known(Scheduler=S.RUNNING, Work=S.STOPPED, Agent=S.STOPPED))
    assert rollout.held == frozenset()
    assert not rollout.is_over
    rollout.advance(DESIRED, known(Scheduler=S.RUNNING, Work=S.STARTING, Agent=S.RUNNING))
    assert rollout.is_over


def test_a_service_that_dies_or_is_switched_off_does_not_keep_the_others() -> None:
    rollout = a_rollout()
    rollout.advance(DESIRED, known(Scheduler=S.STOPPED, Agent=S.RUNNING))
    dead = known(Scheduler=S.BACKOFF, Agent=S.RUNNING)
    dead[SCHEDULER] = replace(dead[SCHEDULER], failures=1)
    rollout.advance(DESIRED, dead)
    assert rollout.held == {AGENT}
    rollout.advance(DESIRED - {AGENT}, known(Scheduler=S.RUNNING, Agent=S.STOPPED))
    assert rollout.is_over


def test_a_second_context_restarts_what_waits_or_starts_just_now() -> None:
    rollout = a_rollout()
    rollout.advance(DESIRED, known(Scheduler=S.STARTING, Agent=S.RUNNING, Work=S.FINISHING))
    rollout.add(ending(OLD, without("MX"), BOX))
    assert rollout.held == {SCHEDULER, WORK, Slot("MX", 1)}


def test_nothing_is_held_once_the_supervisor_stops() -> None:
    rollout = a_rollout()
    rollout.clear()
    assert rollout.is_over
    assert rollout.held == frozenset()


def test_workers_of_the_project_are_those_whose_classes_it_has() -> None:
    assert workers_of_project(OLD) == ["Daemon"]
