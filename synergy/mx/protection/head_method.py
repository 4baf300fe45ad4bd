"""HEAD, for every path that has GET."""

from __future__ import annotations

import anyio
from starlette.types import Message, Receive, Scope, Send

from synergy.mx.middleware import HttpMiddleware


class HeadMethod(HttpMiddleware):
    """Handles HEAD as GET and sends no body.

    A handler whose response never ends sees a disconnected client, so that it stops.
    """

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return
        is_sent = anyio.Event()
        is_received = False

        async def no_body() -> Message:
            nonlocal is_received
            if is_received:
                await is_sent.wait()
                return {"type": "http.disconnect"}
            is_received = True
            return {"type": "http.request", "body": b"", "more_body": False}

        async def only_head(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body", "body": b"", "more_body": False})
                is_sent.set()

        await self.app({**scope, "method": "GET"}, no_body, only_head)
