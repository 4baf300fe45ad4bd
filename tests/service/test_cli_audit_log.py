"""What commands write into the audit log, and `launch.py audit-log …`."""

from __future__ import annotations

import argparse
import getpass
import io
import sys
from importlib import import_module

import pytest
from argon2 import PasswordHasher

from launch import PROJECT_NOUNS
from synergy.audit_log.files import AuditLog
from synergy.cli import exits
from synergy.cli.main import NOUNS, Parser
from synergy.clock import SystemClock
from synergy.mx.accounts import passwords
from tests.service.commands import HOUR

PASSWORD = "six tall blue herons"
# Verbs that change nothing that a person decides about. `event emit` and `ingest` bring data.
READING = set(
    """
    audit-log head, audit-log list, audit-log verify, bench, box id, box list, check, event emit,
    event list, gc status, ingest, journal list, process list, process show, queue dead, queue list,
    report, rows, schedule list, schedule pending, schedule preview, schedule run, schedule runs,
    schedule show, schedule why, status, store check, store status, supervisor status, test,
    timetable audit, timetable show, timetable wait, timetable why, unit list, unit log, unit show,
    user list
    """.strip()
    .replace("\n    ", " ")
    .split(", ")
)


def all_verbs() -> dict[str, argparse.ArgumentParser]:
    """The parser of every command."""
    found = {}
    for noun, (module, _) in {**NOUNS, **PROJECT_NOUNS}.items():
        nouns = Parser().add_subparsers()
        import_module(module).add(nouns)
        parser = nouns.choices[noun]
        verbs = [a.choices for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
        for name, verb in (verbs[0] if verbs else {"": parser}).items():
            found[f"{noun} {name}".strip()] = verb
    return found


@pytest.fixture
def at(commands):
    """A home with a store."""
    commands.ok("store", "init")
    return commands


@pytest.fixture
def with_users(at, monkeypatch, tmp_path):
    """A home with users, and passwords that are hashed fast."""
    quick = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    monkeypatch.setattr(passwords, "_hasher", quick)
    monkeypatch.setenv("SYNERGY_MX_USERS_FILE", str(tmp_path / "users.json"))
    typed(monkeypatch)
    at.ok("user", "add", "anna", "--role", "admin", "--password-stdin")
    return at


def typed(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(PASSWORD + "\n"))


def entries(commands):
    """The entries, oldest first."""
    return list(AuditLog(commands.home, SystemClock()).newest())[::-1]


def last(commands):
    """Action, object and result of the newest entry."""
    newest = entries(commands)[-1]
    return newest.action, newest.object, newest.result


def test_every_command_is_recorded_or_changes_nothing():
    recorded = {
        name for name, verb in all_verbs().items() if verb.get_default("records") is not None
    }
    assert recorded | READING == set(all_verbs())
    assert not recorded & READING


@pytest.mark.parametrize("name", sorted(set(all_verbs()) - READING))
def test_what_is_recorded_are_arguments_of_the_command(name):
    verb = all_verbs()[name]
    arguments = {action.dest for action in verb._actions}
    assert set(verb.get_default("records")) <= arguments
    assert "password_stdin" not in verb.get_default("records")


def test_a_command_is_recorded_before_it_begins_and_with_its_result(at):
    at.ok("process", "off", HOUR, "--reason", "moved")
    begun, done = entries(at)[-2:]
    assert (begun.action, begun.object) == ("process off", {"name": HOUR})
    assert (begun.result, begun.of) == ("begun", None)
    assert (done.result, done.of) == ("done", begun.seq)
    assert done.who == begun.who == f"os:{getpass.getuser()}"
    assert begun.source.startswith("cli ")


def test_a_refused_command_is_recorded_with_the_reason(at):
    assert at.run("process", "off", "Nobody") == exits.NOT_FOUND
    newest = entries(at)[-1]
    assert newest.result == "refused"
    assert "no such process: Nobody" in newest.detail


def test_an_interrupted_command_has_failed(at, monkeypatch):
    def interrupt(*_args, **_more):
        raise KeyboardInterrupt

    monkeypatch.setattr("synergy.commands.processes.ProcessCommands.switch", interrupt)
    assert at.run("process", "off", HOUR) == exits.INTERRUPTED
    assert last(at) == ("process off", {"name": HOUR}, "failed")


def test_a_dry_run_and_a_look_are_not_recorded(at):
    before = entries(at)
    at.ok("process", "off", HOUR, "--dry-run")
    at.ok("process", "list")
    assert entries(at) == before


def test_changes_of_users_are_recorded_without_their_secrets(with_users, monkeypatch):
    at = with_users
    assert last(at) == ("user add", {"name": "anna", "role": "admin"}, "done")
    secret = at.json("user", "token", "anna", "--scope", "viewer", "--name", "backup")["secret"]
    token = {"name": "anna", "scope": "viewer", "label": "backup"}
    assert last(at) == ("user token", token, "done")
    id_ = at.json("user", "list")["tokens"][0]["id"]
    at.ok("user", "token", "--revoke", id_)
    assert last(at) == ("user token", {"revoke": id_}, "done")
    typed(monkeypatch)
    at.ok("user", "password", "anna", "--password-stdin")
    assert last(at) == ("user password", {"name": "anna"}, "done")
    at.ok("user", "role", "anna", "viewer")
    assert last(at) == ("user role", {"name": "anna", "role": "viewer"}, "done")
    at.ok("user", "remove", "anna")
    assert last(at) == ("user remove", {"name": "anna"}, "done")
    text = b"".join(path.read_bytes() for path in (at.home / "audit-log").iterdir())
    assert secret.encode() not in text
    assert PASSWORD.encode() not in text


def test_the_passwords_of_stores_are_masked(at):
    at.run("store", "copy", "--from", "mongodb://me:secret@nowhere/x", "--to", "sqlite:////x.db")
    text = b"".join(path.read_bytes() for path in (at.home / "audit-log").iterdir())
    assert b"mongodb://me:***@nowhere" in text
    assert b"secret" not in text


def test_processes_that_a_supervisor_starts_are_not_recorded(at, monkeypatch):
    monkeypatch.setenv("SYNERGY_RUN", "1")
    before = entries(at)
    at.run("process", "start", "Nobody", "--console")
    assert entries(at) == before
    at.run("process", "off", HOUR)
    assert last(at)[0] == "process off", "a command that a process runs is"


def test_nothing_is_changed_that_cannot_be_recorded(at):
    spoil(at)
    assert at.run("process", "off", HOUR) == exits.UNREACHABLE
    assert "writing the audit log failed" in at.err
    assert at.json("process", "show", HOUR)["is_on"] is True


@pytest.mark.parametrize(
    "argv",
    [
        ("process", "off", HOUR),
        ("user", "remove", "anna"),
        ("gc", "run"),
        ("store", "backup", "saved"),
        ("supervisor", "stop"),
        ("timetable", "reprocess", HOUR, "2015052012"),
        ("schedule", "disable", "report"),
    ],
    ids=" ".join,
)
def test_without_sound_settings_which_name_the_log_nothing_is_changed(at, monkeypatch, argv):
    before = entries(at)
    monkeypatch.setenv("SYNERGY_MX_PORT", "http")
    assert at.run(*argv) == exits.CONFIGURATION
    assert "SYNERGY_MX_PORT: 'http': expected a port" in at.err
    assert entries(at) == before


def test_stopping_is_always_possible(at):
    spoil(at)
    assert "nothing to stop" in at.ok("supervisor", "stop")
    assert "not recorded: writing the audit log failed" in at.err


def spoil(at):
    """Makes the audit log impossible to write."""
    for path in (at.home / "audit-log").iterdir():
        path.unlink()
    (at.home / "audit-log").rmdir()
    (at.home / "audit-log").touch()


def test_without_a_home_the_first_user_is_added_with_a_warning(commands, monkeypatch, tmp_path):
    monkeypatch.setenv("SYNERGY_MX_USERS_FILE", str(tmp_path / "users.json"))
    typed(monkeypatch)
    commands.ok("user", "add", "anna", "--role", "admin", "--password-stdin")
    assert "not recorded in the audit log: there is no home yet" in commands.err
    assert not commands.home.exists()


def test_the_first_start_is_recorded(commands):
    commands.ok("store", "init")
    assert [(entry.seq, entry.action, entry.result) for entry in entries(commands)] == [
        (1, "store init", "done")
    ]


def test_entries_are_listed_newest_first(with_users):
    with_users.ok("process", "off", HOUR)
    listed = with_users.json("audit-log", "list", "--limit", "2")["entries"]
    assert [entry["action"] for entry in listed] == ["process off"] * 2
    assert [entry["result"] for entry in listed] == ["done", "begun"]
    assert "process off" in with_users.ok("audit-log", "list")
    assert with_users.json("audit-log", "list", "--who", "nobody-else")["entries"] == []
    older = with_users.json("audit-log", "list", "--before", "2")["entries"]
    assert [entry["seq"] for entry in older] == [1]


def test_a_log_is_verified_against_a_kept_head(at):
    number, head = at.ok("audit-log", "head").split()
    at.ok("process", "off", HOUR)
    assert "the chain is whole" in at.ok("audit-log", "verify", "--head", head)
    newest = at.json("audit-log", "head")
    assert newest["entry"] == int(number) + 2
    (path,) = (at.home / "audit-log").glob("*.jsonl")
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    at.ok("audit-log", "verify")
    assert at.run("audit-log", "verify", "--head", newest["hash"]) == exits.FAILED
    assert "no entry has the hash" in at.out


def test_a_changed_entry_is_reported(at, tmp_path):
    at.ok("process", "off", HOUR)
    (path,) = (at.home / "audit-log").glob("*.jsonl")
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(path.read_bytes().replace(b"process off", b"process on!", 1))
    found = at.json("audit-log", "verify", str(copy), code=exits.FAILED)
    assert found["faults"] == ["copy.jsonl:2: the line was changed, or inserted"]
    assert "the chain is broken" in (at.run("audit-log", "verify", str(copy)), at.out)[1]
    assert at.json("audit-log", "verify")["faults"] == []


def test_without_a_log_there_is_nothing_to_show(commands):
    assert commands.ok("audit-log", "head") == "no entries\n"
    assert commands.json("audit-log", "list") == {"entries": []}
    assert "no entries" in commands.ok("audit-log", "verify")
    assert commands.run("audit-log", "verify", "--head", "1" * 64) == exits.FAILED
    assert not commands.home.exists()
