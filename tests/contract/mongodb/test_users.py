"""A server that demands a user: the right password is accepted, everything else is explained."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pymongo
import pytest
from pymongo import monitoring

from synergy.errors import StorageUnavailable
from synergy.storage.mongodb import MongoStore, database
from tests.contract.mongodb.kit import failure, opened
from tests.contract.test_store_transfer import everything, fill
from tests.servers.mongodb import running_ferretdb

OPTIONS = "authSource=synergy&timeoutMS=20000&connectTimeoutMS=10000"
USER = {
    "FERRETDB_DATABASE": "synergy",
    "FERRETDB_USER": "box",
    "FERRETDB_PASSWORD": "secret-word",
}

ROLE = Path(__file__).resolve().parents[3] / "deploy" / "mongodb-user.js"
FREE = {"hello", "ping", "buildInfo", "getMore", "killCursors", "endSessions"}  # need no right
ACTIONS = {  # the rights that commands of another name need
    **dict.fromkeys(("aggregate", "count", "distinct"), ("find",)),
    "update": ("update", "insert"),
    "findAndModify": ("find", "update", "insert"),
    "delete": ("remove",),
    "createIndexes": ("createIndex",),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a FerretDB that knows one user."""
    with running_ferretdb(tmp_path_factory.mktemp("users"), environ=USER) as server:
        yield server.url.removeprefix("mongodb://").rstrip("/")


def test_the_right_password_is_accepted(place: str) -> None:
    with opened(f"mongodb://box:secret-word@{place}/synergy?{OPTIONS}") as store:
        store.facts.set("a", "1")
        assert store.facts.get("a") == "1"


@pytest.mark.parametrize("login", ["box:wrong-secret", "somebody:secret-word"])
def test_another_password_or_user_is_refused(place: str, login: str) -> None:
    error = failure(f"mongodb://{login}@{place}/synergy?{OPTIONS}")
    assert isinstance(error, StorageUnavailable)
    assert "refuses the user or the password: look at SYNERGY_STORE" in str(error)
    assert "secret" not in str(error)


def test_without_a_user_nothing_is_allowed(place: str) -> None:
    error = failure(f"mongodb://{place}/synergy?{OPTIONS}")
    assert isinstance(error, StorageUnavailable)
    assert "does not allow that (Command find requires authentication)" in str(error)
    assert "a user with the rights in deploy/mongodb-user.js" in str(error)


def test_ferretdb_has_no_roles(place: str) -> None:
    """So rights within a database cannot be limited there, as docs/operations.md tells."""
    with pymongo.MongoClient(f"mongodb://box:secret-word@{place}/?{OPTIONS}") as client:
        client["of_others"]["things"].insert_one({"_id": 1})
        with pytest.raises(pymongo.errors.OperationFailure, match="no such command: 'createRole'"):
            client["synergy"].command("createRole", "reader", privileges=[], roles=[])


class Commands(monitoring.CommandListener):
    """Notes the names of all commands that are sent."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def started(self, event: monitoring.CommandStartedEvent) -> None:
        self.names.add(event.command_name)

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None:
        pass

    def failed(self, event: monitoring.CommandFailedEvent) -> None:
        pass


def test_the_role_has_exactly_the_rights_that_are_used(
    mongodb_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands, options = Commands(), database._options
    monkeypatch.setattr(
        database, "_options", lambda url: {**options(url), "event_listeners": [commands]}
    )
    with closing(MongoStore.open(mongodb_url)) as store:
        fill(store)
        everything(store)
        store.recover()
        store.status()
    used = {right for name in commands.names - FREE for right in ACTIONS.get(name, (name,))}
    granted: Any = re.search(r"const actions = \[(.*?)\];", ROLE.read_text(), re.DOTALL)
    # `store init` replaces an index that is different, which this store does not have
    assert set(re.findall(r'"(\w+)"', granted[1])) == used | {"dropIndex"}
