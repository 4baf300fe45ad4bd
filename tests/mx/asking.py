"""A client of MX in this process whose requests are carried out where they are made."""

from __future__ import annotations

import asyncio
from typing import Any, Self

import httpx2
from fastapi import FastAPI
from fastapi.testclient import TestClient


class Client(TestClient):
    """What asks MX; as a context manager, with what runs beside MX's handlers.

    Without that nothing has to be at work between two requests, so each is an event loop of its
    own. Starlette's client wakes a thread eight times for each, which takes as long as the answer.
    """

    def __init__(self, app: FastAPI, client: tuple[str, int], **options: Any) -> None:
        super().__init__(app, client=client, raise_server_exceptions=False, **options)
        self._of_threads = self._transport
        if not _is_in_loop():  # as the thread is that drives a browser
            self._transport = _AtOnce(app, client)

    def __enter__(self) -> Self:
        self._transport = self._of_threads
        return super().__enter__()


def _is_in_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class _AtOnce(httpx2.BaseTransport):
    def __init__(self, app: FastAPI, client: tuple[str, int]) -> None:
        self._inner = httpx2.ASGITransport(app, raise_app_exceptions=False, client=client)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        request.read()  # what comes bit by bit, too
        return asyncio.run(self._ask(request))

    async def _ask(self, request: httpx2.Request) -> httpx2.Response:
        answer = await self._inner.handle_async_request(request)
        body = b"".join([part async for part in answer.stream])
        return httpx2.Response(
            answer.status_code, headers=answer.headers.raw, stream=httpx2.ByteStream(body)
        )
