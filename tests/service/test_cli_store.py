"""`launch.py queue` and `store`."""

from __future__ import annotations

import io
import json
import sys

from synergy.cli import exits
from synergy.messaging.message import EventsMessage
from synergy.storage.sqlite import SqliteStore
from synergy.supervisor import home_lock
from synergy.supervisor.home_lock import HomeLock
from tests.factories import an_entry
from tests.service.commands import SESSIONS


def without_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))


def answer(monkeypatch, text):
    typed = io.StringIO(text)
    typed.isatty = lambda: True
    monkeypatch.setattr(sys, "stdin", typed)


def test_queues_are_listed_and_purged_only_after_confirmation(commands, deployed, monkeypatch):
    with deployed.store.batch() as batch:
        deployed.bus.publish(SESSIONS, [EventsMessage([{}])], batch)
    queues = {q["name"]: q["waiting"] for q in commands.json("queue", "list")["queues"]}
    assert queues[SESSIONS] == 1
    purge = ("queue", "purge", SESSIONS)
    assert commands.json(*purge, "--dry-run")["dropped"] == 1
    without_terminal(monkeypatch)
    assert commands.run(*purge) == 4
    assert "--yes" in commands.err
    answer(monkeypatch, "no\n")
    assert commands.run(*purge) == 4
    assert deployed.bus.depths() == {SESSIONS: 1}
    answer(monkeypatch, f"{SESSIONS}\n")
    assert commands.run(*purge) == 0
    assert deployed.bus.depths() == {}


def test_secrets_in_dead_messages_are_masked(commands, deployed):
    body = b"token=canaryToken " + b"x" * 500 + b" Authorization: Bearer canaryBearer"
    deployed.store.messages.bury(SESSIONS, body, "not JSON", deployed.clock.now())
    (dead,) = commands.json("queue", "dead")["dead"]
    assert dead["body"] == "token=*** " + "x" * 500 + " Authorization: Bearer ***"
    assert "token=***" in commands.ok("queue", "dead")


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


def test_a_store_is_made_once(commands):
    assert commands.json("store", "init", "--dry-run")["made"] is True
    assert not commands.home.exists()
    assert commands.json("store", "init")["made"] is True
    assert commands.json("store", "init")["made"] is False
    status = commands.json("store", "status")
    assert (status["engine"], status["location"]) == ("sqlite", str(commands.home / "synergy.db"))
    assert commands.run("timetable", "show") == 4  # there is a store, but no timetable yet


def test_a_store_is_reset_only_after_confirmation_and_when_nothing_runs(commands, monkeypatch):
    system = commands.open_system()
    system.schedule()
    system.store.close()
    without_terminal(monkeypatch)
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
    assert home_lock.holder(commands.home) is None


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


def test_a_check_of_a_sound_store(commands, deployed):
    deployed.store.journal.append([an_entry()])
    found = commands.json("store", "check")
    assert (found["sound"], found["damage"], found["malformed"]) == (True, [], [])
    assert found["rows"] > 0
    assert "sound: " in commands.ok("store", "check")


def test_a_check_lists_malformed_rows(commands, deployed):
    deployed.store.journal.append([an_entry()])
    with deployed.store._database.writing() as connection:
        connection.execute("UPDATE journal SET at = 1 << 62 WHERE seq = 1")
    assert commands.run("store", "check") == exits.FAILED
    assert "Malformed rows, says what helps" in commands.out
    assert commands.run("store", "check", "--json") == exits.FAILED
    found = json.loads(commands.out)
    (row,) = found["malformed"]
    assert (found["sound"], row["kind"], row["name"]) == (False, "journal", "1")
    assert "field at" in row["problem"]


def test_a_check_tells_damage_and_what_helps(commands, deployed):
    file = deployed.store._database.path
    deployed.store.close()
    file.with_name(f"{file.name}-wal").unlink(missing_ok=True)
    file.write_bytes(b"no SQLite at all" * 1_000)
    assert commands.run("store", "check") == exits.FAILED
    for text in ("is damaged", "restore a backup", "not sound"):
        assert text in commands.out
    assert commands.run("unit", "list") == exits.UNREACHABLE
    assert "launch.py store check" in commands.err
