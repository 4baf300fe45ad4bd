"""HEAD, for every path that has GET."""

from __future__ import annotations

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class HeadMethod:
    """Answers HEAD as GET would be answered, but without the body.

    Answers that never end are told that nobody listens any more.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return
        answered = anyio.Event()
        has_asked = False

        async def nothing() -> Message:
            nonlocal has_asked
            if has_asked:
                await answered.wait()
                return {"type": "http.disconnect"}
            has_asked = True
            return {"type": "http.request", "body": b"", "more_body": False}

        async def only_head(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body", "body": b"", "more_body": False})
                answered.set()

        await self.app({**scope, "method": "GET"}, nothing, only_head)
