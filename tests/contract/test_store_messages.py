"""Stored messages: first in, first out, each taken once."""

from __future__ import annotations

from contextlib import suppress
from itertools import chain

from synergy.storage.protocol import Store, StoredMessage
from tests.contract.concurrency import in_processes, in_threads
from tests.factories import NOW


def bodies(messages: list[StoredMessage]) -> list[bytes]:
    return [message.body for message in messages]


def test_messages_are_taken_in_the_order_in_which_they_were_put(store: Store) -> None:
    store.messages.put("q", [b"1", b"2"])
    store.messages.put("q", [b"3"])
    assert bodies(store.messages.take("q", 2)) == [b"1", b"2"]
    store.messages.put("q", [b"4"])
    assert bodies(store.messages.take("q", 10)) == [b"3", b"4"]
    assert store.messages.take("q", 10) == []


def test_queues_are_independent_and_counted(store: Store) -> None:
    store.messages.put("a", [b"1", b"2"])
    store.messages.put("b", [b"3"])
    store.messages.put("c", [])
    assert store.messages.depths() == {"a": 2, "b": 1}
    assert bodies(store.messages.take("b", 10)) == [b"3"]
    assert store.messages.depths() == {"a": 2}


def test_purging_leaves_taken_messages_to_their_taker(store: Store) -> None:
    store.messages.put("q", [b"taken", b"waiting"])
    with suppress(ZeroDivisionError), store.batch():
        assert bodies(store.messages.take("q", 1)) == [b"taken"]
        assert store.messages.purge("q") == 1
        raise ZeroDivisionError
    assert bodies(store.messages.take("q", 1)) == [b"taken"]


def test_purging_drops_one_queue(store: Store) -> None:
    store.messages.put("a", [b"1", b"2"])
    store.messages.put("b", [b"3"])
    assert store.messages.purge("a") == 2
    assert store.messages.purge("a") == 0
    assert store.messages.depths() == {"b": 1}


def test_buried_messages_are_shown_newest_first_with_their_reason(store: Store) -> None:
    store.messages.bury("q", b"\xff\x00", "not JSON", NOW)
    store.messages.bury("p", b"x", "version 9", NOW)
    newest, oldest = store.messages.buried()
    assert (newest.queue, newest.body, newest.reason, newest.at) == ("p", b"x", "version 9", NOW)
    assert (oldest.queue, oldest.body) == ("q", b"\xff\x00")
    assert store.messages.buried(limit=1) == [newest]
    assert store.messages.depths() == {}


def test_older_buried_messages_are_read_page_by_page(store: Store) -> None:
    for body in (b"1", b"2", b"3"):
        store.messages.bury("q", body, "odd", NOW)
    newest = store.messages.buried(limit=1)[0]
    older = store.messages.buried(before=newest.seq)
    assert [dead.body for dead in older] == [b"2", b"1"]
    assert store.messages.buried(before=older[-1].seq) == []


def test_buried_messages_go_back_into_their_queues(store: Store) -> None:
    for queue, body in [("q", b"1"), ("p", b"2"), ("q", b"3")]:
        store.messages.bury(queue, body, "odd", NOW)
    chosen = [dead.seq for dead in store.messages.buried() if dead.body == b"3"]
    assert store.messages.replay([*chosen, 999]) == {"q": 1}
    assert bodies(store.messages.take("q", 10)) == [b"3"]
    assert store.messages.replay() == {"q": 1, "p": 1}
    assert store.messages.buried() == []
    assert store.messages.replay() == {}


def test_some_buried_messages_are_dropped_by_number(store: Store) -> None:
    for body in (b"1", b"2", b"3"):
        store.messages.bury("q", body, "odd", NOW)
    newest, _, oldest = store.messages.buried()
    assert store.messages.purge_buried([newest.seq, oldest.seq, 999]) == 2
    assert [dead.body for dead in store.messages.buried()] == [b"2"]
    assert store.messages.purge_buried([]) == 0
    assert store.messages.purge_buried() == 1


def test_the_number_of_a_buried_message_is_never_used_again(store: Store) -> None:
    store.messages.bury("q", b"1", "odd", NOW)
    (first,) = store.messages.buried()
    assert store.messages.purge_buried() == 1
    store.messages.bury("q", b"2", "odd", NOW)
    (second,) = store.messages.buried()
    assert second.seq > first.seq


def _take_all(store: Store, limit: int) -> list[bytes]:
    taken: list[bytes] = []
    while found := store.messages.take("q", limit):
        taken.extend(bodies(found))
    return taken


def test_threads_never_take_the_same_message(store: Store, much: int) -> None:
    store.messages.put("q", [b"%d" % n for n in range(much)])
    taken = in_threads(4, lambda n: _take_all(store, n + 1))
    assert sorted(chain(*taken)) == sorted(b"%d" % n for n in range(much))


def test_processes_never_take_the_same_message(shared: Store, address: str, much: int) -> None:
    shared.messages.put("q", [b"%d" % n for n in range(2 * much)])
    taken = in_processes(address, _take_all, [(3,), (5,)])
    assert sorted(chain(*taken)) == sorted(b"%d" % n for n in range(2 * much))
    for some in taken:
        assert [int(body) for body in some] == sorted(int(body) for body in some)
