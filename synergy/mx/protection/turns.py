"""Turns at the threads of handlers, which are few: one user leaves some to all others."""

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
    """Has further requests of a user wait, until the response to an earlier one begins.

    From then on a response needs no thread for long; so event streams take no turns. Requests
    without a user take none either: logins have limits of their own.
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
