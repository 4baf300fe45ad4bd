"""The families process, box, unit, gc, queue and store, on the illustration deployment."""

from __future__ import annotations

import io
import subprocess
import sys
import threading

import pytest

from synergy import compose
from synergy.messaging.message import EventsMessage
from synergy.model.job import JobState
from synergy.model.unit_of_work import UnitState
from synergy.storage.protocol import LogLine
from synergy.storage.sqlite import SqliteStore
from synergy.supervisor import lock
from synergy.supervisor.lock import HomeLock
from synergy.supervisor.proctable import MARKER
from tests.service.commands import BOX
from tests.service.scheduler_harness import copy_rows

HOUR, DAY, SESSIONS = "SiteHourlyAggregator", "SiteDailyAggregator", "SingleSessionWorker"
PERIOD = "2015051801"


@pytest.fixture
def requested(deployed):
    """A unit that waits for a worker."""
    deployed.write("single_session", PERIOD, 5)
    deployed.schedule()
    (unit,) = deployed.units(HOUR, PERIOD)
    return unit


def nobody_answers(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))


def answer(monkeypatch, text):
    typed = io.StringIO(text)
    typed.isatty = lambda: True
    monkeypatch.setattr(sys, "stdin", typed)


@pytest.mark.parametrize(
    "argv",
    [
        ["process", "list"], ["process", "show", DAY], ["process", "on", DAY],
        ["process", "off", DAY], ["process", "trigger", DAY], ["process", "start", DAY],
        ["process", "stop", DAY], ["process", "interval", DAY, "every 60"], ["box", "list"],
        ["box", "sync"], ["box", "start", DAY], ["unit", "list"], ["unit", "show", "x"],
        ["unit", "log", "x"], ["unit", "cancel", "x"], ["unit", "retry", "x"], ["gc", "run"],
        ["gc", "status"], ["queue", "list"], ["queue", "dead"], ["queue", "replay"],
        ["queue", "purge", DAY], ["store", "status"], ["store", "backup", "/x.db"], ["shell"],
    ],
)  # fmt: skip
def test_before_the_first_start_nothing_is_made(commands, argv):
    assert commands.run(*argv) in (4, 5)
    assert "supervisor start" in commands.err or "/x.db" in commands.err
    assert not commands.home.exists()


@pytest.mark.parametrize(
    "argv",
    [
        ["process", "show", "SiteDailyAgregator"], ["process", "on", "NoSuch"],
        ["process", "start", "NoSuch"], ["process", "start", "NoSuch", "--console"],
        ["process", "trigger", "Scheduler"], ["process", "interval", "Scheduler", "every 60"],
        ["box", "start", "NoSuch"], ["box", "start", DAY, "--box", "nowhere"],
        ["box", "stop", DAY], ["unit", "show", "0" * 24], ["unit", "log", "0" * 24],
        ["unit", "cancel", "0" * 24], ["unit", "retry", "0" * 24],
        ["unit", "list", "--process", "NoSuch"], ["gc", "run", "--process", "NoSuch"],
        ["queue", "purge", "NoSuch"], ["queue", "replay", "77"],
    ],
)  # fmt: skip
def test_what_there_is_not_is_said_and_nothing_changes(commands, deployed, argv):
    deployed.schedule()
    before = deployed.store.journal.last_seq()
    assert commands.run(*argv) == 3, commands.text
    assert "no such" in commands.err
    assert deployed.store.journal.last_seq() == before


@pytest.mark.parametrize(
    "argv",
    [
        ["process"], ["process", "show"], ["process", "interval", DAY, "every 0"],
        ["process", "interval", DAY, "every 1h"], ["unit", "list", "--state", "lost"],
        ["unit", "list", "--limit", "0"], ["queue", "replay", "x"], ["queue", "purge"],
        ["queue", "purge", DAY, "--dead"], ["gc"], ["store", "backup"],
        ["process", "start", SESSIONS, "--console", "--instance", "3"],
    ],
)  # fmt: skip
def test_wrong_usage(commands, deployed, argv):
    deployed.schedule()
    assert commands.run(*argv) == 2
    assert commands.err


# Processes


def test_a_process_is_switched_off_and_on_once_each(commands, deployed):
    off = ("process", "off", DAY, "--reason", "moving")
    assert commands.json(*off, "--dry-run")["changed"] is False
    assert commands.json("process", "show", DAY)["is_on"] is True
    output = commands.json(*off)
    assert (output["process"], output["is_on"], output["changed"]) == (DAY, False, True)
    assert commands.json("process", "show", DAY)["is_on"] is False
    assert "already off" in commands.ok(*off)
    entries = deployed.store.journal.find(DAY)
    assert [(e.event, e.why) for e in entries] == [("process.off", "moving")]
    commands.ok("process", "on", DAY)
    assert commands.json("process", "show", DAY)["is_on"] is True


def test_a_daemon_is_switched_on_over_its_declaration(commands, deployed):
    assert commands.json("process", "show", "EventStreamGenerator")["is_on"] is False
    commands.ok("process", "on", "EventStreamGenerator")
    assert commands.json("process", "show", "EventStreamGenerator")["is_on"] is True


def test_an_interval_is_shown_in_its_canonical_form(commands, deployed):
    output = commands.json("process", "interval", DAY, "at 7:30, 3-05:00", "--dry-run")
    assert (output["trigger"], output["before"], output["changed"]) == (
        "at 07:30, 3-05:00", "every 60", False,
    )  # fmt: skip
    commands.ok("process", "interval", DAY, "at 7:30, 3-05:00")
    shown = {p["name"]: p for p in commands.json("process", "list")["processes"]}[DAY]
    assert (shown["trigger"], shown["next_due"]) == ("at 07:30, 3-05:00", "2015-05-21T05:00:00Z")


def test_a_trigger_without_a_scheduler_says_so(commands, deployed):
    commands.ok("process", "trigger", DAY)
    assert "no scheduler leads the tree" in commands.err
    assert deployed.store.journal.find(DAY)[0].event == "process.triggered"


def test_start_and_stop_need_a_supervisor_and_otherwise_change_nothing(commands, deployed):
    commands.ok("box", "sync")
    for verb in ("start", "stop"):
        assert commands.run("process", verb, DAY) == 5
        assert f"launch.py box {verb} {DAY}" in commands.err
    assert all(a.is_on for a in deployed.store.boxes.assignments(BOX))
    held = HomeLock(commands.home)
    assert held.acquire()
    try:
        assert commands.json("process", "stop", DAY)["changed"] is True
    finally:
        held.release()
    assert {a.process for a in deployed.store.boxes.assignments(BOX) if not a.is_on} == {DAY}


def test_the_text_of_a_process_names_what_it_is_declared_with(commands, deployed):
    text = commands.ok("process", "show", DAY)
    for word in ("daily", "site_hourly", "site_daily", "continuous", "every 60"):
        assert word in text


# Boxes


def test_a_box_is_synced_without_switching_anything_back_on(commands, deployed):
    dry = commands.json("box", "sync", "--dry-run")
    assert DAY in dry["added"]
    assert deployed.store.boxes.assignments() == []
    assert commands.json("box", "sync")["added"] == dry["added"]
    assert commands.json("box", "stop", DAY)["changed"] is True
    assert commands.json("box", "sync")["added"] == []
    (box,) = commands.json("box", "list")["boxes"]
    is_on = {p["process"]: p["is_on"] for p in box["processes"]}
    assert (box["id"], is_on.pop(DAY), set(is_on.values())) == (BOX, False, {True})
    assert "already off" in commands.ok("box", "stop", DAY)
    assert DAY in commands.ok("box", "list")
    assert commands.ok("box", "id") == f"{BOX}\n"


def test_a_process_that_is_off_everywhere_is_told_when_a_box_starts_it(commands, deployed):
    commands.ok("box", "sync")
    commands.ok("box", "stop", "EventStreamGenerator")
    commands.ok("box", "start", "EventStreamGenerator")
    assert "launch.py process on EventStreamGenerator" in commands.err


# Units


def test_units_are_listed_shown_and_their_log_is_told(commands, deployed, requested):
    line = LogLine(deployed.clock.now(), 1, "info", "half way there")
    deployed.store.logs.append(requested.id, [line])
    page = commands.json("unit", "list", "--process", HOUR, "--state", "requested")
    assert [item["id"] for item in page["items"]] == [requested.id]
    assert page["next"] is None
    shown = commands.json("unit", "show", requested.id)
    assert (shown["state"], shown["timeperiod"], shown["attempt"]) == ("requested", PERIOD, 1)
    assert commands.json("unit", "log", requested.id)["lines"][0]["text"] == "half way there"
    assert "half way there" in commands.ok("unit", "log", requested.id)
    assert requested.id in commands.ok("unit", "list")


def test_what_a_worker_wrote_is_shown_and_not_obeyed(commands, deployed, requested):
    line = LogLine(deployed.clock.now(), 1, "info", "first\n\tsecond\r\x1b[31m")
    deployed.store.logs.append(requested.id, [line])
    shown = commands.ok("unit", "log", requested.id)
    assert shown.endswith("info: first\n\tsecond" + r"\r\x1b[31m" + "\n")
    assert commands.json("unit", "log", requested.id)["lines"][0]["text"] == line.text


def test_why_a_unit_failed_is_told_on_one_line_that_no_terminal_obeys(
    commands, deployed, requested
):
    def work(task):
        raise ValueError("no disk\n\x1b[2J\x1b]0;mine\x07")

    assert deployed.round(HOUR, work)
    for argv in (
        ["unit", "list"],
        ["unit", "show", requested.id],
        ["timetable", "why", HOUR, PERIOD],
    ):
        shown = commands.ok(*argv)
        assert r"ValueError: no disk \x1b[2J\x1b]0;mine\x07" in shown, argv
        assert "\x1b" not in shown
    output = commands.json("unit", "show", requested.id)["reason"]
    assert output == "ValueError: no disk\n\x1b[2J\x1b]0;mine\x07"


def test_pages_of_units_follow_one_another(commands, deployed):
    for hour in range(4):
        deployed.write("single_session", f"20150517{hour:02}", 1)
    deployed.schedule()
    first = commands.json("unit", "list", "--limit", "3")
    rest = commands.json("unit", "list", "--limit", "3", "--cursor", first["next"])
    assert len({item["id"] for item in first["items"] + rest["items"]}) == 4


def test_a_canceled_unit_has_its_job_failed(commands, deployed, requested):
    dry = commands.json("unit", "cancel", requested.id, "--dry-run")
    assert (dry["before"], dry["after"]) == ("requested", "canceled")
    assert deployed.unit_states(HOUR, PERIOD) == [UnitState.REQUESTED]
    commands.ok("unit", "cancel", requested.id, "--reason", "useless")
    deployed.schedule()
    assert deployed.state(HOUR, PERIOD) is JobState.FAILED
    for verb in ("cancel", "retry"):
        assert commands.run("unit", verb, requested.id) == 4
        assert commands.run("unit", verb, requested.id, "--dry-run") == 4


def test_a_failed_unit_is_retried_at_once(commands, deployed, requested):
    def fail_once(task):
        if task.unit.attempt == 1:
            raise ValueError("disk on fire")
        return copy_rows(task)

    deployed.work(HOUR, work=fail_once)
    assert "disk on fire" in commands.ok("unit", "list", "--state", "invalid")
    commands.ok("unit", "retry", requested.id)
    deployed.settle()
    assert deployed.state(HOUR, PERIOD) is JobState.PROCESSED


# The collector


def test_a_run_of_the_collector_needs_a_scheduler(commands, deployed):
    assert commands.run("gc", "run") == 5
    assert "supervisor start" in commands.err
    assert "no scheduler" in commands.ok("gc", "status")


def test_a_run_of_the_collector_is_waited_for(commands, deployed, requested):
    deployed.bus.purge(HOUR)
    (planned,) = commands.json("gc", "run", "--dry-run")["planned"]
    assert (planned["unit"], planned["verdict"]) == (requested.id, "publish")
    done = threading.Event()

    def keep_scheduling():
        while not done.wait(0.01):
            deployed.scheduler.run_once()

    scheduling = threading.Thread(target=keep_scheduling)
    scheduling.start()
    try:
        output = commands.json("gc", "run", "--flush", "--reason", "now")
    finally:
        done.set()
        scheduling.join()
    assert output["result"] == "publish 1"
    assert deployed.bus.depths() == {HOUR: 1}
    status = commands.json("gc", "status")
    assert (status["is_led"], status["units"]) == (True, {HOUR: {"requested": 1}})
    assert status["runs"][0]["why"] == "publish 1"
    assert "publish 1" in commands.ok("gc", "status")


# Queues


def test_queues_are_listed_and_purged_only_when_one_is_sure(commands, deployed, monkeypatch):
    with deployed.store.batch() as batch:
        deployed.bus.publish(SESSIONS, [EventsMessage([{}])], batch)
    queues = {q["name"]: q["waiting"] for q in commands.json("queue", "list")["queues"]}
    assert queues[SESSIONS] == 1
    purge = ("queue", "purge", SESSIONS)
    assert commands.json(*purge, "--dry-run")["dropped"] == 1
    nobody_answers(monkeypatch)
    assert commands.run(*purge) == 4
    assert "--yes" in commands.err
    answer(monkeypatch, "no\n")
    assert commands.run(*purge) == 4
    assert deployed.bus.depths() == {SESSIONS: 1}
    answer(monkeypatch, f"{SESSIONS}\n")
    assert commands.run(*purge) == 0
    assert deployed.bus.depths() == {}


def test_dead_messages_are_shown_and_replayed(commands, deployed):
    deployed.store.messages.bury(SESSIONS, b"\xff\x00 odd", "not JSON", deployed.clock.now())
    (dead,) = commands.json("queue", "dead")["dead"]
    assert (dead["queue"], dead["reason"]) == (SESSIONS, "not JSON")
    assert "not JSON" in commands.ok("queue", "dead")
    assert commands.json("queue", "list")["dead"] == 1
    assert commands.json("queue", "replay", "--dry-run")["replayed"] == {SESSIONS: 1}
    assert commands.json("queue", "replay", str(dead["seq"]))["replayed"] == {SESSIONS: 1}
    assert deployed.bus.depths() == {SESSIONS: 1}
    assert "nothing in quarantine" in commands.ok("queue", "replay")
    deployed.store.messages.bury(SESSIONS, b"x", "odd", deployed.clock.now())
    assert commands.json("queue", "purge", "--dead", "--yes")["dropped"] == 1


# The store


def test_a_store_is_made_once(commands):
    assert commands.json("store", "init", "--dry-run")["made"] is True
    assert not commands.home.exists()
    assert commands.json("store", "init")["made"] is True
    assert commands.json("store", "init")["made"] is False
    status = commands.json("store", "status")
    assert (status["engine"], status["location"]) == ("sqlite", str(commands.home / "synergy.db"))
    assert commands.run("timetable", "show") == 4  # there is a store, but no timetable yet


def test_a_store_is_reset_only_when_one_is_sure_and_nothing_runs(commands, monkeypatch):
    system = commands.open_system()
    system.schedule()
    system.store.close()
    nobody_answers(monkeypatch)
    assert commands.run("store", "reset") == 4
    answer(monkeypatch, "yes\n")
    assert commands.run("store", "reset") == 4
    assert commands.json("store", "reset", "--dry-run")["reset"] is True
    held = HomeLock(commands.home)
    assert held.acquire()
    try:
        assert commands.run("store", "reset", "--yes") == 4
        assert "supervisor stop" in commands.err
    finally:
        held.release()
    assert commands.json("store", "status")["rows"]["journal"] > 0
    answer(monkeypatch, "reset\n")
    assert commands.run("store", "reset") == 0
    assert set(commands.json("store", "status")["rows"].values()) == {0}
    assert lock.holder(commands.home) is None


def test_a_reset_without_a_store_makes_none(commands):
    assert commands.json("store", "reset", "--yes")["reset"] is False
    assert not commands.home.exists()


def test_a_backup_is_a_store_of_its_own_and_overwrites_nothing(commands, deployed, tmp_path):
    deployed.schedule()
    target = tmp_path / "copy.db"
    assert commands.json("store", "backup", str(target), "--dry-run")["bytes"] is None
    assert not target.exists()
    assert commands.json("store", "backup", str(target))["bytes"] > 0
    copy = SqliteStore.open(target)
    assert copy.journal.last_seq() == deployed.store.journal.last_seq()
    copy.close()
    assert commands.run("store", "backup", str(target)) == 4
    assert commands.run("store", "backup", str(tmp_path / "no" / "copy.db")) == 2


# The shell


def test_the_shell_has_the_deployment_at_hand(commands, deployed, monkeypatch):
    deployed.schedule()
    lines = "print(reads.why('SiteDailyAggregator', '2015051700').state.word)\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
    assert "noop" in commands.ok("shell")


# A process in this terminal


@pytest.mark.parametrize(("ended_well", "code"), [(True, 0), (False, 1)])
def test_a_process_is_run_here(commands, monkeypatch, ended_well, code):
    ran = []

    def run_process(project, name, instance, *, console):
        ran.append((name, instance, console))
        return ended_well

    monkeypatch.setattr(compose, "run_process", run_process)
    monkeypatch.delenv(MARKER, raising=False)
    argv = ("process", "start", SESSIONS, "--console", "--instance", "2")
    assert commands.run(*argv, "--dry-run") == 0
    assert ran == []
    assert commands.run(*argv) == code
    monkeypatch.setenv(MARKER, "x/y/1/z")  # a supervisor keeps its output, so the log is enough
    assert commands.run(*argv) == code
    assert ran == [(SESSIONS, 2, True), (SESSIONS, 2, False)]


def test_running_a_process_imports_no_other_family_of_commands():
    code = (
        "import sys; from synergy.cli.main import _parser;"
        "_parser('process').parse_args(['process', 'start', 'X', '--console']);"
        "import synergy.compose; print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    families = {name for name in loaded if name.startswith("synergy.cli.")}
    assert families == {
        f"synergy.cli.{name}"
        for name in ("main", "exits", "options", "output", "process", "services")
    }
    assert not {
        name
        for name in loaded
        if name.startswith(("synergy.commands", "synergy.queries", "synergy.timetable"))
    }
