"""The next actions of the supervisor, as tables."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synergy.model.box import Assignment
from synergy.model.process import DaemonProcess, Deployment, FreerunProcess, ManagedProcess, Process
from synergy.model.process_control import ProcessControl
from synergy.runtime import abandoned_work, retirement
from synergy.supervisor.assignment import assigned, belonging, desired
from synergy.supervisor.plan import (
    Action,
    Timing,
    failures_after_death,
    next_deadline,
    plan,
    restart_delay,
)
from synergy.supervisor.proctable import Entry, family
from synergy.supervisor.states import Slot, SlotState, SlotStatus
from synergy.timeperiod import Qualifier

SLOT = Slot("A", 1)
TIMING = Timing(grace=10, ready_after=3, healthy_after=60, longest_delay=60)
ENTERED = 100.0


def a_status(state: SlotState, failures: int = 0, born: float = ENTERED) -> SlotStatus:
    return SlotStatus(state, ENTERED, datetime(2026, 1, 1, tzinfo=UTC), born, failures)


S = SlotState


@pytest.mark.parametrize(
    ("is_desired", "state", "failures", "after", "action"),
    [
        (True, S.STOPPED, 0, 0.0, Action.START),
        (False, S.STOPPED, 0, 0.0, None),
        (True, S.STARTING, 0, 2.9, None),
        (True, S.STARTING, 0, 3.0, Action.CONFIRM),
        (False, S.STARTING, 0, 0.0, Action.TERMINATE),
        (True, S.RUNNING, 0, 9e9, None),
        (False, S.RUNNING, 0, 0.0, Action.TERMINATE),
        (True, S.BACKOFF, 1, 0.0, Action.START),
        (True, S.BACKOFF, 2, 0.9, None),
        (True, S.BACKOFF, 2, 1.0, Action.START),
        (True, S.BACKOFF, 3, 1.9, None),
        (True, S.BACKOFF, 3, 2.0, Action.START),
        (False, S.BACKOFF, 5, 0.0, Action.REST),
        (True, S.STOPPING, 0, 9.9, None),
        (False, S.STOPPING, 0, 9.9, None),
        (True, S.STOPPING, 0, 10.0, Action.KILL),
        (False, S.STOPPING, 0, 10.0, Action.KILL),
        (True, S.KILLING, 0, 9e9, None),
        (False, S.KILLING, 0, 9e9, None),
    ],
)
def test_each_state_of_a_slot_has_its_due_action(is_desired, state, failures, after, action):
    known = {SLOT: a_status(state, failures)}
    wanted = {SLOT} if is_desired else set()

    assert plan(wanted, known, ENTERED + after, TIMING) == ({SLOT: action} if action else {})


@pytest.mark.parametrize(
    ("is_desired", "may_finish", "state", "action"),
    [
        (False, True, S.RUNNING, Action.FINISH),
        (False, True, S.STARTING, Action.FINISH),
        (False, True, S.FINISHING, None),
        (True, False, S.FINISHING, None),
        (False, False, S.FINISHING, Action.TERMINATE),  # a stop does not wait for the work
        (False, True, S.BACKOFF, Action.REST),
        (False, True, S.STOPPED, None),
    ],
)
def test_a_slot_may_finish_its_work_without_a_limit(is_desired, may_finish, state, action):
    wanted, finishing = [{SLOT} if it else set() for it in (is_desired, may_finish)]

    planned = plan(wanted, {SLOT: a_status(state)}, ENTERED + 9e9, TIMING, finishing)

    assert planned == ({SLOT: action} if action else {})


def test_a_slot_that_was_never_seen_is_started():
    assert plan({SLOT}, {}, 0.0, TIMING) == {SLOT: Action.START}


def test_slots_are_planned_independently():
    known = {Slot("A", 1): a_status(S.RUNNING), Slot("B", 1): a_status(S.RUNNING)}

    assert plan({Slot("A", 1), Slot("C", 2)}, known, ENTERED, TIMING) == {
        Slot("B", 1): Action.TERMINATE,
        Slot("C", 2): Action.START,
    }


def test_restarts_are_immediate_and_then_delayed_up_to_a_minute():
    delays = [restart_delay(failures, TIMING) for failures in range(1, 11)]

    assert delays == [0, 1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert restart_delay(10**6, TIMING) == 60


def test_running_for_a_minute_resets_the_count_of_failures():
    status = a_status(S.RUNNING, failures=7, born=1000.0)

    assert failures_after_death(status, 1059.9, TIMING) == 8
    assert failures_after_death(status, 1060.0, TIMING) == 1


def test_a_deliberate_exit_after_the_grace_time_resets_the_count_of_failures():
    status = a_status(S.RUNNING, failures=7, born=1000.0)
    after_grace, on_purpose = 1000.0 + abandoned_work.GRACE_SECONDS, abandoned_work.EXIT_CODE

    assert failures_after_death(status, after_grace, TIMING, on_purpose) == 1
    assert failures_after_death(status, 1009.0, TIMING, on_purpose) == 8  # too early for it
    assert failures_after_death(status, 1030.0, TIMING, 1) == 8


def test_the_end_of_a_process_that_has_grown_is_no_death():
    status = a_status(S.RUNNING, failures=3, born=1000.0)
    lived = 1000.0 + retirement.LEAST_SECONDS

    assert failures_after_death(status, lived, TIMING, retirement.EXIT_CODE) == 0
    assert restart_delay(0, TIMING) == 0
    assert failures_after_death(status, lived - 1.0, TIMING, retirement.EXIT_CODE) == 4


@given(
    wanted=st.booleans(),
    state=st.sampled_from([s for s in SlotState if s is not S.STOPPED]),
    failures=st.integers(0, 20),
    before=st.floats(0.001, 100),
)
def test_an_action_is_due_at_the_deadline_and_not_before(wanted, state, failures, before):
    known = {SLOT: a_status(state, failures)}
    desired_slots = {SLOT} if wanted else set()
    deadline = next_deadline(desired_slots, known, TIMING)

    if deadline is None:
        assert plan(desired_slots, known, ENTERED + 1e9, TIMING) == {}
    else:
        assert plan(desired_slots, known, deadline, TIMING) != {}
        assert plan(desired_slots, known, deadline - before, TIMING) == {}


@given(st.lists(st.sampled_from(list(SlotState)), max_size=6), st.floats(0, 1000))
def test_a_slot_whose_process_may_be_alive_is_never_started(states, after):
    known = {Slot("P", n): a_status(state) for n, state in enumerate(states)}

    for slot, action in plan(set(known), known, ENTERED + after, TIMING).items():
        if action is Action.START:
            assert known[slot].state in {S.STOPPED, S.BACKOFF}


# Which processes belong to the box


def a_daemon(name, boxes=("dev.*",), **fields) -> Process:
    return DaemonProcess(
        name=name, classname="x.Y.start", token=name, present_on_boxes=boxes, **fields
    )


def a_managed(name, boxes=("dev.*",), **fields) -> Process:
    return ManagedProcess(
        name=name,
        classname="x.Y.start",
        token=name,
        present_on_boxes=boxes,
        qualifier=Qualifier.HOURLY,
        **fields,
    )


def a_freerun(name, **fields) -> Process:
    return FreerunProcess(
        name=name, classname="x.Y.start", token=name, present_on_boxes=("dev.*",), **fields
    )


def a_deployment(*processes: Process) -> Deployment:
    return Deployment({process.name: process for process in processes}, {})


@pytest.mark.parametrize(
    ("patterns", "box", "belongs"),
    [
        (("dev.*",), "dev-one", True),
        (("dev",), "dev-one", False),  # the whole box id must match
        (("one",), "dev-one", False),
        (("prod", "dev-(one|two)"), "dev-two", True),
        ((), "dev-one", False),
        ((".*",), "", True),
    ],
)
def test_a_process_belongs_where_a_pattern_matches_the_whole_box_id(patterns, box, belongs):
    deployment = a_deployment(a_daemon("A", boxes=patterns))

    assert assigned(deployment, box) == (["A"] if belongs else [])


def test_processes_run_if_they_are_assigned_to_the_box_and_switched_on():
    deployment = a_deployment(
        a_managed("On", instances=2), a_managed("Off"), a_managed("New"), a_managed("Far", ("p",))
    )
    assignments = [
        Assignment("dev", "On"),
        Assignment("dev", "Off", is_on=False),
        Assignment("other", "New"),
        Assignment("dev", "Far"),
        Assignment("dev", "Unknown"),
    ]

    assert desired(deployment, "dev", assignments, {}) == {Slot("On", 1), Slot("On", 2)}
    assert belonging(deployment, "dev") == {
        Slot("On", 1),
        Slot("On", 2),
        Slot("Off", 1),
        Slot("New", 1),
    }


@pytest.mark.parametrize(
    ("process", "control", "runs"),
    [
        (a_daemon("A"), None, True),
        (a_daemon("A", is_on=False), None, False),
        (a_daemon("A", is_on=False), ProcessControl("A", is_on=True), True),
        (a_daemon("A"), ProcessControl("A", is_on=False), False),
        (a_daemon("A", is_on=False), ProcessControl("A", trigger_frequency="every 1"), False),
        (a_managed("A", is_on=False), None, True),
        (a_managed("A"), ProcessControl("A", is_on=False), True),
        (a_freerun("A", is_on=False), None, True),
        (a_freerun("A"), ProcessControl("A", is_on=False), True),
    ],
)
def test_switching_off_stops_daemons_but_not_workers(process, control, runs):
    controls = {"A": control} if control else {}

    found = desired(a_deployment(process), "dev", [Assignment("dev", "A")], controls)

    assert found == ({Slot("A", 1)} if runs else set())


# Families of processes


def test_processes_of_a_slot_are_found_by_marker_session_and_descent():
    leader = Entry(10, 1, 10, 500, "home/A")
    with_marker = Entry(11, 1, 11, 501, "home/A")
    in_session = Entry(12, 1, 10, 502)
    child_in_own_session = Entry(13, 12, 13, 503)
    grandchild = Entry(14, 13, 14, 504)
    stranger = Entry(20, 1, 20, 505, "other/A")
    table = {
        e.pid: e
        for e in (leader, with_marker, in_session, child_in_own_session, grandchild, stranger)
    }

    ours = family(table, lambda entry: entry.marker == "home/A" or entry.session == 10)
    by_marker_alone = family(table, lambda entry: entry.marker == "home/A")

    assert ours == {leader, with_marker, in_session, child_in_own_session, grandchild}
    assert by_marker_alone == {leader, with_marker}
