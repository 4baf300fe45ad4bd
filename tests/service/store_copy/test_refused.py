"""Copies of stores that are refused."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import apsw
import orjson
import pytest

from synergy.cli import exits
from synergy.commands import store_usage
from synergy.commands.store_copy_state import State
from synergy.commands.store_usage import refuse_while_in_use
from synergy.config.stores import place
from synergy.errors import Refused
from synergy.model.box import ObservedProcess
from synergy.runtime import identity
from synergy.runtime.masking import mask
from synergy.storage.mongodb import MongoStore
from synergy.storage.protocol import Store
from synergy.storage.sqlite import SqliteStore
from tests.records import COPY, everything
from tests.service.commands import BOX, NOW, Commands
from tests.service.scheduler_harness import SchedulerHarness
from tests.service.store_copy.kit import ELSEWHERE, HOUR, SOURCE, copy, refused


def test_a_store_is_not_copied_into_itself(
    commands: Commands, ran: SchedulerHarness, mongodb_url: str, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(commands.home)
    same = f"sqlite:///{tmp_path}/link/synergy.db"
    assert "into itself" in refused(commands, SOURCE, same)
    assert "into itself" in refused(commands, mongodb_url, f"{mongodb_url}?appName=other")


@pytest.mark.parametrize(
    ("url", "at"),
    [
        ("mongodb://me:p@B,a:1/db?tls=true", "mongodb://a:1,b:27017/db"),
        ("mongodb://[::1]/db", "mongodb://[::1]:27017/db"),
        ("mongodb+srv://me:p@a.example/db", "mongodb+srv://a.example/db"),
    ],
)
def test_places_are_shown_without_secrets(url: str, at: str) -> None:
    assert place(url) == at


def test_a_target_that_holds_anything_is_refused(
    commands: Commands, ran: SchedulerHarness, mongodb_url: str, mongo: MongoStore
) -> None:
    mongo.messages.put("q", [b"1"])
    assert "is not empty" in refused(commands, SOURCE, mongodb_url)
    assert everything(mongo)["facts"] == []


def test_an_unfinished_copy_of_another_store_is_refused_as_target(
    commands: Commands, ran: SchedulerHarness, file: Path
) -> None:
    with closing(SqliteStore.open(file)) as target:
        state = State("mongodb://elsewhere/db", "facts", [""])
        target.facts.set(COPY, orjson.dumps(state).decode())
    said = refused(commands, SOURCE, f"sqlite:///{file}")
    assert "unfinished copy of mongodb://elsewhere/db" in said


def test_an_unfinished_copy_is_refused_as_source(
    commands: Commands, ran: SchedulerHarness, file: Path
) -> None:
    state = State("mongodb://elsewhere/db", "facts", [""])
    ran.store.facts.set(COPY, orjson.dumps(state).decode())
    assert "unfinished copy of mongodb://elsewhere" in refused(
        commands, SOURCE, f"sqlite:///{file}"
    )
    assert not file.exists()


def test_a_missing_source_is_not_created(commands: Commands, file: Path) -> None:
    said = refused(commands, SOURCE, f"sqlite:///{file}", exits.UNREACHABLE)
    assert "there is no store at" in said
    assert not commands.home.exists()
    assert not file.exists()


def test_a_newer_target_is_refused(commands: Commands, ran: SchedulerHarness, file: Path) -> None:
    SqliteStore.open(file).close()
    with closing(apsw.Connection(str(file))) as connection:
        connection.pragma("user_version", 99)
    said = refused(commands, SOURCE, f"sqlite:///{file}", exits.UNREACHABLE)
    assert "newer Synergy" in said


def test_a_newer_database_is_refused(
    commands: Commands, ran: SchedulerHarness, mongodb_url: str, mongo: MongoStore
) -> None:
    mongo._database["counters"].update_one({"_id": "layout"}, {"$set": {"n": 99}})
    said = refused(commands, SOURCE, mongodb_url, exits.UNREACHABLE)
    assert "newer Synergy" in said


def test_invalid_store_urls_are_wrong_usage(commands: Commands) -> None:
    said = refused(commands, SOURCE, "mongodb://me:secret@h/a/b", exits.USAGE)
    assert "--to: that is no name of a database" in said
    assert "secret" not in said
    said = refused(commands, "sqlite:///x/", SOURCE, exits.USAGE)
    assert "expected sqlite:///FILE" in said


def test_secrets_are_never_shown(
    commands: Commands, ran: SchedulerHarness, mongodb_url: str
) -> None:
    with_user = mongodb_url.replace("mongodb://", "mongodb://me:secret@")
    if "@" in mongodb_url:
        pytest.skip("the server knows users")
    for argv in (("--dry-run",), (), ("--json",), ("stray", with_user)):
        commands.run("store", "copy", "--from", SOURCE, "--to", with_user, *argv)
        assert "secret" not in commands.text


def test_a_url_is_read_from_a_file(
    commands: Commands, ran: SchedulerHarness, file: Path, tmp_path: Path
) -> None:
    (tmp_path / "url").write_text(f"sqlite:///{file}\n")
    assert commands.run("store", "copy", "--from", SOURCE, "--to", f"@{tmp_path}/url") == 0
    assert file.exists()


def test_a_file_without_a_url_is_wrong_usage(commands: Commands, tmp_path: Path) -> None:
    said = refused(commands, f"@{tmp_path}/none", SOURCE, exits.USAGE)
    assert f"there is no file {tmp_path}/none" in said


def test_a_url_is_asked_for_without_showing_it(
    commands: Commands, ran: SchedulerHarness, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "no terminal to ask for a URL on: use --to @FILE" in refused(commands, SOURCE, "@")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("getpass.getpass", lambda prompt: f" sqlite:///{file} ")
    assert commands.run("store", "copy", "--from", SOURCE, "--to", "@") == 0
    assert file.exists()


def test_a_password_among_the_arguments_is_a_warning(commands: Commands, tmp_path: Path) -> None:
    url = "mongodb://me:canary-canary@127.0.0.1:1/db?serverSelectionTimeoutMS=1"
    warning = "other users of this machine see the password of --from: use --from @FILE"
    assert warning in refused(commands, url, SOURCE, exits.UNREACHABLE)
    assert mask("canary-canary") == "***"  # also in what a driver says
    (tmp_path / "url").write_text(url)
    assert warning not in refused(commands, f"@{tmp_path}/url", SOURCE, exits.UNREACHABLE)
    assert "canary" not in commands.text


def test_a_source_that_a_scheduler_works_with_is_refused(
    commands: Commands, ran: SchedulerHarness, file: Path
) -> None:
    ran.store.leases.take(None, "scheduler/tree/other", str(identity.incarnation()))
    said = refused(commands, SOURCE, f"sqlite:///{file}")
    assert f"scheduler/tree/other is held by pid {os.getpid()}" in said
    assert not file.exists()


def test_a_source_whose_scheduler_was_killed_is_copied(
    commands: Commands, ran: SchedulerHarness, file: Path
) -> None:
    dead = replace(identity.incarnation(), started=1)
    ran.store.leases.take(None, "scheduler/tree/other", str(dead))
    assert copy(commands, SOURCE, f"sqlite:///{file}")["equal"]


def test_a_source_with_a_process_that_runs_is_refused(
    commands: Commands, ran: SchedulerHarness, file: Path
) -> None:
    me = identity.incarnation()
    seen = ObservedProcess(BOX, HOUR, 1, "running", pid=me.pid, started=me.started, boot_id=me.boot)
    ran.store.boxes.report(BOX, [seen], NOW)
    said = refused(commands, SOURCE, f"sqlite:///{file}")
    assert f"process {HOUR} (pid {me.pid})" in said
    gone = replace(seen, started=1)
    ran.store.boxes.report(BOX, [gone], NOW)
    assert copy(commands, SOURCE, f"sqlite:///{file}")["equal"]


def _looks(store: Store, act: Callable[[], object] = lambda: None) -> int:
    """The number of checks until a store counts as free; `act` is called after the third."""
    looks = []

    def pause(_seconds: float) -> None:
        if len(looks) == 3:
            act()

    refuse_while_in_use(store, "the store", lambda *look: looks.append(look), pause)
    return len(looks)


def test_a_lease_held_on_another_host_is_watched_for_renewal(ran: SchedulerHarness) -> None:
    lease = ran.store.leases.take(None, "box/far-away", ELSEWHERE)
    assert lease is not None
    assert _looks(ran.store) == store_usage.LOOKS
    with pytest.raises(Refused, match="box/far-away is held by pid 12 on host far-away"):
        _looks(ran.store, lambda: ran.store.leases.renew(lease))
    ran.store.leases.release(lease)
    assert _looks(ran.store) == 0


def test_a_target_that_another_copy_holds_is_refused(
    commands: Commands, ran: SchedulerHarness, file: Path
) -> None:
    with closing(SqliteStore.open(file)) as target:
        target.leases.take(None, COPY, str(identity.incarnation()))
        assert f"held by pid {os.getpid()}" in refused(commands, SOURCE, f"sqlite:///{file}")
