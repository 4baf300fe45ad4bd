"""FerretDB and mongo-java-server guarantee what Synergy relies on in MongoDB."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

import mongomock
import pymongo
import pytest
from pymongo.errors import BulkWriteError, DuplicateKeyError

from tests.contract.concurrency import in_threads
from tests.servers.mongodb import running_ferretdb, running_mongo_java

Documents = pymongo.collection.Collection[dict[str, object]]


@pytest.fixture(scope="module", params=[running_ferretdb, running_mongo_java])
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with request.param(tmp_path_factory.mktemp("stand-in")) as server:
        yield server.url


@pytest.fixture
def documents(url: str) -> Iterator[Documents]:
    with pymongo.MongoClient(url, timeoutMS=20_000) as client:
        client.drop_database("test")
        yield client["test"]["documents"]


def test_no_two_clients_swap_the_same_value(documents: Documents) -> None:
    documents.insert_one({"_id": "counter", "n": 0})

    def swap(_: int) -> int:
        swapped = 0
        for _ in range(60):
            seen = documents.find_one({"_id": "counter"})
            assert seen is not None
            as_seen = {"_id": "counter", "n": seen["n"]}
            swapped += documents.update_one(as_seen, {"$inc": {"n": 1}}).modified_count
        return swapped

    swapped = sum(in_threads(4, swap))
    assert documents.find_one({"_id": "counter"}) == {"_id": "counter", "n": swapped}


def test_find_one_and_update_gives_each_number_once(documents: Documents) -> None:
    def take(_: int) -> list[object]:
        up = {"$inc": {"n": 1}}
        found = [
            documents.find_one_and_update({"_id": "counter"}, up, return_document=True)
            for _ in range(50)
        ]
        return [document["n"] for document in found if document]

    documents.insert_one({"_id": "counter", "n": 0})
    taken = [number for some in in_threads(4, take) for number in some]
    assert sorted(taken) == list(range(1, 201))


def test_one_of_several_inserts_of_the_same_key_succeeds(documents: Documents) -> None:
    documents.create_index("key", unique=True)

    def insert(number: int) -> bool:
        try:
            documents.insert_one({"_id": str(number), "key": "same"})
        except DuplicateKeyError:
            return False
        return True

    assert sum(in_threads(6, insert)) == 1


@pytest.mark.parametrize(("is_ordered", "inserted"), [(True, 1), (False, 2)])
def test_a_refused_document_is_not_counted_as_inserted(
    documents: Documents, is_ordered: bool, inserted: int
) -> None:
    with pytest.raises(BulkWriteError) as caught:
        documents.insert_many([{"_id": one} for one in "aab"], ordered=is_ordered)
    assert caught.value.details["nInserted"] == documents.count_documents({}) == inserted


def test_a_document_is_read_as_a_whole_while_it_changes(documents: Documents) -> None:
    documents.insert_one({"_id": "one", "a": 0, "b": 0})
    done = threading.Event()

    def act(number: int) -> bool:
        if number == 0:
            for n in range(300):
                documents.update_one({"_id": "one"}, {"$set": {"a": n, "b": n}})
            done.set()
        is_whole = True
        while not done.is_set():
            is_whole &= all(one["a"] == one["b"] for one in documents.find())
        return is_whole

    assert all(in_threads(4, act))


def test_writes_are_durable_over_a_restart(tmp_path: Path) -> None:
    with running_ferretdb(tmp_path) as server, pymongo.MongoClient(server.url) as client:
        client["test"]["documents"].insert_one({"_id": "a"})
    with running_ferretdb(tmp_path) as server, pymongo.MongoClient(server.url) as client:
        assert client["test"]["documents"].find_one() == {"_id": "a"}


VALUES = (
    None, 0, 1, -1, 2**40, 1.0, 1.5, "", "a", "b", "1", "é", 'a"b',
    [1, "a"], [], {"x": 1}, datetime(2015, 5, 20),  # noqa: DTZ001 - as MongoDB gives it back
)  # fmt: skip
ASKED = (0, 1, 7, 2**40, "", "a", "1", "é", 'a"b')
FILTERS = (
    *({sign: value} for sign in ("$eq", "$gt", "$gte", "$lt", "$lte") for value in ASKED),
    *ASKED, None, 1.0,
    {"$in": [1, "a"]}, {"$in": ["b", None]}, {"$in": []}, {"$gt": 0, "$lt": 2}, {"$ne": 1},
)  # fmt: skip


WHOLE, WORDS = (tuple(one for one in VALUES if type(one) is kind) for kind in (int, str))


@pytest.mark.parametrize(
    ("field", "values"),
    [("field", VALUES), ("a.b", VALUES), ("_id", WHOLE), ("_id", WORDS)],
    ids=["field", "field within", "numbers", "words"],
)
def test_filters_find_the_same_documents_as_mongomock(
    documents: Documents, field: str, values: Sequence[object]
) -> None:
    """FerretDB is changed so that SQLite applies filters too; mongomock reads all documents."""
    outer, _, inner = field.partition(".")
    stored = [{"n": n, outer: {inner: value} if inner else value} for n, value in enumerate(values)]
    asked = [one for one in FILTERS if field != "_id" or _is_about(one, values)]
    everything = mongomock.MongoClient()["test"]["documents"]
    for some in (documents, everything):
        some.insert_many([*stored, *([] if field == "_id" else [{"n": -1}])])
    assert len(asked) > 10
    for wanted in asked:
        for beside in ({}, {"n": {"$gte": 3}}):
            query = {field: wanted, **beside}
            found, expected = (
                [one["n"] for one in some.find(query).sort("n", 1)]
                for some in (documents, everything)
            )
            assert found == expected, query


@pytest.mark.parametrize("ids", [range(-5, 300), [f"{n}" for n in range(300)]], ids=["n", "words"])
def test_documents_come_in_the_order_of_their_ids(
    documents: Documents, ids: Sequence[object]
) -> None:
    """FerretDB is changed so that SQLite sorts by `_id` and reads only what is needed."""
    everything = mongomock.MongoClient()["test"]["documents"]
    mixed = sorted(ids, key=lambda one: str(one)[::-1])
    for some in (documents, everything):
        some.insert_many([{"_id": one, "n": n} for n, one in enumerate(mixed)])
        some.update_one({"_id": ids[7]}, {"$set": {"n": -1}})
        some.delete_one({"_id": ids[8]})
    for wanted in ({}, {"n": {"$lt": 150}}, {"_id": {"$gt": ids[4], "$ne": ids[9]}}):
        for order, skip, limit in ((1, 0, 0), (-1, 0, 1), (-1, 3, 120), (1, 1, 5)):
            found, expected = (
                list(some.find(wanted).sort("_id", order).skip(skip).limit(limit))
                for some in (documents, everything)
            )
            assert found == expected, (wanted, order, skip, limit)


def _is_about(wanted: object, values: Sequence[object]) -> bool:
    """Whether a filter has only values of the same type: mongomock cannot order mixed `_id`s."""
    asked = wanted.values() if isinstance(wanted, dict) else [wanted]
    return all(type(one) is type(values[0]) for one in asked)
