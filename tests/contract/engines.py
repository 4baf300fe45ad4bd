"""The engines by name, grouped by their abilities."""

from __future__ import annotations

MONGOMOCK = "mongomock"

ALL = ("sqlite-file", "sqlite-memory", MONGOMOCK, "mongodb")
SHARED = ("sqlite-file", "mongodb")  # several processes can use them at once
WITH_TRANSACTIONS = ("sqlite-file", "sqlite-memory")
WITHOUT_TRANSACTIONS = (MONGOMOCK, "mongodb")
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
_IMPOSSIBLE_OVER_MONGOMOCK = dict.fromkeys(
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


def impossible_over_mongomock(test: object) -> str | None:
    """Returns why mongomock, which is not atomic, cannot pass a test; None if it can."""
    return _IMPOSSIBLE_OVER_MONGOMOCK.get(getattr(test, "__name__", ""))
