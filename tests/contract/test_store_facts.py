"""Named strings."""

from __future__ import annotations

from synergy.storage.protocol import Store
from tests.contract.concurrency import in_threads


def test_a_fact_has_the_value_that_was_set_last(store: Store) -> None:
    assert store.facts.get("start") is None
    store.facts.set("start", "2026112100")
    store.facts.set("start", "2026112200")
    assert store.facts.get("start") == "2026112200"
    assert store.facts.get("other") is None


def test_a_default_does_not_replace_a_stored_value(store: Store) -> None:
    assert store.facts.set_default("start", "1") == "1"
    assert store.facts.set_default("start", "2") == "1"
    assert store.facts.get("start") == "1"


def test_all_threads_get_the_same_default(store: Store) -> None:
    answers = in_threads(6, lambda n: store.facts.set_default("id", str(n)))
    assert set(answers) == {store.facts.get("id")}
