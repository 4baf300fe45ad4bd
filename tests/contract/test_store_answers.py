"""Answers to idempotent requests are begun once, stored whole and pruned."""

from __future__ import annotations

from dataclasses import replace

import pytest

from synergy.model.answer import Answer
from synergy.storage.protocol import Store
from tests.contract.concurrency import in_processes, in_threads
from tests.contract.operated import an_answer
from tests.contract.scheduled import ODD
from tests.factories import LATER, NOW, TICK


def begin(store: Store, *answers: Answer) -> list[Answer]:
    begun = [store.answers.begin(answer) for answer in answers]
    assert all(is_new for _, is_new in begun)
    return [answer for answer, _ in begun]


def stored(store: Store, key: str = "k", person: str = "jo") -> Answer:
    """Returns the stored answer, which must exist."""
    found, is_new = store.answers.begin(an_answer(key, person, fingerprint="look"))
    assert not is_new
    return found


def test_the_first_request_begins_an_answer_and_the_next_one_reads_it(store: Store) -> None:
    first = an_answer(at=NOW + TICK)
    assert store.answers.begin(first) == (replace(first, rev=1), True)
    other = an_answer(fingerprint="g", owner="mx-2", at=LATER)
    assert store.answers.begin(other) == (replace(first, rev=1), False)


def test_keys_belong_to_one_person(store: Store) -> None:
    pairs = [("jo", "k"), ("mo", "k"), ("", "k"), ("jo", "k|"), ("jo|", "k"), ('jo","k', '"'),
             ("JO", "k"), ("jo", "K")]  # fmt: skip
    begin(store, *(an_answer(key, person, fingerprint=f"{person}/{key}") for person, key in pairs))
    for person, key in pairs:
        assert stored(store, key, person).fingerprint == f"{person}/{key}"


def test_every_field_of_an_answer_is_kept(store: Store) -> None:
    (begun,) = begin(store, an_answer("k" * 255))
    finished = replace(
        begun, status=201, headers={"content-type": "a/b; x=é", "X.$": ""},
        body=bytes(range(256)) * 4_096,
    )  # fmt: skip
    assert store.answers.change(finished) == replace(finished, rev=2)
    assert stored(store, "k" * 255) == replace(finished, rev=2)


@pytest.mark.parametrize("body", [None, b"", b"\0"])
def test_a_missing_body_differs_from_an_empty_one(store: Store, body: bytes | None) -> None:
    (begun,) = begin(store, an_answer())
    store.answers.change(replace(begun, status=204, body=body))
    assert stored(store).body == body


def test_a_change_of_an_outdated_answer_is_refused(store: Store) -> None:
    (begun,) = begin(store, an_answer())
    taken = store.answers.change(replace(begun, owner="mx-2", at=LATER))
    assert store.answers.change(replace(begun, status=200, body=b"late")) is None
    assert not store.answers.drop(begun)
    assert stored(store) == taken
    assert taken is not None
    assert (taken.owner, taken.at, taken.rev) == ("mx-2", LATER, 2)
    assert store.answers.change(an_answer("unknown", rev=1)) is None


def test_a_deleted_key_is_free(store: Store) -> None:
    begun, other = begin(store, an_answer(), an_answer("other"))
    assert store.answers.drop(begun)
    assert not store.answers.drop(begun)
    begin(store, an_answer(fingerprint="new"))
    assert stored(store).fingerprint == "new"
    assert stored(store, "other") == other


def test_old_answers_are_deleted_oldest_first(store: Store) -> None:
    begun = begin(store, *(an_answer(str(n), at=NOW + n * TICK) for n in (2, 1, 3)))
    store.answers.change(replace(begun[0], status=200))
    assert store.answers.prune(NOW + 3 * TICK, 1) == 1
    assert store.answers.begin(an_answer("1"))[1]
    assert stored(store, "2").status == 200
    assert store.answers.prune(NOW + 3 * TICK, 10) == 2
    assert stored(store, "3") == begun[2]


@pytest.mark.parametrize("word", ODD)
def test_special_characters_in_names_and_keys_are_kept(store: Store, word: str) -> None:
    begin(store, an_answer(word, word))
    assert stored(store, word, word).person == word


def _begin(store: Store, owner: str) -> tuple[bool, str]:
    found, is_new = store.answers.begin(an_answer(owner=owner))
    return is_new, found.owner


def test_one_of_several_threads_begins_an_answer(store: Store) -> None:
    begun = in_threads(8, lambda n: _begin(store, str(n)))
    assert sum(is_new for is_new, _ in begun) == 1
    assert len({owner for _, owner in begun}) == 1


def test_one_of_several_processes_begins_an_answer(shared: Store, address: str) -> None:
    begun = in_processes(address, _begin, [(str(n),) for n in range(4)])
    assert sum(is_new for is_new, _ in begun) == 1
    assert {owner for _, owner in begun} == {stored(shared).owner}


def _take_over(store: Store, owner: str) -> bool:
    return store.answers.change(an_answer(owner=owner, rev=1)) is not None


def test_one_of_several_threads_takes_an_answer_over(store: Store) -> None:
    begin(store, an_answer())
    assert sorted(in_threads(8, lambda n: _take_over(store, str(n)))) == [False] * 7 + [True]
