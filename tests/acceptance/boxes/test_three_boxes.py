"""Three boxes, each on a machine of its own, and what may happen to them.

Troubles are as short as the limits of the system allow, and the log is a small one; with
`SYNERGY_TEST_BOXES=long` they last as long as real ones, and the log has 10,000 lines. What comes
out is what must come of the log in any case.
"""

from __future__ import annotations

import os
import signal

import pytest

from synergy.agent.membership import DECIDER
from synergy.model.unit_of_work import UnitState
from synergy.runtime.shared_parts import lease_of, part_of_tree
from tests.acceptance.boxes.commands import commands
from tests.acceptance.boxes.network import hindrance, network
from tests.acceptance.boxes.rig import NAMES, Box, boxes
from tests.acceptance.boxes.seconds import Seconds, receiver_on
from tests.acceptance.boxes.show import (
    IS_LONG,
    Show,
    assert_as_declared,
    days_ago,
    lasting,
    leader_of,
    recent_log,
)
from tests.acceptance.deployments import gated_suite, gates
from tests.missing import reason
from tests.servers import mongodb, rabbitmq
from tests.servers.standing_still import stand_still

CUT = 120.0 if IS_LONG else 10.0
PAUSE = 60.0 if IS_LONG else 25.0
STORE_AWAY = 30.0 if IS_LONG else 8.0
TAKEOVER = 120.0  # seconds in which the trees of a lost scheduler have another

USER = ("box", "secret")  # of the broker
RIGHTS = ("^synergy[.]bells[.]", "^synergy[.](work$|bells)", "^synergy[.]")  # see operations.md
HOURLY = "SiteHourlyAggregator"
SITE_TREE = lease_of(part_of_tree("site"))

pytestmark = [
    pytest.mark.story,
    pytest.mark.skipif(bool(hindrance()), reason=reason("network namespaces", hindrance())),
]


@pytest.fixture(scope="module")
def machines():
    with network(*NAMES) as made:
        yield made


@pytest.fixture(scope="module")
def asked(machines):
    """What runs commands; it begins before anything that has threads."""
    with commands(machines) as running:
        yield running


@pytest.fixture(scope="module")
def server(machines, asked, tmp_path_factory):
    """The store's server, on A."""
    mongodb.prepare()
    with machines[0].inside():
        starting = mongodb.running_own(tmp_path_factory.mktemp("store"), machines[0].address)
        server = starting.__enter__()
    yield server
    server.process.send_signal(signal.SIGCONT)
    starting.__exit__(None, None, None)


@pytest.fixture(scope="module")
def broker(machines, asked, tmp_path_factory):
    """RabbitMQ, on A."""
    with machines[0].inside():
        starting = rabbitmq.running_own(tmp_path_factory.mktemp("broker"), machines[0].address)
        broker = starting.__enter__()
        broker.node.add_user(*USER)
        broker.node.allow(USER[0], *RIGHTS)
    yield broker
    with machines[0].inside():
        starting.__exit__(None, None, None)


@pytest.fixture(scope="module")
def seconds(machines, asked, tmp_path_factory):
    """What B and C tell A every five seconds, whatever happens."""
    with receiver_on(machines[0]) as receiver:
        yield Seconds(receiver, machines[0].address, tmp_path_factory.mktemp("seconds"), every=5)


@pytest.fixture(scope="module")
def show(machines, asked, server, broker, tmp_path_factory):
    folder = tmp_path_factory.mktemp("boxes")
    day = days_ago(5 if IS_LONG else 3)  # a day after the last of the lines that are read
    variables = {
        "store": server.database("three_boxes"),
        "bus": broker.at("/").replace("guest:guest", ":".join(USER)),
        "start_timeperiod": f"{day:%Y%m%d}00",
        "test_gates": str(folder / "gates"),
        "webhook_networks": f"{machines[0].address}/32",
    }
    (folder / "gates").mkdir()
    with boxes(machines, folder, asked, **variables) as made:
        made[0].run("store", "init", bus=broker.at("/"))  # boxes may not make queues
        yield Show(made, folder / "gates", folder / "access.log", recent_log(day), parts=7)


def test_the_run_completes(show, seconds):
    for box in show.boxes:
        assert box.start()["outcome"] == "started"
    seconds.add(show.a)
    show.read_on(show.a)
    show.assert_all_is_well(show.c)
    show.assert_all_is_told(show.c)


def test_all_boxes_are_seen_from_each(show):
    found = {box["id"]: box for box in show.c.ask("box", "list")["boxes"]}
    assert set(found) == set(NAMES)
    assert not any(box["is_silent"] for box in found.values())
    running = {
        box: {p["process"] for p in found[box]["processes"] for o in p["observed"] if o["pid"]}
        for box in NAMES
    }
    assert running["box-a"] == {"Scheduler"}
    assert running["box-c"] == running["box-b"] - {
        "Scheduler", "ClientMonthlyAggregator", "ClientYearlyAggregator", "YearlyReportExporter",
    } | {"AlertDailyWorker"}  # fmt: skip
    assert show.a.ask("box", "sync")["added"] == []


def test_a_second_supervisor_of_a_box_is_refused(show, machines, asked, tmp_path):
    own = show.c.variables | {"box_id": "box-b"}
    other = Box(machines[2], tmp_path / "other", asked, **own)
    refused = other.launch("supervisor", "start", code=4)
    assert "box-b has a supervisor already on host box-b" in refused.err
    assert "SYNERGY_BOX_ID" in refused.err
    assert other.marked() == {}
    assert_as_declared(show.b)


def test_a_box_that_is_cut_off_is_done_without_and_does_no_harm_when_it_is_back(show):
    before = show.c.leaders()
    show.a.run("box", "stop", gated_suite.DAILY, "--box", "box-b")
    show.b.until(lambda store: f"{gated_suite.DAILY}/1" not in show.b.leaders_in(store))
    day = show.days()[-1]
    gate = gates.shut(show.gates, gated_suite.DAILY, day)
    show.read_on(show.a)
    show.a.until_unit(gated_suite.DAILY, UnitState.IN_PROGRESS, day)

    with lasting(CUT):
        show.c.machine.cut()
        show.a.run("box", "start", gated_suite.DAILY, "--box", "box-b")
        waiting = gates.take_away(gate)
        show.until_figures(show.a, meanwhile=lambda: show.a.run("gc", "run"))
        assert show.c.run("timetable", "show", code=5).err
        gates.open_(waiting)  # what it found out counts for nothing, now and later
    show.c.machine.join()
    show.c.until_all_run()
    assert show.c.leaders() == before
    show.assert_all_is_well(show.c)


def test_a_box_that_is_killed(show):
    show.read_on(show.a)
    show.b.kill_all()
    assert show.b.machine.pids() == set()
    show.a.until(lambda store: host_of(store) == "box-a", TAKEOVER)
    assert show.b.start()["outcome"] == "started"
    show.assert_all_is_well(show.b)


def host_of(store):
    leader = leader_of(store, SITE_TREE)
    return leader.host if leader else None


def test_leaders_that_are_paused_are_followed_by_others(show):
    with show.a.store() as store:
        leaders = {lease: leader_of(store, lease) for lease in (SITE_TREE, DECIDER)}
    with lasting(PAUSE):
        stand_still(*(leader.pid for leader in leaders.values()))
        show.read_on(show.a)
        for lease, leader in leaders.items():
            show.a.until(lambda store: leader_of(store, lease) not in (leader, None), TAKEOVER)  # noqa: B023
    for leader in leaders.values():
        os.kill(leader.pid, signal.SIGCONT)
    show.assert_all_is_well(show.a)


def test_a_broker_that_is_killed_and_loses_its_messages(show, broker):
    workers = (show.b, show.c)
    before = [others(box) for box in show.boxes]
    for box in workers:
        show.a.run("box", "stop", HOURLY, "--box", box.box)
        box.until(lambda store, box=box: f"{HOURLY}/1" not in box.leaders_in(store))
    show.read_on(show.a)
    show.a.until_unit(HOURLY, UnitState.REQUESTED)
    with show.a.machine.inside():
        broker.node.kill()
        broker.node.start()
    for queue in show.a.ask("queue", "list")["queues"]:
        show.a.run("queue", "purge", queue["name"], "--yes")
    for box in workers:
        show.a.run("box", "start", HOURLY, "--box", box.box)
    show.read_again(show.a)
    show.assert_all_is_well(show.b)
    assert [others(box) for box in show.boxes] == before  # nobody had to be started again


def others(box):
    """The leaders of a box but for the hourly ones."""
    return {slot: pid for slot, pid in box.leaders().items() if not slot.startswith(HOURLY)}


def test_a_store_that_hangs_for_a_while(show, server):
    before = [box.leaders() for box in show.boxes]
    show.read_on(show.a)
    with lasting(STORE_AWAY):
        stand_still(server.process.pid)
        assert show.a.run("timetable", "show", code=5).err
    server.process.send_signal(signal.SIGCONT)
    show.assert_all_is_well(show.c)
    assert [box.leaders() for box in show.boxes] == before  # nobody had to be started again


def test_every_due_time_is_accounted_for_once(show, seconds):
    seconds.assert_all_are_accounted_for(show.c)
    show.assert_all_is_well(show.a)
    show.assert_all_is_told(show.a)
    show.a.story()


def test_nothing_is_left_when_all_have_stopped(show):
    servers = show.a.machine.pids() - {show.a.supervisor(), *show.a.marked()}
    for box in show.boxes:
        box.stop()
    left = [box.machine.pids() - servers for box in show.boxes]
    assert left == [set(), set(), set()]
