"""A client of MX that runs the application in this process and thread."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Self

import httpx2
from fastapi import FastAPI
from fastapi.testclient import TestClient

from synergy.mx.accounts.authenticator import Authenticator
from synergy.mx.accounts.local_access import LocalAccess
from synergy.mx.accounts.sessions import Sessions
from synergy.mx.app import create_app
from synergy.mx.services import Services

NO_HOME = Path("/nonexistent")


TOKEN = "synergy_of_the_home"


def local_app(services: Services, *, is_own: bool = True, home: Path = NO_HOME) -> FastAPI:
    """MX without users, for requests of the user that it runs as, or of another one."""
    sessions = Sessions(home / "sessions.json")
    local = LocalAccess(TOKEN, sessions, services.clock, lambda _: is_own)
    return create_app(services, Authenticator(local))


class Client(TestClient):
    """Sends requests to MX; as a context manager, it also runs MX's background services.

    Otherwise each request has an event loop of its own, since nothing runs between two requests:
    Starlette's client wakes a thread eight times for each, which takes as long as the answer.
    """

    def __init__(self, app: FastAPI, client: tuple[str, int], **options: Any) -> None:
        super().__init__(app, client=client, raise_server_exceptions=False, **options)
        self._of_threads = self._transport
        if not _is_in_loop():  # the thread that drives a browser has a loop
            self._transport = _AtOnce(app, client)

    def read(self, path: str, status: int = 200) -> Any:
        """Returns the JSON at a path below `/api/v1`; the response must have this status."""
        return _json(self.get(f"/api/v1/{path}"), status)

    def act(self, path: str, body: Any, status: int = 200, **headers: str) -> Any:
        """Posts JSON to a path below `/api/v1`; returns the JSON of a response with this status."""
        return _json(self.post(f"/api/v1/{path}", json=body, headers=headers), status)

    def page(self, path: str, status: int = 200) -> str:
        """Returns the text of a page."""
        answer = self.get(path, headers={"Accept": "text/html"})
        assert answer.status_code == status, f"{path}: {answer.text[:300]}"
        assert answer.headers["content-type"].startswith("text/html")
        return answer.text

    def __enter__(self) -> Self:
        self._transport = self._of_threads
        return super().__enter__()


def _is_in_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _json(answer: httpx2.Response, status: int) -> Any:
    assert answer.status_code == status, answer.text
    return answer.json()


class _AtOnce(httpx2.BaseTransport):
    def __init__(self, app: FastAPI, client: tuple[str, int]) -> None:
        self._inner = httpx2.ASGITransport(app, raise_app_exceptions=False, client=client)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        request.read()  # also a body that is sent in chunks
        return asyncio.run(self._ask(request))

    async def _ask(self, request: httpx2.Request) -> httpx2.Response:
        answer = await self._inner.handle_async_request(request)
        body = b"".join([part async for part in answer.stream])
        return httpx2.Response(
            answer.status_code, headers=answer.headers.raw, stream=httpx2.ByteStream(body)
        )
