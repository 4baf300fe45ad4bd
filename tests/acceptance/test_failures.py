"""Recovery from paused processes, malformed messages, full disks and defective workers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from synergy.messaging.message import EventsMessage, UnitMessage, encode
from synergy.model.unit_of_work import UnitState
from synergy.runtime import identity
from synergy.runtime.shared_parts import lease_of, part_of_tree
from tests.acceptance import inside
from tests.acceptance.boxes.cluster import lasting
from tests.acceptance.deployments import gates, misbehaving, short_limits
from tests.acceptance.disk_space import a_room
from tests.acceptance.kit import kill, pause, resume, until

YESTERDAY, DAY_BEFORE = (f"{datetime.now(UTC) - timedelta(days=n):%Y%m%d}" for n in (1, 2))
DAY, START, HOUR = (YESTERDAY + hour for hour in ("00", "20", "21"))
EARLY, LATE, LAST = (DAY_BEFORE + hour for hour in ("20", "21", "22"))


pytestmark = pytest.mark.story  # most share a home


@pytest.fixture(scope="module")
def shared(module_homes, tmp_path_factory):
    """A home that is not started yet; each test uses hours of its own."""
    return module_homes(
        start_timeperiod=EARLY,
        context="tests.acceptance.deployments.copies",
        test_gates=str(tmp_path_factory.mktemp("gates")),
        test_short_limits="1",
    )


@pytest.fixture
def home(shared):
    """The shared home, at work."""
    if shared.supervisor() == 0:
        shared.start()
    return shared


def write(home, timeperiod, n):
    """A row in the source of the hours, as an event consumer would write it."""
    with home.store() as store:
        store.documents.update(
            "raw",
            [("d", timeperiod)],
            lambda _key, _old: {"domain": "d", "timeperiod": timeperiod, "n": n},
        )
        with home.bus(store) as bus:
            bus.notify("scheduler")


def rows(home, collection):
    with home.store() as store:
        return {row["timeperiod"]: row for row in store.documents.read(collection, "", "")}


def values(home, collection):
    return {timeperiod: row["n"] for timeperiod, row in rows(home, collection).items()}


def pid_of(unit):
    return identity.parse(unit.owner).pid


# A worker that is stopped


def test_a_worker_that_is_paused_too_long_loses_its_unit_and_its_result(shared):
    """The first test of the shared home: it starts the home."""
    home = shared
    gate = gates.shut(Path(home.variables["test_gates"]), "CopyHourly", LATE)
    inside.run(home, "store", "init")
    write(home, EARLY, 5)
    write(home, LATE, 1)
    home.start()
    inside.wait_for(home, "CopyHourly", EARLY)
    held = home.until_unit("CopyHourly", UnitState.IN_PROGRESS, LATE)
    pause(home, pid_of(held))
    gates.let_through(gate)

    def is_handed_out_again():
        inside.ask(home, "gc", "run")
        return inside.ask(home, "unit", "show", held.id)["attempt"] == 2

    until(is_handed_out_again)
    done = home.until_unit("CopyHourly", UnitState.PROCESSED, LATE)
    assert (done.id, done.attempt, done.failures) == (held.id, 2, 1)
    assert pid_of(done) != pid_of(held)
    assert rows(home, "hours")[LATE]["attempt"] == 2

    # The paused worker continues. Once it has processed another unit, it has finished this one.
    pause(home, pid_of(done))
    resume(pid_of(held))
    inside.run(home, "timetable", "reprocess", "CopyHourly", EARLY)
    later = home.until(
        lambda _: [row for row in rows(home, "hours").values() if row["generation"] == 2]
    )
    assert [row["timeperiod"] for row in later] == [EARLY]
    last = home.until_unit("CopyHourly", UnitState.PROCESSED, EARLY)
    assert (last.generation, pid_of(last)) == (2, pid_of(held))
    resume(pid_of(done))

    assert rows(home, "hours")[LATE]["attempt"] == 2
    assert inside.ask(home, "unit", "show", held.id)["attempt"] == 2
    home.check_journal()


# Messages


GARBAGE = (
    b"\xff\xfe\x00 not JSON",
    b"",
    b"[]",
    b'{"v": 99, "type": "unit", "unit": "x", "attempt": 1}',
    b'{"v": 1, "type": "unit", "unit": "x", "attempt": 9223372036854775808}',
    b'{"v": 1, "type": "unit", "unit": "x", "attempt": -9223372036854775809}',
    b'{"v": 1, "type": "unit", "unit": ["x"], "attempt": 1}',
    b"[" * 100_000,
)
NO_EVENTS = (
    b'{"v": 1, "type": "events", "events": [1]}',
    b'{"v": 1, "type": "events", "events": [{"site": "s"}]}',
)
STRAY = {  # messages that belong to the other queue
    "CopyHourly": EventsMessage([{"site": "s"}]),
    "SingleSessionWorker": UnitMessage("x", 1),
}


def test_malformed_messages_are_quarantined_and_work_continues(home):
    before, restarts = values(home, "hours"), restarts_in(home)
    sent = {"CopyHourly": GARBAGE, "SingleSessionWorker": (*GARBAGE, *NO_EVENTS)}
    with home.store() as store, home.bus(store) as bus, store.batch() as batch:
        for queue, bodies in sent.items():
            store.messages.put(queue, bodies)
            bus.publish(queue, [STRAY[queue]], batch)
    write_and_reprocess(home, LAST, 7)
    inside.wait_for(home, "CopyHourly", LAST)
    home.until(lambda store: not store.messages.depths())

    assert values(home, "hours") == {**before, LAST: 7}
    with home.store() as store:
        buried = [(message.queue, message.body) for message in store.messages.buried()]
    assert sorted(buried) == sorted(
        (queue, body) for queue, bodies in sent.items() for body in (*bodies, encode(STRAY[queue]))
    )
    assert all(message["reason"] for message in inside.ask(home, "queue", "dead")["dead"])
    assert inside.ask(home, "queue", "list")["dead"] == len(buried)

    # Replayed messages are quarantined again; purged messages are gone.
    inside.run(home, "queue", "replay")
    home.until(lambda store: not store.messages.depths())
    assert len(inside.ask(home, "queue", "dead")["dead"]) == len(buried)
    inside.run(home, "queue", "purge", "--dead", "--yes")
    assert inside.ask(home, "queue", "dead") == {"dead": [], "failed_runs": []}
    assert restarts_in(home) == restarts


def restarts_in(home):
    status = inside.ask(home, "supervisor", "status")
    return {(seen["name"], seen["instance"]): seen["restarts"] for seen in status["processes"]}


# A store without room


def lease_in(home):
    with home.store() as store:
        return store.leases.read(lease_of(part_of_tree("copies")))


@pytest.fixture
def room(tmp_path):
    with a_room(tmp_path / "room") as room:
        yield room


def test_a_full_disk_refuses_changes_and_ends_no_process(room, homes, tmp_path):
    home = homes(
        "room/home",
        start_timeperiod=START,
        context="tests.acceptance.deployments.copies",
        test_gates=str(tmp_path / "gates"),
        test_short_limits="1",
    )
    home.before_commands = room.before_commands
    log = tmp_path / "access.log"
    log.write_text('192.0.2.1 - - [17/May/2015:10:05:00 +0000] "GET / HTTP/1.1" 200 5\n')
    gate = gates.shut(tmp_path / "gates", "CopyHourly", HOUR)
    inside.run(home, "store", "init")
    write(home, HOUR, 1)
    home.start()
    held = home.until_unit("CopyHourly", UnitState.IN_PROGRESS, HOUR)
    before = home.leaders()

    def all_pids():
        return {home.supervisor(), *home.marked()}

    room.fill(all_pids)
    gates.let_through(gate)  # its result cannot be written now
    lease = lease_in(home)
    refused = (
        ("timetable", "reprocess", "CopyHourly", START),
        ("process", "off", "CopyHourly"),
        ("ingest", log, "--site", "example.com"),
        ("unit", "cancel", held.id),
    )
    with lasting(short_limits.VALID + 1.0):  # so long that the leader cannot renew its lease
        for argv in refused:
            done = home.run(*argv, code=5)
            assert room.said in done.err, done
            assert done.out == ""
    assert home.ask("unit", "show", held.id)["state"] == "in_progress"
    assert home.ask("supervisor", "status")["running"] is True
    assert lease_in(home) == lease
    assert home.leaders() == before

    room.free(all_pids)
    inside.wait_for(home, "CopyHourly", HOUR)
    home.run("process", "off", "CopyDaily")
    report = home.ask("ingest", log, "--site", "example.com")
    assert (report["sessions"], report["waiting"]) == (1, 0)
    assert values(home, "hours") == {HOUR: 1}
    assert home.leaders() == before
    done = home.ask("unit", "show", held.id)
    assert (done["state"], done["failures"]) == ("processed", 0)
    home.check_journal()


# Two schedulers


def leads(home):
    """The leaders of the tree, by the journal: each term and the pid of its scheduler."""
    said = "tree copies, term "
    with home.store() as store:
        entries = reversed(store.journal.find(limit=100_000))
        return [
            (int(entry.why.removeprefix(said)), pid_of_scheduler(entry.who))
            for entry in entries
            if entry.event == "scheduler.leads" and entry.why.startswith(said)
        ]


def pid_of_scheduler(who):
    return identity.parse(who.removeprefix("scheduler ")).pid


def write_and_reprocess(home, timeperiod, n):
    write(home, timeperiod, n)
    inside.run(home, "timetable", "reprocess", "CopyHourly", timeperiod)


def test_a_second_scheduler_takes_over_from_a_paused_one(home):
    for hour in (START, HOUR):
        write(home, hour, 1)
    first = home.leaders()["Scheduler/1"]
    inside.wait_for(home, "CopyHourly", START)
    inside.wait_for(home, "CopyHourly", HOUR)
    second = home.begin("process", "start", "Scheduler", "--console")
    write_and_reprocess(home, START, 5)  # both schedulers are notified
    inside.wait_for(home, "CopyDaily", DAY)
    assert values(home, "days")[DAY] == 6
    assert leads(home) == [(1, first)]

    pause(home, first)
    write_and_reprocess(home, HOUR, 20)
    inside.wait_for(home, "CopyDaily", DAY)  # once the lease has run out
    assert values(home, "days")[DAY] == 25
    assert leads(home) == [(1, first), (2, second.pid)]

    resume(first)  # it still takes itself for the leader
    write_and_reprocess(home, START, 10)
    inside.wait_for(home, "CopyDaily", DAY)
    assert values(home, "days")[DAY] == 30
    assert leads(home) == [(1, first), (2, second.pid)]
    home.check_journal()

    second.terminate()  # releases the lease: the first scheduler need not wait for its end
    silent = short_limits.WAIT  # seconds until a lease expires that is not released
    home.until(lambda _: leads(home)[2:] == [(3, first)], limit=silent - 1)
    write_and_reprocess(home, HOUR, 100)
    inside.wait_for(home, "CopyDaily", DAY)
    assert values(home, "days")[DAY] == 110
    home.check_journal()


# Work functions


def test_work_that_misbehaves_fails_alone_and_its_reason_is_kept(homes):
    """One worker survives a defect in each hour; the process of another one dies."""
    hours = [f"{YESTERDAY}{hour:02}" for hour in range(24)]
    home = homes(start_timeperiod=hours[0], context="tests.acceptance.deployments.misbehaving")
    home.launch("supervisor", "start", code=None)  # its exit code may report a process that died
    assert_fails_alone(home, "Misbehaving", hours, misbehaving.defects(hours[0]))
    assert_fails_alone(home, "Dying", hours[:1], {hours[0]: misbehaving.Dying})
    inside.wait_for(home, "Dying", hours[-1])
    restarts = {
        seen["name"]: seen["restarts"] for seen in home.ask("supervisor", "status")["processes"]
    }
    assert restarts == {"Scheduler": 0, "Misbehaving": 0, "Dying": 2}
    home.check_journal()


def assert_fails_alone(home, process, hours, defects):
    """Only the hours that have a defect fail."""
    for hour in hours:
        ended = inside.wait_for(home, process, hour, code=int(hour in defects))
        if hour in defects:
            assert (ended["state"], ended["failed"]) == ("failed", 1), defects[hour]
            (leaf,) = ended["leaves"]
            assert defects[hour].reason in leaf["text"], defects[hour]
    with home.store() as store:
        units = store.units.of_jobs(process, hours[0], hours[-1])
        rows = list(store.documents.read(process.lower(), hours[0], hours[-1] + "~"))
    bad = {unit.timeperiod: (unit.state, unit.failures) for unit in units if unit.failures}
    assert bad == dict.fromkeys(defects, (UnitState.CANCELED, 2))
    assert [row["timeperiod"] for row in rows] == [hour for hour in hours if hour not in defects]


# Programs of command workers


def programs(home):
    """The pids of programs that workers have started."""
    return set(home.slotted()) - set(home.leaders().values())


def a_stubborn_program(home, hour, attempt=1):
    """The unit whose program runs, once its child and grandchild have started."""
    unit = home.until_unit("StubbornHourly", UnitState.IN_PROGRESS, hour, attempt)
    home.until(lambda _: len(programs(home)) == 4)  # with the grandchild's own `sleep`
    return unit


def test_a_program_and_its_children_end_with_its_unit_and_with_its_worker(home):
    inside.run(home, "process", "on", "StubbornHourly")
    unit = a_stubborn_program(home, EARLY)
    before = programs(home)
    inside.run(home, "process", "off", "StubbornHourly")
    planned = inside.ask(home, "unit", "cancel", unit.id, "--dry-run")
    assert (planned["before"], planned["after"]) == ("in_progress", "canceled")
    assert programs(home) == before

    home.launch("unit", "cancel", unit.id, "--reason", "a test")

    home.until(lambda _: not programs(home), limit=20)
    ended = inside.wait_for(home, "StubbornHourly", EARLY, code=1)
    assert ended["state"] == "failed"
    assert "a test" in ended["leaves"][0]["text"]
    inside.run(home, "unit", "cancel", unit.id, code=4)
    # `max_active` is 1: the next unit waits until this one is skipped.
    inside.run(home, "timetable", "skip", "StubbornHourly", EARLY)
    inside.run(home, "process", "on", "StubbornHourly")
    later = a_stubborn_program(home, LATE)
    assert pid_of(unit) in home.leaders().values()  # this member of the pool is free for others
    before = programs(home)

    kill(pid_of(later))

    again = a_stubborn_program(home, LATE, attempt=2)
    assert (again.id, again.failures) == (later.id, 1)
    assert not programs(home) & before
    home.check_journal()

    home.stop()  # the unit is given back without another failure
    with home.store() as store:
        (given_back,) = store.units.of_jobs("StubbornHourly", LATE, LATE)
    assert (given_back.state, given_back.attempt, given_back.failures) == (
        UnitState.REQUESTED, 3, 1,
    )  # fmt: skip
    assert home.marked() == {}
