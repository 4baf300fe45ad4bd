"""Turns at the threads of handlers: they are few, and one user must leave some to others."""

from __future__ import annotations

import asyncio
from typing import Final
from weakref import WeakValueDictionary

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from synergy.mx.middleware import HttpMiddleware
from synergy.mx.protection.origins import user_of

SHARE: Final = 8  # requests of a user that are handled at a time


class Turns(HttpMiddleware):
    """Handles `SHARE` requests of a user at a time; further ones wait.

    A turn ends when the response begins, because from then on it needs no thread for long: an event
    stream keeps no turn. Requests without a user take none: logins have limits of their own.
    """

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(app)
        self._by_user: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        user = user_of(HTTPConnection(scope))
        if user is None:
            await self.app(scope, receive, send)
            return
        turns = self._by_user.setdefault(user, asyncio.Semaphore(SHARE))
        await turns.acquire()
        is_ours = True

        def end() -> None:
            nonlocal is_ours
            if is_ours:
                is_ours = False
                turns.release()

        async def ending(message: Message) -> None:
            end()
            await send(message)

        try:
            await self.app(scope, receive, ending)
        finally:
            end()
