"""The project on a MongoDB store, by the command line and by the bus."""

from __future__ import annotations

import socket
from contextlib import ExitStack, closing
from datetime import timedelta
from pathlib import Path

import pymongo
import pytest

from synergy.cli import exits
from synergy.clock import SteppedClock
from synergy.messaging.message import UnitMessage
from synergy.messaging.stored import StoredBus
from synergy.storage.mongodb import MongoStore
from tests.servers.mongodb import Server
from tests.service.commands import NOW, Commands

MISSING = "has no index journal.origin (origin up; unique): `launch.py store init` makes it"


@pytest.fixture
def url(commands: Commands, mongodb_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("SYNERGY_STORE", mongodb_url)
    return mongodb_url


@pytest.fixture
def damaged(url: str) -> str:
    """The URL of a store that lacks an index."""
    MongoStore.open(url).close()
    with pymongo.MongoClient(url) as client:
        client.get_default_database()["journal"].drop_index("origin")
    return url


def test_a_store_is_made_once(commands: Commands, url: str) -> None:
    assert commands.run("store", "status") == exits.UNREACHABLE
    assert commands.json("store", "init", "--dry-run")["made"] is True
    made = commands.json("store", "init")
    assert (made["made"], made["store"]) == (True, url)
    assert commands.json("store", "init")["made"] is False
    status = commands.json("store", "status")
    assert (status["engine"], status["location"]) == ("mongodb", url)
    assert commands.run("timetable", "show") == exits.REFUSED  # there is a store, but no timetable


def test_a_standalone_server_warns_of_lost_writes(commands: Commands, url: str) -> None:
    commands.ok("store", "init")
    if "standalone" not in commands.json("store", "status")["version"]:
        pytest.skip("the server is a replica set")
    commands.ok("store", "status")
    assert "no replica set: acknowledged writes can be lost at host loss" in commands.err


@pytest.mark.parametrize(
    "command",
    [("store", "status"), ("timetable", "show"), ("supervisor", "start", "--foreground")],
)
def test_a_missing_index_ends_every_command_and_is_named(
    commands: Commands, damaged: str, command: tuple[str, ...]
) -> None:
    assert commands.run(*command) == exits.CONFIGURATION
    assert MISSING in commands.err


def test_a_dry_run_of_store_init_names_the_missing_index(commands: Commands, damaged: str) -> None:
    would = commands.json("store", "init", "--dry-run")
    assert would["added"] == ["journal.origin (origin up; unique)"]
    assert "would create the index journal.origin" in commands.ok("store", "init", "--dry-run")
    assert commands.run("store", "status") == exits.CONFIGURATION


def test_a_missing_index_is_made_by_store_init(commands: Commands, damaged: str) -> None:
    assert "exists already" in commands.ok("store", "init")
    assert "created the index journal.origin" in commands.out
    commands.ok("store", "status")


def test_a_store_is_reset_when_no_other_box_works_with_it(commands: Commands, url: str) -> None:
    with closing(MongoStore.open(url)) as store:
        store.facts.set("a", "1")
        store.boxes.report("box-2", [], NOW)
        assert commands.run("store", "reset", "--yes") == exits.REFUSED
        assert "box-2" in commands.err
        store.boxes.report("box-2", [], NOW - timedelta(minutes=1))
        assert (
            commands.run("store", "reset") == exits.REFUSED
        )  # there is no terminal to ask for confirmation
        assert store.facts.get("a") == "1"
        commands.ok("store", "reset", "--yes")
        assert store.facts.get("a") is None
    assert commands.json("store", "init")["made"] is False


def test_an_unreachable_server_is_named_without_the_secret(
    commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    monkeypatch.setenv(
        "SYNERGY_STORE", f"mongodb://me:secret@127.0.0.1:{port}/synergy?timeoutMS=500"
    )
    for command in ("store status", "store init", "store reset --yes", "supervisor status"):
        assert commands.run(*command.split()) == exits.UNREACHABLE
        assert f"mongodb://me:***@127.0.0.1:{port}/synergy cannot be reached" in commands.err
        assert "secret" not in commands.text


def test_a_wrong_password_is_refused_without_the_secret(
    commands: Commands, mongodb: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = mongodb.url.rpartition("@")[2].removeprefix("mongodb://").partition("/")[0]
    monkeypatch.setenv("SYNERGY_STORE", f"mongodb://me:secret@{address}/synergy")
    assert commands.run("supervisor", "start", "--foreground") == exits.UNREACHABLE
    assert "refuses the user or the password" in commands.err
    assert "secret" not in commands.text


def test_a_message_of_another_box_is_found_without_a_wakeup(url: str, tmp_path: Path) -> None:
    """Wakeups reach only consumers of the same box; those of other boxes poll."""
    with ExitStack() as stack:
        here, there = (stack.enter_context(closing(MongoStore.open(url))) for _ in "12")
        buses = [
            StoredBus(store, tmp_path / box, SteppedClock(NOW))
            for store, box in ((here, "box-1"), (there, "box-2"))
        ]
        for bus in buses:
            stack.enter_context(closing(bus))
        consumer = stack.enter_context(closing(buses[1].consumer("q")))
        with here.batch() as batch:
            buses[0].publish("q", [UnitMessage("u", 1)], batch)
        assert not consumer.wait(0)
        with there.batch() as batch:
            (delivery,) = consumer.take(10, batch)
        assert delivery.message == UnitMessage("u", 1)
        assert buses[0].depths() == {}
