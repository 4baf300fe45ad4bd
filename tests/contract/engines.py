"""The engines by name, and what sets them apart."""

from __future__ import annotations

MONGOMOCK = "mongomock"

ALL = ("sqlite-file", "sqlite-memory", MONGOMOCK, "mongodb")
SHARED = ("sqlite-file", "mongodb")  # which several processes can use at once
WITH_TRANSACTIONS = ("sqlite-file", "sqlite-memory")
WITHOUT_TRANSACTIONS = (MONGOMOCK, "mongodb")
STORED, RABBITMQ = "stored", "rabbitmq"
BUSES = (
    *((store, STORED) for store in ALL),
    *((store, RABBITMQ) for store in SHARED),
)
QUICK = ("sqlite::memory:", "mongomock:")  # addresses: cheap enough for many examples

_LETS_OTHERS_IN = "mongomock lets other threads in between finding a document and changing it"
_BEYOND_MONGOMOCK = dict.fromkeys(
    (
        "test_everybody_agrees_on_one_default",
        "test_one_of_many_threads_takes_it",
        "test_threads_never_take_the_same_message",
        "test_each_message_goes_to_one_of_several_consumers",
        "test_threads_never_claim_the_same_unit",
        "test_units_created_by_many_at_once_exist_once",
        "test_one_of_several_threads_changes_a_row",
        "test_one_of_several_threads_takes_a_run",
        "test_an_event_that_many_bring_at_once_is_new_to_one",
        "test_equal_payloads_of_several_writers_are_one",
        "test_one_of_several_threads_takes_an_operation",
        "test_one_of_several_threads_begins_an_answer",
        "test_one_of_several_threads_takes_an_answer_over",
    ),
    _LETS_OTHERS_IN,
)


def beyond_mongomock(test: object) -> str | None:
    """Why mongomock, a toy in the memory of one process, cannot pass a test; None if it can."""
    return _BEYOND_MONGOMOCK.get(getattr(test, "__name__", ""))
