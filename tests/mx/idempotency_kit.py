"""An application behind the idempotency middleware, over any store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime

import pytest
from httpx2 import ASGITransport, AsyncClient
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from synergy.clock import SteppedClock
from synergy.commands.idempotency import KeptAnswers
from synergy.model.retention import DEFAULT
from synergy.mx.access import Person
from synergy.mx.accounts.roles import Role
from synergy.mx.error_responses import ErrorMiddleware
from synergy.mx.idempotency import Idempotency
from synergy.storage.protocol import Store
from tests.contract.concurrency import open_store

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
KEY = "Idempotency-Key"
REPLAYED = "idempotency-replayed"

Headers = dict[str, str] | list[tuple[str, str | bytes]]


class Service:
    """An application that notes its requests; `act` makes its responses."""

    def __init__(self, store: Store, owner: str = "mx-1") -> None:
        self.asked: list[tuple[str, bytes]] = []
        self.act: Callable[[], Response] = lambda: Response(
            f"answer {len(self.asked)}", 201, {"Location": "/x/1", "X-More": "1"}, "text/plain"
        )
        self.clock = SteppedClock(NOW)
        self._over(store, owner)

    def _over(self, store: Store, owner: str) -> None:
        inner = Idempotency(self._answer, KeptAnswers(store, owner, DEFAULT.answers), self.clock)
        self.transport = ASGITransport(ErrorMiddleware(_Identity(inner)))

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        self.asked.append((request.url.path, await request.body()))
        await self.act()(scope, receive, send)

    def ask(self, method: str, headers: Headers, body: str = "", path: str = "/api/v1/x"):
        """Sends a request in an event loop of its own, so that exceptions come out."""

        async def asked():
            async with AsyncClient(transport=self.transport, base_url="http://localhost") as client:
                return await client.request(method, path, content=body, headers=headers)

        return asyncio.run(asked())

    def post(self, key: str | None = "k", path: str = "/api/v1/x", body: str = "{}", who: str = ""):
        headers = {"X-Who": who} if key is None else {KEY: key, "X-Who": who}
        return self.ask("POST", headers, body, path)


class _Identity:
    """Takes the user from the header X-Who; `?` is no user."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        name = request.headers.get("x-who", "")
        request.state.person = None if name == "?" else Person(name, Role.OPERATOR)
        await self.app(scope, receive, send)


@pytest.fixture(params=["sqlite::memory:", "mongomock:"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    with closing(open_store(request.param)) as store:
        yield store


@pytest.fixture
def service(store: Store) -> Service:
    return Service(store)
