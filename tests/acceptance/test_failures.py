"""What the system does when the machine, the store or a message misbehaves."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from synergy.clock import SystemClock
from synergy.insight.leaders import lease_of, part_of_tree
from synergy.messaging.message import EventsMessage, encode
from synergy.model.unit_of_work import UnitState
from synergy.runtime import identity
from synergy.runtime.leadership import VALID
from tests.acceptance.deployments import gates, misbehaving
from tests.acceptance.kit import kill, pause, resume, until
from tests.acceptance.rooms import a_room

YESTERDAY = f"{datetime.now(UTC) - timedelta(days=1):%Y%m%d}"
DAY, START, HOUR, NEXT = (YESTERDAY + hour for hour in ("00", "20", "21", "22"))


@pytest.fixture
def home(homes, tmp_path):
    return homes(
        start_timeperiod=START,
        context="tests.acceptance.deployments.copies",
        test_gates=str(tmp_path / "gates"),
    )


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


def test_a_worker_that_is_paused_too_long_loses_its_unit_and_its_result(home, tmp_path):
    gate = gates.shut(tmp_path / "gates", "CopyHourly", HOUR)
    home.launch("store", "init")
    write(home, START, 5)
    write(home, HOUR, 1)
    home.start()
    home.wait_for("CopyHourly", START)
    held = home.until_unit("CopyHourly", UnitState.IN_PROGRESS, HOUR)
    pause(home, pid_of(held))
    gates.let_through(gate)

    def is_handed_out_again():
        home.ask("gc", "run")
        return home.ask("unit", "show", held.id)["attempt"] == 2

    until(is_handed_out_again)
    done = home.until_unit("CopyHourly", UnitState.PROCESSED, HOUR)
    assert (done.id, done.attempt, done.failures) == (held.id, 2, 1)
    assert pid_of(done) != pid_of(held)
    assert rows(home, "hours")[HOUR]["attempt"] == 2

    # The paused one goes on. That he has taken another unit tells that he is through with this.
    pause(home, pid_of(done))
    resume(pid_of(held))
    home.launch("timetable", "reprocess", "CopyHourly", START)
    later = home.until(
        lambda _: [row for row in rows(home, "hours").values() if row["generation"] == 2]
    )
    assert [row["timeperiod"] for row in later] == [START]
    last = home.until_unit("CopyHourly", UnitState.PROCESSED, START)
    assert (last.generation, pid_of(last)) == (2, pid_of(held))
    resume(pid_of(done))

    assert rows(home, "hours")[HOUR]["attempt"] == 2
    assert home.ask("unit", "show", held.id)["attempt"] == 2
    home.story()


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
    b'{"v": 1, "type": "unit", "unit": "x", "attempt": 1}',
)


def test_messages_that_make_no_sense_are_kept_aside_and_work_goes_on(home):
    home.launch("store", "init")
    units = (*GARBAGE, encode(EventsMessage([{"site": "s"}])))
    events = (*GARBAGE, *NO_EVENTS)
    with home.store() as store, store.batch():
        store.messages.put("CopyHourly", units)
        store.messages.put("SingleSessionWorker", events)
    write(home, HOUR, 7)
    home.start()
    home.wait_for("CopyHourly", HOUR)
    home.until(lambda store: not store.messages.depths())

    assert values(home, "hours") == {HOUR: 7}
    with home.store() as store:
        buried = [(message.queue, message.body) for message in store.messages.buried()]
    assert sorted(buried) == sorted(
        [("CopyHourly", body) for body in units]
        + [("SingleSessionWorker", body) for body in events]
    )
    assert all(message["reason"] for message in home.ask("queue", "dead")["dead"])
    assert home.ask("queue", "list")["dead"] == len(buried)

    # Sent again they come back; dropped they are gone.
    home.launch("queue", "replay")
    home.until(lambda store: not store.messages.depths())
    assert len(home.ask("queue", "dead")["dead"]) == len(buried)
    home.launch("queue", "purge", "--dead", "--yes")
    assert home.ask("queue", "dead") == {"dead": [], "failed_runs": []}
    assert {seen["restarts"] for seen in home.ask("supervisor", "status")["processes"]} == {0}


# A store without room


def lease_in(home):
    with home.store() as store:
        return store.leases.read(lease_of(part_of_tree("copies")))


@pytest.fixture
def room(tmp_path):
    with a_room(tmp_path / "room") as room:
        yield room


def test_without_room_nothing_is_guessed_and_nothing_ends(room, homes, tmp_path):
    home = homes(
        "room/home",
        start_timeperiod=START,
        context="tests.acceptance.deployments.copies",
        test_gates=str(tmp_path / "gates"),
    )
    home.before_commands = room.limit
    log = tmp_path / "access.log"
    log.write_text('192.0.2.1 - - [17/May/2015:10:05:00 +0000] "GET / HTTP/1.1" 200 5\n')
    gate = gates.shut(tmp_path / "gates", "CopyHourly", HOUR)
    home.launch("store", "init")
    write(home, HOUR, 1)
    home.start()
    held = home.until_unit("CopyHourly", UnitState.IN_PROGRESS, HOUR)
    before = home.leaders()

    def everybody():
        return {home.supervisor(), *home.marked()}

    room.fill(everybody)
    gates.let_through(gate)  # whose result cannot be written now
    began, lease = SystemClock().monotonic(), lease_in(home)
    refused = (
        ("timetable", "reprocess", "CopyHourly", START),
        ("process", "off", "CopyHourly"),
        ("ingest", log, "--site", "example.com"),
        ("unit", "cancel", held.id),
    )

    def leader_could_not_renew():
        for argv in refused:
            done = home.launch(*argv, code=5)
            assert room.said in done.err, done
            assert done.out == ""
        assert home.ask("unit", "show", held.id)["state"] == "in_progress"
        assert home.ask("supervisor", "status")["running"] is True
        assert lease_in(home) == lease
        return SystemClock().monotonic() - began > VALID

    until(leader_could_not_renew)
    assert home.leaders() == before

    room.free(everybody)
    home.wait_for("CopyHourly", HOUR)
    home.launch("process", "off", "CopyDaily")
    told = home.ask("ingest", log, "--site", "example.com")
    assert (told["sessions"], told["waiting"]) == (1, 0)
    assert values(home, "hours") == {HOUR: 1}
    assert home.leaders() == before
    done = home.ask("unit", "show", held.id)
    assert (done["state"], done["failures"]) == ("processed", 0)
    home.story()


# Two schedulers


def leads(home):
    """Who leads the tree, by the journal: each term and the pid of its scheduler."""
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
    home.launch("timetable", "reprocess", "CopyHourly", timeperiod)


def test_a_second_scheduler_takes_over_from_a_paused_one(home):
    home.launch("store", "init")
    for hour in (START, HOUR):
        write(home, hour, 1)
    home.start()
    first = home.leaders()["Scheduler/1"]
    home.wait_for("CopyHourly", HOUR)
    second = home.begin("process", "start", "Scheduler", "--console")
    write_and_reprocess(home, START, 5)  # both hear of it
    home.wait_for("CopyDaily", DAY)
    assert values(home, "days") == {DAY: 6}
    assert leads(home) == [(1, first)]

    pause(home, first)
    write_and_reprocess(home, HOUR, 20)
    home.wait_for("CopyDaily", DAY)  # once the lease has run out
    assert values(home, "days") == {DAY: 25}
    assert leads(home) == [(1, first), (2, second.pid)]

    resume(first)  # in the belief that it leads
    write_and_reprocess(home, START, 10)
    home.wait_for("CopyDaily", DAY)
    assert values(home, "days") == {DAY: 30}
    assert leads(home) == [(1, first), (2, second.pid)]
    home.story()

    second.terminate()  # gives the lease up: the first one need not wait for it
    home.until(
        lambda _: leads(home)[2:] == [(3, first)], limit=17
    )  # a lease that is silent lasts 18
    write_and_reprocess(home, HOUR, 100)
    home.wait_for("CopyDaily", DAY)
    assert values(home, "days") == {DAY: 110}
    home.story()


# Work functions


def test_work_that_misbehaves_fails_alone_and_its_reason_is_kept(homes):
    home = homes(start_timeperiod=START, context="tests.acceptance.deployments.misbehaving")
    home.launch("supervisor", "start", code=None)  # one of them may die early enough to be told
    for one in misbehaving.MISBEHAVING:
        home.wait_for(one.__name__, HOUR)
        ended = home.ask("timetable", "wait", one.__name__, START, "--timeout", 60, code=1)
        assert (ended["state"], ended["failed"]) == ("failed", 1)
        (leaf,) = ended["leaves"]
        assert one.reason in leaf["text"], one
        with home.store() as store:
            (bad,) = store.units.of_jobs(one.__name__, START, START)
            assert (bad.state, bad.failures) == (UnitState.CANCELED, 2)
            sink = list(store.documents.read(one.__name__.lower(), START, NEXT))
            assert [row["timeperiod"] for row in sink] == [HOUR]

    restarts = {
        seen["name"]: seen["restarts"] for seen in home.ask("supervisor", "status")["processes"]
    }
    assert restarts.pop("Dies") == 2
    assert set(restarts.values()) == {0}
    home.story()


# Programs of command workers


def programs(home):
    """What runs besides the processes themselves."""
    return set(home.marked()) - set(home.leaders().values())


def a_stubborn_program(home, attempt=1):
    """The unit whose program runs, with its child and its grandchild."""
    home.launch("process", "on", "StubbornHourly")
    unit = home.until_unit("StubbornHourly", UnitState.IN_PROGRESS, START, attempt)
    home.until(lambda _: len(programs(home)) == 4)  # with the grandchild's own `sleep`
    return unit


def test_canceling_a_unit_ends_its_program_with_all_that_it_started(home):
    home.start()
    unit = a_stubborn_program(home)
    before = programs(home)
    home.launch("process", "off", "StubbornHourly")
    planned = home.ask("unit", "cancel", unit.id, "--dry-run")
    assert (planned["before"], planned["after"]) == ("in_progress", "canceled")
    assert programs(home) == before

    home.launch("unit", "cancel", unit.id, "--reason", "a test")

    home.until(lambda _: not programs(home), limit=20)
    ended = home.ask("timetable", "wait", "StubbornHourly", START, "--timeout", 60, code=1)
    assert ended["state"] == "failed"
    assert "a test" in ended["leaves"][0]["text"]
    home.launch("unit", "cancel", unit.id, code=4)
    home.launch("timetable", "skip", "StubbornHourly", START)  # strictly in order: the next waits
    home.launch("process", "on", "StubbornHourly")
    later = home.until_unit("StubbornHourly", UnitState.IN_PROGRESS, HOUR)
    assert pid_of(later) == pid_of(unit)  # the worker is free for the next one
    home.story()

    home.stop()  # which gives the next one back: it has not failed
    with home.store() as store:
        (given_back,) = store.units.of_jobs("StubbornHourly", HOUR, HOUR)
    assert (given_back.state, given_back.attempt, given_back.failures) == (
        UnitState.REQUESTED, 2, 0,
    )  # fmt: skip
    assert home.marked() == {}


def test_a_program_does_not_outlive_its_worker_or_run_twice(home):
    home.start()
    unit = a_stubborn_program(home)
    before = programs(home)

    kill(pid_of(unit))

    again = a_stubborn_program(home, attempt=2)
    assert (again.id, again.failures) == (unit.id, 1)
    assert not programs(home) & before
    home.launch("process", "off", "StubbornHourly")
    for pid in programs(home):  # the program, and its worker will not wait for it when it ends
        kill(pid)
