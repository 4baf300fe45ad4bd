"""Opening a database creates, checks or refuses it; URLs of stores are checked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pymongo
import pytest
from pymongo.common import URI_OPTIONS_VALIDATOR_MAP

from synergy.engines.mongodb import OPTIONS
from synergy.errors import ConfigurationError, Refused, StorageUnavailable
from synergy.storage.mongodb import MongoStore, engine, layout
from synergy.storage.mongodb.database import Database
from tests.contract.mongodb.kit import failure, opened
from tests.factories import NOW, a_hint, some_units
from tests.servers.mongodb import running_ferretdb


@contextmanager
def raw_database(url: str) -> Iterator[pymongo.database.Database[Any]]:
    with pymongo.MongoClient(url) as client:
        yield client.get_default_database()


# Creating and checking


def test_opening_an_empty_database_creates_the_store(mongodb_url: str) -> None:
    assert not engine.exists(mongodb_url)
    with opened(mongodb_url) as store:
        store.facts.set("a", "1")
    assert engine.exists(mongodb_url)
    with opened(mongodb_url, create=False) as store:
        assert store.facts.get("a") == "1"


def test_opening_without_create_refuses_a_missing_store(mongodb_url: str) -> None:
    with pytest.raises(StorageUnavailable, match=r"launch\.py store init"):
        MongoStore.open(mongodb_url, create=False)
    assert not engine.exists(mongodb_url)


@pytest.mark.parametrize("collection", sorted(layout.INDEXES))
def test_a_missing_index_is_reported_and_prepare_creates_it(
    mongodb_url: str, collection: str
) -> None:
    MongoStore.open(mongodb_url).close()
    (index, *_) = layout.INDEXES[collection]
    with raw_database(mongodb_url) as database:
        database[collection].drop_index(index.name)
    error = failure(mongodb_url)
    assert isinstance(error, ConfigurationError)
    assert f"{collection}.{index}: `launch.py store init`" in str(error)
    assert engine.prepare(mongodb_url) == [f"{collection}.{index}"]
    assert engine.prepare(mongodb_url) == []
    MongoStore.open(mongodb_url).close()


def test_an_index_that_should_be_unique_and_is_not_counts_as_missing(mongodb_url: str) -> None:
    MongoStore.open(mongodb_url).close()
    with raw_database(mongodb_url) as database:
        database["journal"].drop_index("origin")
        database["journal"].create_index([("origin", 1)], name="origin")
    assert "journal.origin" in str(failure(mongodb_url))
    engine.prepare(mongodb_url)
    MongoStore.open(mongodb_url).close()


def test_prepare_names_the_index_that_duplicates_prevent(mongodb_url: str) -> None:
    MongoStore.open(mongodb_url).close()
    with raw_database(mongodb_url) as database:
        database["journal"].drop_index("origin")
        database["journal"].insert_many([{"origin": "same"}, {"origin": "same"}])
    with pytest.raises(ConfigurationError, match=r"journal\.origin .* cannot be made"):
        engine.prepare(mongodb_url)


def test_a_newer_layout_is_refused_and_left_alone(mongodb_url: str) -> None:
    MongoStore.open(mongodb_url).close()
    with raw_database(mongodb_url) as database:
        database["counters"].update_one({"_id": "layout"}, {"$inc": {"n": 1}})
        assert "newer Synergy" in str(failure(mongodb_url))
        with pytest.raises(StorageUnavailable, match="newer Synergy"):
            engine.prepare(mongodb_url)
        found = database["counters"].find_one({"_id": "layout"})
    assert found == {"_id": "layout", "n": layout.VERSION + 1}


def test_the_first_start_on_an_older_layout_creates_its_new_indexes(mongodb_url: str) -> None:
    MongoStore.open(mongodb_url).close()
    added = ("schedules", "schedule_versions", "runs", "events", "operations", "answers")
    with raw_database(mongodb_url) as database:
        for name in added:
            database.drop_collection(name)
        database["counters"].update_one({"_id": "layout"}, {"$set": {"n": 1}})
        lacking = engine.prepare(mongodb_url, dry_run=True)
        assert {name.partition(".")[0] for name in lacking} == set(added)
        MongoStore.open(mongodb_url, create=False).close()
        assert engine.prepare(mongodb_url, dry_run=True) == []
        assert database["counters"].find_one({"_id": "layout"}) == {
            "_id": "layout",
            "n": layout.VERSION,
        }


def test_units_stored_without_a_first_claim_read_as_never_claimed(mongodb_url: str) -> None:
    requested, running = some_units(2)
    with opened(mongodb_url) as store, raw_database(mongodb_url) as database:
        store.units.create([requested, running], "scheduler")
        store.units.claim([a_hint(running)], "worker", NOW)
        database["units"].update_many({}, {"$unset": {"first_claimed_at": ""}})
        assert [unit.first_claimed_at for unit in store.units.unfinished()] == [None, None]
        (given,) = store.units.give_back([a_hint(running)], "worker", NOW)
        assert given.first_claimed_at is None
        (taken,) = store.units.claim([a_hint(requested)], "worker", NOW)
        assert taken.first_claimed_at == NOW


def test_a_dropped_store_is_gone_and_can_be_created_again(mongodb_url: str) -> None:
    with opened(mongodb_url) as store:
        store.facts.set("a", "1")
    engine.drop(mongodb_url)
    assert not engine.exists(mongodb_url)
    with opened(mongodb_url) as store:
        assert store.facts.get("a") is None


def test_the_status_shows_engine_location_size_and_rows(mongodb_url: str) -> None:
    with opened(mongodb_url) as store:
        store.messages.put("q", [b"1", b"2"])
        status = store.status()
    assert (status.engine, status.schema) == ("mongodb", layout.VERSION)
    assert status.location == mongodb_url
    assert status.size_bytes > 0
    assert status.rows["messages"] == 2
    assert status.rows["units"] == 0


def test_the_status_warns_of_ferretdb_and_of_a_missing_replica_set(tmp_path: Path) -> None:
    with running_ferretdb(tmp_path) as server, opened(server.database("test")) as store:
        status = store.status()
    assert "FerretDB 1" in status.version
    assert "standalone" in status.version
    alone, ferretdb = status.warnings
    assert alone == "no replica set: acknowledged writes can be lost at host loss"
    assert "not for production" in ferretdb


def test_a_backup_is_refused_with_a_hint_to_mongodump(mongodb_url: str, tmp_path: Path) -> None:
    with opened(mongodb_url) as store, pytest.raises(Refused, match="mongodump"):
        store.backup(tmp_path / "copy")


# URLs


def test_a_url_cannot_weaken_durability_or_consistency() -> None:
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
def test_an_unusable_url_is_refused_at_once(url: str, reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        Database.connect(url)


def test_the_known_options_of_a_url_are_those_of_the_driver() -> None:
    """Except those that change how it returns values, and those that do nothing any more."""
    unusual = {"datetime_conversion", "driver", "fsync", "server_api", "srvallowedhostssuffix"}
    unusual |= {"enableoverloadretargeting", "maxadaptiveretries", "tz_aware", "uuidrepresentation"}
    unusual |= {"unicode_decode_error_handler", "waitqueuemultiple"}
    assert set(OPTIONS) == set(URI_OPTIONS_VALIDATOR_MAP) - unusual
