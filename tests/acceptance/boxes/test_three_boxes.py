"""Three boxes on machines of their own survive outages of boxes, broker and store.

Outages are as short as the limits of the system allow, and the log is small; with
`SYNERGY_TEST_BOXES=long` they last as long as real ones, and the log has 10,000 lines. The results
must be those of the log in every case.
"""

from __future__ import annotations

import os
import signal

import pytest

from synergy.agent.membership import DECIDER
from synergy.model.unit_of_work import UnitState
from synergy.runtime.shared_parts import lease_of, part_of_tree
from tests.acceptance.boxes.cluster import (
    IS_LONG,
    Cluster,
    assert_as_declared,
    days_ago,
    lasting,
    leader_of,
    recent_log,
)
from tests.acceptance.boxes.commands import commands
from tests.acceptance.boxes.network import hindrance, network
from tests.acceptance.boxes.rig import NAMES, Box, boxes
from tests.acceptance.boxes.seconds import Seconds, receiver_on
from tests.acceptance.deployments import gated_suite, gates
from tests.missing import reason
from tests.servers import mongodb, rabbitmq
from tests.servers.standing_still import stand_still

CUT = 120.0 if IS_LONG else 10.0
PAUSE = 60.0 if IS_LONG else 25.0
STORE_AWAY = 30.0 if IS_LONG else 8.0
TAKEOVER = 120.0  # seconds within which another scheduler leads the trees

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
    """Runs commands on machines; starts before any fixture that has threads."""
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
    """A schedule whose runs call a receiver on A every five seconds, through all outages."""
    with receiver_on(machines[0]) as receiver:
        yield Seconds(receiver, machines[0].address, tmp_path_factory.mktemp("seconds"), every=5)


@pytest.fixture(scope="module")
def cluster(machines, asked, server, broker, tmp_path_factory):
    folder = tmp_path_factory.mktemp("boxes")
    day = days_ago(5 if IS_LONG else 3)  # a day after the last of the lines that are read
    variables = {
        "store": server.database("three_boxes"),
        "bus": broker.at("/").replace("guest:guest", ":".join(USER)),
        "start_timeperiod": f"{day:%Y%m%d}00",
        "test_gates": str(folder / "gates"),
        "webhook_networks": f"{machines[0].address}/32",
        "webhook_plaintext": f"{machines[0].address}/32",
    }
    (folder / "gates").mkdir()
    with boxes(machines, folder, asked, **variables) as made:
        made[0].run("store", "init", bus=broker.at("/"))  # boxes have no right to create queues
        yield Cluster(made, folder / "gates", folder / "access.log", recent_log(day), parts=7)


def test_three_boxes_process_a_log(cluster, seconds):
    for box in cluster.boxes:
        assert box.start()["outcome"] == "started"
    seconds.add(cluster.a)
    cluster.read_on(cluster.a)
    cluster.assert_all_is_well(cluster.c)
    cluster.assert_commands_report_all(cluster.c)


def test_box_list_shows_all_boxes_and_their_processes(cluster):
    found = {box["id"]: box for box in cluster.c.ask("box", "list")["boxes"]}
    assert set(found) == set(NAMES)
    assert not any(box["is_silent"] for box in found.values())
    running = {
        box: {p["process"] for p in found[box]["processes"] for o in p["observed"] if o["pid"]}
        for box in NAMES
    }
    assert running["box-a"] == {"Scheduler"}
    assert running["box-c"] == running["box-b"] - {
        "Scheduler", "ClientMonthlyAggregator", "ClientYearlyAggregator", "Pool",
    } | {"AlertDailyWorker"}  # fmt: skip
    assert cluster.a.ask("box", "sync")["added"] == []


def test_a_second_supervisor_of_a_box_is_refused(cluster, machines, asked, tmp_path):
    own = cluster.c.variables | {"box_id": "box-b"}
    other = Box(machines[2], tmp_path / "other", asked, **own)
    refused = other.launch("supervisor", "start", code=4)
    assert "box-b has a supervisor already on host box-b" in refused.err
    assert "SYNERGY_BOX_ID" in refused.err
    assert other.marked() == {}
    assert_as_declared(cluster.b)


def test_the_work_of_a_disconnected_box_is_taken_over_and_its_late_result_is_ignored(cluster):
    before = cluster.c.leaders()
    cluster.a.run("box", "stop", gated_suite.DAILY, "--box", "box-b")
    cluster.b.until(lambda store: f"{gated_suite.DAILY}/1" not in cluster.b.leaders_in(store))
    day = cluster.days()[-1]
    gate = gates.shut(cluster.gates, gated_suite.DAILY, day)
    cluster.read_on(cluster.a)
    cluster.a.until_unit(gated_suite.DAILY, UnitState.IN_PROGRESS, day)

    with lasting(CUT):
        cluster.c.machine.cut()
        cluster.a.run("box", "start", gated_suite.DAILY, "--box", "box-b")
        waiting = gates.take_away(gate)
        cluster.until_figures(cluster.a, meanwhile=lambda: cluster.a.run("gc", "run"))
        assert cluster.c.run("timetable", "show", code=5).err
        gates.open_(waiting)  # its late result must be discarded
    cluster.c.machine.join()
    cluster.c.until_all_run()
    assert cluster.c.leaders() == before
    cluster.assert_all_is_well(cluster.c)


def test_results_are_complete_after_a_box_was_killed_and_restarted(cluster):
    cluster.read_on(cluster.a)
    cluster.b.kill_all()
    assert cluster.b.machine.pids() == set()
    cluster.a.until(lambda store: host_of(store) == "box-a", TAKEOVER)
    assert cluster.b.start()["outcome"] == "started"
    cluster.assert_all_is_well(cluster.b)


def host_of(store):
    leader = leader_of(store, SITE_TREE)
    return leader.host if leader else None


def test_paused_leaders_are_replaced(cluster):
    with cluster.a.store() as store:
        leaders = {lease: leader_of(store, lease) for lease in (SITE_TREE, DECIDER)}
    with lasting(PAUSE):
        stand_still(*(leader.pid for leader in leaders.values()))
        cluster.read_on(cluster.a)
        for lease, leader in leaders.items():
            cluster.a.until(lambda store: leader_of(store, lease) not in (leader, None), TAKEOVER)  # noqa: B023
    for leader in leaders.values():
        os.kill(leader.pid, signal.SIGCONT)
    cluster.assert_all_is_well(cluster.a)


def test_results_are_complete_after_the_broker_was_killed_and_lost_its_messages(cluster, broker):
    workers = (cluster.b, cluster.c)
    before = [others(box) for box in cluster.boxes]
    for box in workers:
        cluster.a.run("box", "stop", HOURLY, "--box", box.box)
        box.until(lambda store, box=box: f"{HOURLY}/1" not in box.leaders_in(store))
    cluster.read_on(cluster.a)
    cluster.a.until_unit(HOURLY, UnitState.REQUESTED)
    with cluster.a.machine.inside():
        broker.node.kill()
        broker.node.start()
    for queue in cluster.a.ask("queue", "list")["queues"]:
        cluster.a.run("queue", "purge", queue["name"], "--yes")
    for box in workers:
        cluster.a.run("box", "start", HOURLY, "--box", box.box)
    cluster.read_again(cluster.a)
    cluster.assert_all_is_well(cluster.b)
    assert [others(box) for box in cluster.boxes] == before  # no process was restarted


def others(box):
    """The leaders of a box except the hourly ones."""
    return {slot: pid for slot, pid in box.leaders().items() if not slot.startswith(HOURLY)}


def test_results_are_complete_after_the_store_hung(cluster, server):
    before = [box.leaders() for box in cluster.boxes]
    cluster.read_on(cluster.a)
    with lasting(STORE_AWAY):
        stand_still(server.process.pid)
        assert cluster.a.run("timetable", "show", code=5).err
    server.process.send_signal(signal.SIGCONT)
    cluster.assert_all_is_well(cluster.c)
    assert [box.leaders() for box in cluster.boxes] == before  # no process was restarted


def test_every_due_time_is_accounted_for_once(cluster, seconds):
    seconds.assert_all_are_accounted_for(cluster.c)
    cluster.assert_all_is_well(cluster.a)
    cluster.assert_commands_report_all(cluster.a)
    cluster.a.check_journal()


def test_nothing_is_left_when_all_have_stopped(cluster):
    servers = cluster.a.machine.pids() - {cluster.a.supervisor(), *cluster.a.marked()}
    for box in cluster.boxes:
        box.stop()
    left = [box.machine.pids() - servers for box in cluster.boxes]
    assert left == [set(), set(), set()]
