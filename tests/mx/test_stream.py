"""The event stream: every listener gets each entry once, in order."""

from __future__ import annotations

import threading
from datetime import timedelta

import orjson
import pytest

from synergy.errors import StorageUnavailable
from synergy.mx.stream import HEARTBEAT_SECONDS, MOST_ENTRIES, MOST_LISTENERS, Stream
from synergy.mx.stream_listener import MOST_WAITING, Listener
from synergy.queries.reads import Reads
from tests.factories import NOW, an_entry

HOUR = "2015051711"


class ManualStream(Stream):
    """A stream without a thread."""

    def start(self):
        pass


@pytest.fixture
def stream(world):
    """A stream that reads the journal when the test calls `run_once`."""
    reads = Reads(world.store, world.bus, world.deployment, world.clock)
    return ManualStream(reads, world.clock)


def write(world, *events, process="A", **fields):
    world.store.journal.append(
        [an_entry(e, process=process, first=HOUR, last=HOUR, **fields) for e in events]
    )


def a_listener(stream, since=None, process="", nouns=()):
    """A listener that has received the first message."""
    listener = Listener(lambda: None, since, process, nouns)
    assert stream.join(listener)
    stream.run_once(NOW)
    return listener


def heard(listener):
    """The messages that wait: (id, event, data)."""
    found = []
    for part in listener.take().decode().split("\n\n")[:-1]:
        fields = dict(line.split(": ", 1) for line in part.splitlines() if line[0] != ":")
        if "event" in fields:
            data = orjson.loads(fields["data"])
            found.append((int(fields["id"]), fields["event"], data))
    return found


def ids(listener):
    return [number for number, _, _ in heard(listener)]


def test_a_new_listener_receives_later_entries(world, stream):
    write(world, "job.noop")
    listener = a_listener(stream)
    assert listener.take() == b"retry: 2000\n: listening\nid: 1\n\n"
    write(world, "unit.requested", why="its period\nhas closed", unit="u", attempt=3)
    stream.run_once(NOW)
    ((number, event, data),) = heard(listener)
    assert (number, event) == (2, "unit")
    assert data == {
        "seq": 2, "at": data["at"], "event": "unit.requested", "process": "A",
        "first": HOUR, "last": HOUR, "before": "", "after": "", "generation": 0,
        "why": "its period\nhas closed", "who": data["who"], "unit": "u", "attempt": 3,
    }  # fmt: skip
    assert data["at"].endswith("Z")


def test_every_listener_receives_each_entry_once_in_order(world, stream):
    listeners = [a_listener(stream) for _ in range(3)]
    for _ in range(3):
        write(world, "job.noop", "job.skipped")
        stream.run_once(NOW)
    assert [ids(one) for one in listeners] == [[1, 2, 3, 4, 5, 6]] * 3
    stream.run_once(NOW)
    assert [ids(one) for one in listeners] == [[]] * 3


def test_a_returning_listener_receives_missed_entries_once(world, stream):
    write(world, *["job.noop"] * 4)
    staying = a_listener(stream)
    back = a_listener(stream, since=2)
    write(world, "job.noop")
    stream.run_once(NOW)
    assert ids(back) == [3, 4, 5]
    assert ids(staying) == [5]


def test_entries_written_at_the_return_are_received_once(world, stream):
    a_listener(stream)
    write(world, "job.noop", "job.noop")
    back = a_listener(stream, since=0)  # the other listener has not received these yet either
    assert ids(back) == [1, 2]


def test_a_returning_listener_ahead_of_others_receives_no_entry_twice(world, stream):
    staying = a_listener(stream)
    write(world, "job.noop", "job.noop")
    back = a_listener(stream, since=1)  # it knows entry 1 from another MX, or from a page
    assert ids(back) == [2]
    assert ids(staying) == [1, 2]


def test_a_listener_chooses_by_process_and_noun(world, stream):
    of_a, of_jobs = a_listener(stream, process="A"), a_listener(stream, nouns=("job", "box"))
    write(world, "job.noop", "unit.noop")
    write(world, "job.noop", process="B")
    stream.run_once(NOW)
    assert ids(of_a) == [1, 2]
    assert ids(of_jobs) == [1, 3]
    again = a_listener(stream, since=0, process="B", nouns=("job",))
    assert ids(again) == [3]


def test_very_many_entries_become_one_message(world, stream):
    listener = a_listener(stream, nouns=("run",))
    write(world, *["job.noop"] * MOST_ENTRIES)
    stream.run_once(NOW)
    write(world, *["job.noop"] * (MOST_ENTRIES + 1))
    stream.run_once(NOW)
    write(world, "run.noop")
    stream.run_once(NOW)
    assert heard(listener)[0] == (1001, "behind", {"from": 500, "to": 1001})
    back = a_listener(stream, since=3)
    assert [event for _, event, _ in heard(back)] == ["behind"]


def test_a_position_after_the_end_sends_behind(world, stream):
    write(world, "job.noop")
    listener = a_listener(stream, since=99)
    assert heard(listener) == [(1, "behind", {"from": 99, "to": 1})]


def test_a_quiet_stream_has_a_heartbeat(world, stream):
    listener = a_listener(stream, nouns=("box",))
    listener.take()
    write(world, "job.noop")
    world.clock.advance(HEARTBEAT_SECONDS - 1)
    stream.run_once(NOW)
    assert listener.take() == b""
    world.clock.advance(1)
    stream.run_once(NOW)
    assert listener.take() == b": well\nid: 1\n\n"  # it continues after entry 1


def test_a_slow_listener_is_disconnected(world, stream):
    slow, quick = a_listener(stream), a_listener(stream)
    received = 0
    while not slow.is_over:
        write(world, *["job.noop"] * MOST_ENTRIES)
        stream.run_once(NOW)
        received += len(ids(quick))
        assert received <= MOST_WAITING + MOST_ENTRIES
    assert slow.take() == b""
    assert stream.listeners == 1
    write(world, "job.noop")
    stream.run_once(NOW)
    assert len(ids(quick)) == 1


def test_the_number_of_listeners_is_limited(world, stream):
    for _ in range(MOST_LISTENERS):
        assert stream.join(Listener(lambda: None, None, "", ()))
    assert not stream.join(Listener(lambda: None, None, "", ()))


def test_listeners_survive_an_outage_of_the_store(world, stream, monkeypatch):
    listener = a_listener(stream)
    listener.take()

    def away(*_):
        raise StorageUnavailable("away")

    with monkeypatch.context() as patch:
        patch.setattr(type(world.store.journal), "since", away)
        stream.run_once(NOW)
        stream.run_once(NOW)
        assert listener.take() == b": the store does not answer\n\n"
        world.clock.advance(HEARTBEAT_SECONDS)
        stream.run_once(NOW)
        assert listener.take().startswith(b": well")
    write(world, "job.noop")
    stream.run_once(NOW)
    assert ids(listener) == [1]


def test_a_failed_welcome_delays_entries_and_loses_none(world, stream, monkeypatch):
    write(world, "job.noop", "job.noop")
    staying = a_listener(stream)
    write(world, "job.noop")
    back = Listener(lambda: None, 0, "", ())
    stream.join(back)
    since = type(world.store.journal).since

    def breaks(journal, seq, *rest):
        if seq == 0:  # the read of what the returning listener missed
            raise StorageUnavailable("away")
        return since(journal, seq, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(type(world.store.journal), "since", breaks)
        stream.run_once(NOW)
        world.clock.advance(HEARTBEAT_SECONDS)
        stream.run_once(NOW)
    assert b"id: " not in back.take()  # the id from which it would continue the next time
    stream.run_once(NOW)
    assert ids(staying) == [3]
    assert ids(back) == [1, 2, 3]


def test_entries_deleted_before_they_were_sent_send_behind(world, stream):
    staying = a_listener(stream)
    write(world, *["job.noop"] * 4)
    world.store.journal.prune(NOW + timedelta(days=1), 3)
    back = a_listener(stream, since=2)
    assert heard(staying) == [(4, "behind", {"from": 0, "to": 4})]
    assert heard(back) == [(4, "behind", {"from": 2, "to": 4})]
    again = a_listener(stream, since=3)
    assert ids(again) == [4]


def test_without_listeners_the_thread_ends(world):
    reads = Reads(world.store, world.bus, world.deployment, world.clock)
    stream = Stream(reads, world.clock)
    for _ in range(2):
        welcome = threading.Event()
        listener = Listener(welcome.set, None, "", ())
        assert stream.join(listener)
        assert welcome.wait(60)
        stream.leave(listener)
        stream.wake()
        stream._thread.join(60)
        assert not stream.started
    assert stream.stop()


def test_the_end_of_mx_ends_all_listeners(world, stream):
    listener = a_listener(stream)
    assert stream.stop()
    assert listener.is_over
    assert not stream.join(Listener(lambda: None, None, "", ()))
