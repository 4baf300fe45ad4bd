"""Ends responses that never end by themselves: event streams."""

from __future__ import annotations

import anyio
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from synergy.mx.access import is_still_authenticated
from synergy.mx.middleware import HttpMiddleware

_STREAM = "text/event-stream"


class ShutdownSignal:
    """Signals to all running responses that MX stops; for the event loop's thread only."""

    def __init__(self) -> None:
        self._is_set = False
        self._responses: set[anyio.Event] = set()

    def set(self) -> None:
        """Ends all running responses, and all later ones."""
        self._is_set = True
        for ended in self._responses:
            ended.set()

    def add(self, ended: anyio.Event) -> None:
        """Has `ended` set at shutdown."""
        self._responses.add(ended)
        if self._is_set:
            ended.set()

    def remove(self, ended: anyio.Event) -> None:
        self._responses.discard(ended)


class StreamShutdown(HttpMiddleware):
    """Makes handlers see a disconnected client when MX stops.

    An event stream also ends when its client is no longer authenticated, after a logout or a change
    of the account. So the code that writes a stream needs to handle neither case.
    """

    def __init__(self, app: ASGIApp, shutdown: ShutdownSignal) -> None:
        super().__init__(app)
        self._shutdown = shutdown

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = _Response(HTTPConnection(scope), receive, send)
        self._shutdown.add(response.ended)
        try:
            await self.app(scope, response.receive, response.send)
        finally:
            self._shutdown.remove(response.ended)
        await response.finish()


class _Response:
    """A running response, which `ended` cuts short."""

    def __init__(self, request: HTTPConnection, receive: Receive, send: Send) -> None:
        self.ended = anyio.Event()
        self._request = request
        self._receive = receive
        self._send = send
        self._is_received = False
        self._is_stream = False
        self._is_running = False

    async def receive(self) -> Message:
        """The body of the request, then a disconnect, of the client or by `ended`."""
        if not self._is_received:
            message = await self._receive()
            self._is_received = not message.get("more_body", False)
            return message
        received: Message = {"type": "http.disconnect"}
        async with anyio.create_task_group() as both:

            async def listen() -> None:
                nonlocal received
                received = await self._receive()
                both.cancel_scope.cancel()

            both.start_soon(listen)
            await self.ended.wait()
            both.cancel_scope.cancel()
        return received

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._is_running = True
            kind = Headers(raw=message["headers"]).get("content-type", "")
            self._is_stream = kind.startswith(_STREAM)
        elif not message.get("more_body", False):
            self._is_running = False
        elif self._is_stream and not is_still_authenticated(self._request):
            self.ended.set()
            return
        await self._send(message)

    async def finish(self) -> None:
        """Ends the body of a response that was cut short."""
        if self._is_running and self.ended.is_set():
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})
