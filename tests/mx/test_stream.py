"""The stream: what happens, told once and in order to everybody who listens."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from datetime import timedelta

import orjson
import pytest

from synergy.errors import StorageUnavailable
from synergy.mx.app import create_app
from synergy.mx.services import Services
from synergy.mx.stream import AT_ONCE, HEARTBEAT, LISTENERS, Stream
from synergy.mx.stream_listener import WAITING, Listener
from synergy.queries.reads import Reads
from tests.factories import NOW, an_entry

HOUR = "2015051711"


class ManualStream(Stream):
    """A stream without a thread."""

    def start(self):
        pass


@pytest.fixture
def stream(world):
    """A stream that looks when it is told to."""
    reads = Reads(world.store, world.bus, world.deployment, world.clock)
    return ManualStream(reads, world.clock)


def write(world, *events, process="A", **fields):
    world.store.journal.append(
        [an_entry(e, process=process, first=HOUR, last=HOUR, **fields) for e in events]
    )


def a_listener(stream, since=None, process="", nouns=()):
    """Somebody who listens, and was told where he begins."""
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


def test_a_listener_is_told_from_when_he_came_on(world, stream):
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


def test_everybody_is_told_everything_once_and_in_order(world, stream):
    listeners = [a_listener(stream) for _ in range(3)]
    for _ in range(3):
        write(world, "job.noop", "job.skipped")
        stream.run_once(NOW)
    assert [ids(one) for one in listeners] == [[1, 2, 3, 4, 5, 6]] * 3
    stream.run_once(NOW)
    assert [ids(one) for one in listeners] == [[]] * 3


def test_who_comes_back_is_told_what_he_missed_and_nothing_twice(world, stream):
    write(world, *["job.noop"] * 4)
    staying = a_listener(stream)
    back = a_listener(stream, since=2)
    write(world, "job.noop")
    stream.run_once(NOW)
    assert ids(back) == [3, 4, 5]
    assert ids(staying) == [5]


def test_what_came_in_the_moment_that_he_came_back_is_told_once(world, stream):
    a_listener(stream)
    write(world, "job.noop", "job.noop")
    back = a_listener(stream, since=0)  # the others had not been told of these yet either
    assert ids(back) == [1, 2]


def test_who_knows_more_than_the_others_were_told_yet_is_not_told_it_again(world, stream):
    staying = a_listener(stream)
    write(world, "job.noop", "job.noop")
    back = a_listener(stream, since=1)  # another MX told him, or a page that he just read
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


def test_very_much_at_once_is_not_told_one_by_one(world, stream):
    listener = a_listener(stream, nouns=("run",))
    write(world, *["job.noop"] * AT_ONCE)
    stream.run_once(NOW)
    write(world, *["job.noop"] * (AT_ONCE + 1))
    stream.run_once(NOW)
    write(world, "run.noop")
    stream.run_once(NOW)
    assert heard(listener)[0] == (1001, "behind", {"from": 500, "to": 1001})
    back = a_listener(stream, since=3)
    assert [event for _, event, _ in heard(back)] == ["behind"]


def test_who_claims_to_have_seen_more_than_there_is_reads_everything_again(world, stream):
    write(world, "job.noop")
    listener = a_listener(stream, since=99)
    assert heard(listener) == [(1, "behind", {"from": 99, "to": 1})]


def test_who_hears_nothing_is_told_now_and_then_that_all_is_well(world, stream):
    listener = a_listener(stream, nouns=("box",))
    listener.take()
    write(world, "job.noop")
    world.clock.advance(HEARTBEAT - 1)
    stream.run_once(NOW)
    assert listener.take() == b""
    world.clock.advance(1)
    stream.run_once(NOW)
    assert listener.take() == b": well\nid: 1\n\n"  # he need not be told of that one any more


def test_who_is_too_slow_is_cut_off_and_the_others_are_not(world, stream):
    slow, quick = a_listener(stream), a_listener(stream)
    told = 0
    while not slow.is_over:
        write(world, *["job.noop"] * AT_ONCE)
        stream.run_once(NOW)
        told += len(ids(quick))
        assert told <= WAITING + AT_ONCE
    assert slow.take() == b""
    assert stream.listeners == 1
    write(world, "job.noop")
    stream.run_once(NOW)
    assert len(ids(quick)) == 1


def test_no_more_than_so_many_listen(world, stream):
    for _ in range(LISTENERS):
        assert stream.join(Listener(lambda: None, None, "", ()))
    assert not stream.join(Listener(lambda: None, None, "", ()))


def test_while_the_store_is_away_listeners_are_told_and_then_all_goes_on(
    world, stream, monkeypatch
):
    listener = a_listener(stream)
    listener.take()

    def away(*_):
        raise StorageUnavailable("away")

    with monkeypatch.context() as patch:
        patch.setattr(type(world.store.journal), "since", away)
        stream.run_once(NOW)
        stream.run_once(NOW)
        assert listener.take() == b": the store does not answer\n\n"
        world.clock.advance(HEARTBEAT)
        stream.run_once(NOW)
        assert listener.take().startswith(b": well")
    write(world, "job.noop")
    stream.run_once(NOW)
    assert ids(listener) == [1]


def test_what_is_found_while_another_cannot_be_welcomed_is_told_later(world, stream, monkeypatch):
    write(world, "job.noop", "job.noop")
    staying = a_listener(stream)
    write(world, "job.noop")
    back = Listener(lambda: None, 0, "", ())
    stream.join(back)
    since = type(world.store.journal).since

    def breaks(journal, seq, *rest):
        if seq == 0:  # what he missed who came back
            raise StorageUnavailable("away")
        return since(journal, seq, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(type(world.store.journal), "since", breaks)
        stream.run_once(NOW)
        world.clock.advance(HEARTBEAT)
        stream.run_once(NOW)
    assert b"id: " not in back.take()  # it would be where he goes on the next time
    stream.run_once(NOW)
    assert ids(staying) == [3]
    assert ids(back) == [1, 2, 3]


def test_where_entries_were_forgotten_unheard_all_is_to_be_read_again(world, stream):
    staying = a_listener(stream)
    write(world, *["job.noop"] * 4)
    world.store.journal.prune(NOW + timedelta(days=1), 3)
    back = a_listener(stream, since=2)
    assert heard(staying) == [(4, "behind", {"from": 0, "to": 4})]
    assert heard(back) == [(4, "behind", {"from": 2, "to": 4})]
    again = a_listener(stream, since=3)
    assert ids(again) == [4]


def test_when_nobody_listens_nobody_looks(world):
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


def test_with_the_end_of_the_application_all_are_told_that_it_is_over(world, stream):
    listener = a_listener(stream)
    assert stream.stop()
    assert listener.is_over
    assert not stream.join(Listener(lambda: None, None, "", ()))


class Visit:
    """A request to the stream, as a server makes it."""

    def __init__(self, app, path="/api/v1/stream", headers=()):
        self.app = app
        self.status = None
        self.headers = {}
        self.body = b""
        self.told = asyncio.Event()
        self.gone = asyncio.Event()
        path, _, query = path.partition("?")
        self.scope = {
            "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1", "method": "GET", "scheme": "http", "path": path,
            "raw_path": path.encode(), "query_string": query.encode(), "root_path": "",
            "headers": [(b"host", b"localhost:5000"), *headers],
            "client": ("127.0.0.1", 50000), "server": ("127.0.0.1", 5000), "state": {},
        }  # fmt: skip
        self.task = asyncio.create_task(app(self.scope, self._receive, self._send))

    async def _receive(self):
        if not self.told.is_set() and self.status is None:
            return {"type": "http.request", "body": b"", "more_body": False}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message):
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {n.decode(): v.decode() for n, v in message["headers"]}
        else:
            self.body += message["body"]
        self.told.set()

    async def until(self, text):
        async with asyncio.timeout(10):
            while text not in self.body:
                self.told.clear()
                await self.told.wait()


def of(world):
    """An application, and its stream."""
    services = Services.at(replace(world.workplace("", "mx"), deployment=world.deployment))
    return create_app(services), services.stream


def test_over_http_messages_come_as_they_happen(world):
    app, stream = of(world)

    async def visit():
        visit = Visit(app, "/api/v1/stream?nouns=job,unit")
        await visit.until(b": listening")
        assert visit.status == 200
        assert visit.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert visit.headers["cache-control"] == "no-store"
        write(world, "box.synced", "job.noop")
        await visit.until(b"event: job")
        assert b"event: box" not in visit.body
        assert stream.listeners == 1
        visit.gone.set()
        async with asyncio.timeout(10):
            await visit.task
        assert stream.listeners == 0

    asyncio.run(visit())


def test_over_http_who_comes_back_goes_on_where_he_was(world):
    app, _ = of(world)
    write(world, "job.noop", "job.skipped", "job.processed")

    async def visit():
        visit = Visit(app, headers=[(b"last-event-id", b"1")])
        await visit.until(b"job.processed")
        assert visit.body.index(b"job.skipped") < visit.body.index(b"job.processed")
        assert b"job.noop" not in visit.body
        visit.gone.set()
        await visit.task

    asyncio.run(visit())


def test_over_http_the_end_of_mx_ends_the_answer_at_once(world):
    app, _ = of(world)

    async def visit():
        visit = Visit(app)
        await visit.until(b": listening")
        app.state.shutdown.set()
        async with asyncio.timeout(10):
            await visit.task

    asyncio.run(visit())


def test_over_http_one_more_than_can_is_put_off(world):
    app, stream = of(world)
    for _ in range(LISTENERS):
        stream.join(Listener(lambda: None, None, "", ()))

    async def visit():
        visit = Visit(app)
        async with asyncio.timeout(10):
            await visit.task
        assert visit.status == 503
        assert visit.headers["retry-after"] == "5"

    asyncio.run(visit())
    assert stream.stop()


@pytest.mark.parametrize("query", ["since=x", "since=-1", "nouns=Job", "nouns=a%0Ab"])
def test_over_http_what_makes_no_sense_is_refused(client, query):
    assert client.get(f"/api/v1/stream?{query}").status_code == 422


def test_the_thread_ends_with_the_last_listener(world):
    others = set(threading.enumerate())
    app, stream = of(world)

    async def visit():
        visit = Visit(app)
        await visit.until(b": listening")
        visit.gone.set()
        await visit.task

    asyncio.run(visit())
    assert stream.stop()
    for thread in set(threading.enumerate()) - others:
        thread.join(60)
    assert "stream" not in {thread.name for thread in set(threading.enumerate()) - others}
