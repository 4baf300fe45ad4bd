"""The engines by name, grouped by their abilities."""

from __future__ import annotations

import pytest

MONGOMOCK = "mongomock"
MONGO_JAVA = "mongo_java"  # mongo-java-server
SERVERS = ("mongodb", MONGO_JAVA)  # fixtures of these names are servers of the MongoDB engine

ALL = ("sqlite-file", "sqlite-memory", MONGOMOCK, *SERVERS)
SHARED = ("sqlite-file", *SERVERS)  # several processes can use them at once
WITH_TRANSACTIONS = ("sqlite-file", "sqlite-memory")
WITHOUT_TRANSACTIONS = (MONGOMOCK, *SERVERS)
STORED, RABBITMQ = "stored", "rabbitmq"
BUSES = (
    *((store, STORED) for store in ALL),
    *((store, RABBITMQ) for store in SHARED),
)
QUICK = (
    "sqlite::memory:",
    "mongomock:",
)  # addresses of stores that are fast enough for many examples

_NOT_ATOMIC = "mongomock is not atomic: other threads run between finding and changing a document"
_OVER_MONGOMOCK = dict.fromkeys(
    (
        "test_all_threads_get_the_same_default",
        "test_one_of_many_threads_takes_the_lease",
        "test_threads_never_take_the_same_message",
        "test_each_message_goes_to_one_of_several_consumers",
        "test_threads_never_claim_the_same_unit",
        "test_units_created_by_several_threads_exist_once",
        "test_one_of_several_threads_changes_a_row",
        "test_one_of_several_threads_takes_a_run",
        "test_an_event_appended_by_many_threads_at_once_is_new_to_one",
        "test_equal_payloads_of_several_writers_are_stored_once",
        "test_one_of_several_threads_takes_an_operation",
        "test_one_of_several_threads_begins_an_answer",
        "test_one_of_several_threads_takes_an_answer_over",
        "test_threads_keep_the_limits_together",
    ),
    _NOT_ATOMIC,
)

_OVER_MONGO_JAVA = {
    "test_a_missing_index_is_reported_and_prepare_creates_it": (
        "mongo-java-server forgets the indexes of this name of all collections if one is dropped"
    ),
}
_IMPOSSIBLE = {MONGOMOCK: _OVER_MONGOMOCK, MONGO_JAVA: _OVER_MONGO_JAVA}


def case(engine: str, test: object) -> object:
    """Returns the engine as a parameter of a test; skips the test if the engine lacks something."""
    reason = impossible(engine, test)
    return pytest.param(engine, marks=pytest.mark.skip(reason)) if reason else engine


def impossible(engine: str, test: object) -> str | None:
    """Returns what an engine lacks for a test; None if it can pass it."""
    return _IMPOSSIBLE.get(engine, {}).get(getattr(test, "__name__", ""))
