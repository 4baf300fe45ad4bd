"""The event stream over HTTP: live messages, until the client, the session or MX ends."""

from __future__ import annotations

import asyncio
import socket
import threading
from dataclasses import replace

import anyio
import pytest
from starlette.responses import StreamingResponse

from synergy.mx.protection import connection
from synergy.mx.protection.head_method import HeadMethod
from synergy.mx.protection.stream_shutdown import ShutdownSignal, StreamShutdown
from synergy.mx.services import Services
from synergy.mx.stream import MOST_LISTENERS
from synergy.mx.stream_listener import Listener
from tests.factories import an_entry
from tests.mx.asking import local_app
from tests.mx.server_kit import LIMIT, running
from tests.mx.test_stream import write


class Visit:
    """A request to the stream, as the server runs it."""

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
    """An application and its stream."""
    services = Services.at(replace(world.workplace("", "mx"), deployment=world.deployment))
    return local_app(services), services.stream


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


def test_over_http_last_event_id_continues_the_stream(world):
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


def test_over_http_the_end_of_mx_ends_the_response_at_once(world):
    app, _ = of(world)

    async def visit():
        visit = Visit(app)
        await visit.until(b": listening")
        app.state.shutdown.set()
        async with asyncio.timeout(10):
            await visit.task

    asyncio.run(visit())


def test_over_http_listeners_above_the_limit_are_refused(world):
    app, stream = of(world)
    for _ in range(MOST_LISTENERS):
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
def test_over_http_invalid_parameters_are_refused(client, query):
    assert client.get(f"/api/v1/stream?{query}").status_code == 422


# Answers that never end


async def endless():
    while True:
        yield b": still here\n\n"
        await anyio.lowlevel.checkpoint()


def streamed(on_message, method="GET", wrap=None, **state):
    """The messages of an endless stream; `on_message` receives their count so far."""
    sent = []
    shutdown = ShutdownSignal()
    app = StreamShutdown(StreamingResponse(endless(), media_type="text/event-stream"), shutdown)

    async def receive():
        if sent:
            await anyio.sleep_forever()
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)
        on_message(len(sent), shutdown)

    async def run():
        scope = {"type": "http", "method": method, "headers": [], "state": state,
                 "asgi": {"version": "3.0", "spec_version": "2.3"}}  # fmt: skip
        with anyio.fail_after(30):
            await (wrap(app) if wrap else app)(scope, receive, send)

    anyio.run(run)
    return sent


@pytest.mark.parametrize("at", [1, 7])
def test_streams_end_cleanly_when_mx_ends(at):
    sent = streamed(lambda number, shutdown: shutdown.set() if number == at else None)
    assert sent[-1] == {"type": "http.response.body", "body": b"", "more_body": False}
    assert [each.get("more_body") for each in sent[1:]].count(False) == 1


def test_a_stream_ends_with_its_session():
    sent = []

    def is_still():
        return len(sent) < 5

    told = streamed(lambda number, _: sent.append(number), is_still=is_still)
    bodies = [each["body"] for each in told[1:]]
    assert bodies == [b": still here\n\n"] * 4 + [b""]


def test_head_of_a_stream_is_handled_at_once():
    told = streamed(lambda *_: None, "HEAD", wrap=HeadMethod)
    assert [each["type"] for each in told] == ["http.response.start", "http.response.body"]
    assert told[1]["body"] == b""


REQUEST = b"GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\n\r\n"
LONG = "x" * 100_000


@pytest.fixture
def lost(monkeypatch):
    """An event that is set when the server has closed a connection."""
    lost, let_go = threading.Event(), connection.HttpConnection.connection_lost

    def noted(self, exc):
        let_go(self, exc)
        lost.set()

    monkeypatch.setattr(connection.HttpConnection, "connection_lost", noted)
    return lost


def until(connection, text):
    heard = b""
    while text not in heard:
        heard += connection.recv(65_536)
    return heard


def test_a_client_that_reads_nothing_is_disconnected(world, place, monkeypatch, lost):
    monkeypatch.setattr(connection, "READ_SECONDS", 0.1)
    with running(place) as (_, port):
        deaf = socket.create_connection(("127.0.0.1", port), LIMIT)
        deaf.sendall(REQUEST)
        until(deaf, b": listening")
        world.store.journal.append([an_entry("job.noop", why=LONG) for _ in range(200)])
        assert lost.wait(LIMIT)
        with socket.create_connection(("127.0.0.1", port), LIMIT) as keen:
            keen.sendall(REQUEST)
            until(keen, b": listening")
            world.store.journal.append([an_entry("job.skipped")])
            until(keen, b"job.skipped")
        deaf.close()
