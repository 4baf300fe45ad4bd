"""Maintenance: boxes, quarantined messages and queues."""

from __future__ import annotations

from datetime import timedelta

import pytest

from synergy.commands.maintenance import Maintenance
from synergy.errors import NotFound
from synergy.messaging.message import EventsMessage
from tests.deployments import DAILY, a_deployment, a_process
from tests.service.query_kit import a_site, a_watched_site, reads_of
from tests.service.scheduler_harness import OPERATOR, SchedulerHarness


@pytest.fixture
def system():
    return a_watched_site()


@pytest.fixture
def reads(system):
    return reads_of(system)


@pytest.fixture
def upkeep(system):
    return Maintenance(system.store, system.bus, system.deployment)


def test_assign_adds_missing_processes_and_switches_none_back_on(system, upkeep):
    now = system.clock.now()
    assert upkeep.assign("b", ["Day"], OPERATOR, now, dry_run=True) == ["Day"]
    assert system.store.boxes.assignments("b") == []
    assert upkeep.assign("b", ["Day"], OPERATOR, now, dry_run=False) == ["Day"]
    assert upkeep.switch_on_box("b", "Day", False, OPERATOR, now, dry_run=True)
    assert system.store.boxes.assignments("b")[0].is_on
    assert upkeep.switch_on_box("b", "Day", False, OPERATOR, now, dry_run=False)
    assert not upkeep.switch_on_box("b", "Day", False, OPERATOR, now, dry_run=False)
    assert upkeep.assign("b", ["Day", "Hour"], OPERATOR, now, dry_run=False) == ["Hour"]
    is_on = {a.process: a.is_on for a in system.store.boxes.assignments("b")}
    assert is_on == {"Day": False, "Hour": True}
    with pytest.raises(NotFound, match="box sync"):
        upkeep.switch_on_box("b", "Events", True, OPERATOR, now, dry_run=False)
    with pytest.raises(NotFound):
        upkeep.refuse_if_unknown_box("c")


def test_messages_in_quarantine_are_replayed_all_or_some_or_not_at_all(system, upkeep):
    now = system.clock.now()
    for n in range(3):
        system.store.messages.bury("Events", b"%d" % n, "odd", now + timedelta(seconds=n))
    seqs = sorted(message.seq for message in system.bus.dead())
    with pytest.raises(NotFound):
        upkeep.replay([seqs[0], 9999], OPERATOR, now, dry_run=False)
    assert upkeep.replay([seqs[0]], OPERATOR, now, dry_run=True) == {"Events": 1}
    assert system.bus.depths() == {}
    assert upkeep.replay([seqs[0]], OPERATOR, now, dry_run=False) == {"Events": 1}
    assert upkeep.replay(None, OPERATOR, now, dry_run=False) == {"Events": 2}
    assert (system.bus.depths(), system.bus.dead()) == ({"Events": 3}, [])
    events = [(e.event, e.why, e.who) for e in system.store.journal.find("", 2)]
    assert events[0] == ("queue.replayed", "Events 2; because", "an operator")


def test_a_purge_drops_waiting_messages_and_returns_their_number(system, upkeep):
    now = system.clock.now()
    with system.store.batch() as batch:
        system.bus.publish("Events", [EventsMessage([]), EventsMessage([])], batch)
    assert upkeep.purge("Events", OPERATOR, now, dry_run=True) == 2
    assert upkeep.purge("Events", OPERATOR, now, dry_run=False) == 2
    assert upkeep.purge("Events", OPERATOR, now, dry_run=False) == 0
    with pytest.raises(NotFound):
        upkeep.purge("Evnets", OPERATOR, now, dry_run=False)
    system.store.messages.bury("Events", b"x", "odd", now)
    assert upkeep.purge_dead(OPERATOR, now, dry_run=False) == 1
    assert system.bus.dead() == []


def test_a_job_that_reads_earlier_periods_is_not_settled_while_those_are_late():
    alert = a_process("Alert", DAILY, source="day", sink="alert", also_reads=(-2,))
    site = a_site()
    trees = {"site": [site.managed()["Day"], site.managed()["Hour"]], "alert": [alert]}
    system = SchedulerHarness(a_deployment(trees, {"alert": ("site",)}))
    system.settle()
    reads = reads_of(system)
    assert reads.standing("Alert", "2015051900").is_settled
    system.write("raw", "2015051705", 5)
    standing = reads.standing("Alert", "2015051900")
    assert (standing.late.process, standing.late.timeperiod) == ("Hour", "2015051705")
