"""The end of answers that never end by themselves: event streams."""

from __future__ import annotations

import anyio
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from synergy.mx.access import is_still

_STREAM = "text/event-stream"


class ShutdownSignal:
    """The wish that all answers under way end soon. For the thread of the event loop only."""

    def __init__(self) -> None:
        self._is_wished = False
        self._open: set[anyio.Event] = set()

    def wish(self) -> None:
        """Tells all that are open now, and all that will be."""
        self._is_wished = True
        for over in self._open:
            over.set()

    def add(self, over: anyio.Event) -> None:
        """Has `over` set when the wish is made."""
        self._open.add(over)
        if self._is_wished:
            over.set()

    def remove(self, over: anyio.Event) -> None:
        self._open.discard(over)


class StreamShutdown:
    """Tells answers that nobody listens any more when MX is to end.

    The same goes for an event stream whose listener would not be let in again: he logged out,
    or is no longer known. So nobody who writes a stream has to think of it.
    """

    def __init__(self, app: ASGIApp, ending: ShutdownSignal) -> None:
        self.app = app
        self._ending = ending

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        answer = _Answer(HTTPConnection(scope), receive, send)
        self._ending.add(answer.over)
        try:
            await self.app(scope, answer.hear, answer.tell)
        finally:
            self._ending.remove(answer.over)
        await answer.finish()


class _Answer:
    """An answer under way, which `over` cuts short."""

    def __init__(self, request: HTTPConnection, receive: Receive, send: Send) -> None:
        self.over = anyio.Event()
        self._request = request
        self._receive = receive
        self._send = send
        self._is_heard = False
        self._is_stream = False
        self._is_under_way = False

    async def hear(self) -> Message:
        """The body of the request, and then that its sender has gone, or is to be left."""
        if not self._is_heard:
            message = await self._receive()
            self._is_heard = not message.get("more_body", False)
            return message
        heard: Message = {"type": "http.disconnect"}
        async with anyio.create_task_group() as both:

            async def listen() -> None:
                nonlocal heard
                heard = await self._receive()
                both.cancel_scope.cancel()

            both.start_soon(listen)
            await self.over.wait()
            both.cancel_scope.cancel()
        return heard

    async def tell(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._is_under_way = True
            kind = Headers(raw=message["headers"]).get("content-type", "")
            self._is_stream = kind.startswith(_STREAM)
        elif not message.get("more_body", False):
            self._is_under_way = False
        elif self._is_stream and not is_still(self._request):
            self.over.set()
            return
        await self._send(message)

    async def finish(self) -> None:
        """Ends an answer that was cut short."""
        if self._is_under_way and self.over.is_set():
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})
