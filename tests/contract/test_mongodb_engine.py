"""What only MongoDB's engine has: an address, a layout, a server that may be away."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pymongo
import pytest

from synergy.errors import ConfigurationError, Refused, StorageUnavailable, SynergyError
from synergy.storage.mongodb import MongoStore, engine, layout
from synergy.storage.mongodb.database import Database
from tests.factories import NOW, a_hint, some_units
from tests.servers.certificates import openssl
from tests.servers.mongodb import Server, running_ferretdb
from tests.servers.wire import wire

SOON = "timeoutMS=700&connectTimeoutMS=500"  # where nothing is to come about
IN_TIME = "timeoutMS=4000&connectTimeoutMS=3000"


@contextmanager
def opened(url: str, **options: Any) -> Iterator[MongoStore]:
    store = MongoStore.open(url, **options)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def documents(url: str) -> Iterator[pymongo.database.Database[Any]]:
    with pymongo.MongoClient(url) as client:
        yield client.get_default_database()


def failure(url: str) -> SynergyError:
    """How the opening of a store fails."""
    with pytest.raises(SynergyError) as caught, opened(url):
        pytest.fail("nobody comes in")
    return caught.value


# Making and checking


def test_a_database_is_made_a_store_at_first_use(mongodb_url: str) -> None:
    assert not engine.exists(mongodb_url)
    with opened(mongodb_url) as store:
        store.facts.set("a", "1")
    assert engine.exists(mongodb_url)
    with opened(mongodb_url, create=False) as store:
        assert store.facts.get("a") == "1"


def test_a_store_that_is_not_there_can_be_refused(mongodb_url: str) -> None:
    with pytest.raises(StorageUnavailable, match=r"launch\.py store init"):
        MongoStore.open(mongodb_url, create=False)
    assert not engine.exists(mongodb_url)


@pytest.mark.parametrize("collection", sorted(layout.INDEXES))
def test_a_missing_index_is_named_and_made_again(mongodb_url: str, collection: str) -> None:
    MongoStore.open(mongodb_url).close()
    (index, *_) = layout.INDEXES[collection]
    with documents(mongodb_url) as database:
        database[collection].drop_index(index.name)
    error = failure(mongodb_url)
    assert isinstance(error, ConfigurationError)
    assert f"{collection}.{index}: `launch.py store init`" in str(error)
    assert engine.prepare(mongodb_url) == [f"{collection}.{index}"]
    assert engine.prepare(mongodb_url) == []
    MongoStore.open(mongodb_url).close()


def test_an_index_that_is_not_unique_is_as_good_as_missing(mongodb_url: str) -> None:
    MongoStore.open(mongodb_url).close()
    with documents(mongodb_url) as database:
        database["journal"].drop_index("origin")
        database["journal"].create_index([("origin", 1)], name="origin")
    assert "journal.origin" in str(failure(mongodb_url))
    engine.prepare(mongodb_url)
    MongoStore.open(mongodb_url).close()


def test_documents_that_break_an_index_are_told(mongodb_url: str) -> None:
    MongoStore.open(mongodb_url).close()
    with documents(mongodb_url) as database:
        database["journal"].drop_index("origin")
        database["journal"].insert_many([{"origin": "same"}, {"origin": "same"}])
    with pytest.raises(ConfigurationError, match=r"journal\.origin .* cannot be made"):
        engine.prepare(mongodb_url)


def test_a_newer_layout_is_refused_and_left_alone(mongodb_url: str) -> None:
    MongoStore.open(mongodb_url).close()
    with documents(mongodb_url) as database:
        database["counters"].update_one({"_id": "layout"}, {"$inc": {"n": 1}})
        assert "newer Synergy" in str(failure(mongodb_url))
        with pytest.raises(StorageUnavailable, match="newer Synergy"):
            engine.prepare(mongodb_url)
        found = database["counters"].find_one({"_id": "layout"})
    assert found == {"_id": "layout", "n": layout.VERSION + 1}


def test_a_database_of_the_first_layout_is_told_what_it_lacks(mongodb_url: str) -> None:
    MongoStore.open(mongodb_url).close()
    added = ("schedules", "schedule_versions", "runs", "events", "operations", "answers")
    with documents(mongodb_url) as database:
        for name in added:
            database.drop_collection(name)
        database["counters"].update_one({"_id": "layout"}, {"$set": {"n": 1}})
        error = str(failure(mongodb_url))
        assert "runs.key (schedule up, key up; unique): `launch.py store init` makes it" in error
        assert "events.id (id up; unique)" in error
        lacking = engine.prepare(mongodb_url)
        assert {name.partition(".")[0] for name in lacking} == set(added)
        assert database["counters"].find_one({"_id": "layout"}) == {
            "_id": "layout",
            "n": layout.VERSION,
        }
    MongoStore.open(mongodb_url).close()


def test_units_from_before_first_claims_are_as_never_claimed(mongodb_url: str) -> None:
    requested, running = some_units(2)
    with opened(mongodb_url) as store, documents(mongodb_url) as database:
        store.units.create([requested, running], "scheduler")
        store.units.claim([a_hint(running)], "worker", NOW)
        database["units"].update_many({}, {"$unset": {"first_claimed_at": ""}})
        assert [unit.first_claimed_at for unit in store.units.unfinished()] == [None, None]
        (given,) = store.units.give_back([a_hint(running)], "worker", NOW)
        assert given.first_claimed_at is None
        (taken,) = store.units.claim([a_hint(requested)], "worker", NOW)
        assert taken.first_claimed_at == NOW


def test_a_dropped_store_is_as_if_it_never_was(mongodb_url: str) -> None:
    with opened(mongodb_url) as store:
        store.facts.set("a", "1")
    engine.drop(mongodb_url)
    assert not engine.exists(mongodb_url)
    with opened(mongodb_url) as store:
        assert store.facts.get("a") is None


def test_the_status_says_what_is_where(mongodb_url: str) -> None:
    with opened(mongodb_url) as store:
        store.messages.put("q", [b"1", b"2"])
        status = store.status()
    assert (status.engine, status.schema) == ("mongodb", layout.VERSION)
    assert status.location == mongodb_url
    assert status.size_bytes > 0
    assert status.rows["messages"] == 2
    assert status.rows["units"] == 0


def test_the_stand_in_is_warned_of(tmp_path: Path) -> None:
    with running_ferretdb(tmp_path) as server, opened(server.database("test")) as store:
        status = store.status()
    assert "FerretDB 1" in status.version
    assert "standalone" in status.version
    alone, ferretdb = status.warnings
    assert alone == "no replica set: acknowledged writes can be lost at host loss"
    assert "not for production" in ferretdb


def test_a_backup_is_the_servers_business(mongodb_url: str, tmp_path: Path) -> None:
    with opened(mongodb_url) as store, pytest.raises(Refused, match="mongodump"):
        store.backup(tmp_path / "copy")


# Addresses


def test_no_url_weakens_what_safety_rests_on() -> None:
    weak = "w=0&journal=false&readConcernLevel=local&readPreference=secondary&retryWrites=false"
    database = Database.connect(f"mongodb://127.0.0.1/test?{weak}&timeoutMS=0")
    with closing(database):
        options = database.client.options
        assert database.client.write_concern.document == {"w": "majority", "j": True}
        assert database.client.read_concern.document == {"level": "majority"}
        assert database.client.read_preference == pymongo.ReadPreference.PRIMARY
        assert options.retry_writes
        assert options.timeout == 5


def test_a_url_may_set_its_own_deadline_and_name() -> None:
    url = "mongodb://127.0.0.1/test?timeoutMS=700&appName=box-7"
    with closing(Database.connect(url)) as database:
        assert database.client.options.timeout == 0.7
        assert database.client.options.pool_options.appname == "box-7"


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("mongodb://127.0.0.1", "names no database"),
        ("mongodb://127.0.0.1/test?tsl=true", "tsl"),
        ("mongodb://127.0.0.1/test?tlsCAFile=/nowhere.pem&tls=true", "nowhere.pem"),
        ("mongodb://127.0.0.1:port/test", "[Pp]ort"),
        ("http://127.0.0.1/test", "URI scheme"),
    ],
)
def test_a_url_that_cannot_be_used_is_told_at_once(url: str, reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        Database.connect(url)


# Servers that are away


def test_nobody_at_the_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    error = failure(f"mongodb://me:secret@127.0.0.1:{port}/test?{SOON}")
    assert isinstance(error, StorageUnavailable)
    assert f"mongodb://me:***@127.0.0.1:{port}/test cannot be reached" in str(error)
    assert "SYNERGY_STORE" in str(error)
    assert "secret" not in str(error)


def test_a_host_that_does_not_exist() -> None:
    error = failure(f"mongodb://me:secret@nowhere.invalid/test?{SOON}")
    assert "cannot be reached" in str(error)
    assert "secret" not in str(error)


def test_a_connection_that_is_accepted_and_never_answered() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        error = failure(f"mongodb://me:secret@127.0.0.1:{port}/test?{SOON}")
    assert isinstance(error, StorageUnavailable)
    assert f"127.0.0.1:{port}/test" in str(error)
    assert "secret" not in str(error)


def test_a_user_or_password_that_is_refused(mongodb: Server) -> None:
    address = mongodb.url.removeprefix("mongodb://").rpartition("@")[2].partition("/")[0]
    error = failure(f"mongodb://me:wrong-secret@{address}/test")
    assert isinstance(error, StorageUnavailable)
    assert "refuses the user or his password: look at SYNERGY_STORE" in str(error)
    assert "secret" not in str(error)


@contextmanager
def _at_risk(url: str) -> Iterator[tuple[Any, MongoStore]]:
    with wire(url) as (line, through), opened(f"{through}?{IN_TIME}") as store:
        store.facts.set("a", "0")
        try:
            yield line, store
        finally:
            line.revive()


def test_a_server_that_goes_dead_is_an_error_by_the_deadline_and_then_goes_on(
    mongodb_url: str,
) -> None:
    with _at_risk(mongodb_url) as (line, store):
        line.go_dead()
        with pytest.raises(StorageUnavailable, match=r"127\.0\.0\.1.*look at"):
            store.facts.set("a", "1")
        with pytest.raises(StorageUnavailable):
            store.facts.get("a")
        line.revive()
        store.facts.set("a", "2")
        assert store.facts.get("a") == "2"


def test_connections_that_break_are_made_again(mongodb_url: str) -> None:
    with _at_risk(mongodb_url) as (line, store):
        line.cut()
        _until_it_answers(store)
        store.facts.set("a", "1")
        assert store.facts.get("a") == "1"


def _until_it_answers(store: MongoStore) -> None:
    """One call may find out that its connection is gone; the next one has a new one."""
    for _ in range(5):
        try:
            store.facts.get("a")
        except StorageUnavailable:
            continue
        return
    pytest.fail("the store stays away")


def test_after_a_write_failed_nothing_more_of_its_batch_is_written(mongodb_url: str) -> None:
    calls = []
    with _at_risk(mongodb_url) as (line, store):

        def go_on_regardless() -> None:
            with store.batch() as batch:
                batch.after_commit(lambda: calls.append(1))
                line.go_dead()
                with pytest.raises(StorageUnavailable):
                    store.facts.set("a", "1")
                line.revive()
                with pytest.raises(StorageUnavailable, match="batch failed"):
                    store.facts.set("b", "1")

        with pytest.raises(StorageUnavailable, match="batch failed"):
            go_on_regardless()
        assert store.facts.get("b") is None
    assert calls == []


def test_a_server_that_was_killed_and_is_back_is_used_again(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        place = f"127.0.0.1:{free.getsockname()[1]}"
    with running_ferretdb(tmp_path, "-listen", place) as server:
        store = MongoStore.open(f"{server.database('test')}?{IN_TIME}")
        store.facts.set("a", "1")
        assert server.process is not None
        server.process.kill()
        server.process.wait()
        with pytest.raises(StorageUnavailable):
            store.facts.get("a")
    with running_ferretdb(tmp_path, "-listen", place):
        _until_it_answers(store)
        assert store.facts.get("a") == "1"
    store.close()


# TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for localhost, with its key, that nobody has signed."""
    file = tmp_path_factory.mktemp("tls") / "localhost.pem"
    request = [openssl(), "req", "-x509", "-newkey", "rsa:2048", "-noenc", "-days", "2"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    out = ["-keyout", str(file), "-out", str(file.with_suffix(".crt"))]
    subprocess.run([*request, *names, *out], check=True, capture_output=True)
    file.write_text(file.read_text() + file.with_suffix(".crt").read_text())
    return file


@pytest.fixture(scope="module")
def tls_server(certificate: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that speaks nothing but TLS."""
    folder = tmp_path_factory.mktemp("tls-server")
    with running_ferretdb(folder, "-certificate", str(certificate)) as server:
        yield server.url.removeprefix("mongodb://127.0.0.1:").rstrip("/")


def test_a_store_behind_tls(tls_server: str, certificate: Path) -> None:
    trusted = urlencode({"tls": "true", "tlsCAFile": certificate.with_suffix(".crt")})
    with opened(f"mongodb://localhost:{tls_server}/test?{trusted}") as store:
        store.facts.set("a", "1")
        assert store.facts.get("a") == "1"


def test_a_certificate_that_nobody_vouches_for(tls_server: str) -> None:
    error = failure(f"mongodb://me:secret@localhost:{tls_server}/test?tls=true&{SOON}")
    assert "do not agree on TLS" in str(error)
    assert "tls options in SYNERGY_STORE" in str(error)
    assert "secret" not in str(error)


def test_a_certificate_of_another_host(tls_server: str, certificate: Path) -> None:
    trusted = urlencode({"tls": "true", "tlsCAFile": certificate.with_suffix(".crt")})
    error = failure(f"mongodb://127.0.0.1:{tls_server}/test?{trusted}&{SOON}")
    assert "do not agree on TLS" in str(error)


def test_a_server_without_tls(mongodb_url: str) -> None:
    assert "do not agree on TLS" in str(failure(f"{mongodb_url}?tls=true&{SOON}"))


def test_a_client_without_tls(tls_server: str) -> None:
    error = failure(f"mongodb://localhost:{tls_server}/test?{SOON}")
    assert isinstance(error, StorageUnavailable)
    assert "look at" in str(error)
