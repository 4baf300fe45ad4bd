"""Idempotency keys: requests with the same `Idempotency-Key` are carried out once.

The response to a POST of the API with this header is kept for 24 hours by person and key, and
returned again for the same request (method, path, query, body, role). Another request with the key
is refused with 422; the same one, while the first is still running, with 409 and `Retry-After`.
Server errors, and responses about the form of a request (credentials, size, type), are not kept:
the key is free again.

If MX dies between acting and keeping the response, the request is carried out again when it is
repeated. The journal shows both, and actions do only what is still to be done.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Final

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from synergy.clock import Clock
from synergy.commands.idempotency import KeptAnswers, UnderWay
from synergy.errors import InvalidValue
from synergy.model.answer import Answer
from synergy.mx.access import Role, person_of
from synergy.mx.middleware import HttpMiddleware
from synergy.mx.problems import errors, problem

HEADER: Final = "Idempotency-Key"
REPLAYED: Final = "Idempotency-Replayed"
LONGEST_KEY: Final = 255
LONGEST_BODY: Final = 1 << 20  # bytes of a body that is kept
RETRY_AFTER: Final = "1"  # seconds after which the first request has probably been answered
NOT_KEPT: Final = frozenset([401, 403, 408, 413, 415, 429])
HEADERS: Final = ("content-type", "location")  # that are kept


class Idempotency(HttpMiddleware):
    """Keeps responses, and returns them again. Comes after authentication."""

    def __init__(self, app: ASGIApp, answering: KeptAnswers, clock: Clock) -> None:
        super().__init__(app)
        self._answering = answering
        self._clock = clock

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        person = person_of(HTTPConnection(scope)) if _is_concerned(scope) else None
        keys = Headers(scope=scope).getlist(HEADER) if person is not None else []
        if person is None or not keys:
            await self.app(scope, receive, send)
            return
        key = _checked(keys)
        body = await _body(receive)
        if body is None:
            return  # the client has left
        found, is_ours = await run_in_threadpool(
            self._begin, person.name, key, _fingerprint(scope, body, person.role)
        )
        if is_ours:
            await self._act(found, scope, _again(body, receive), send)
        else:
            await _kept(found)(scope, receive, send)

    def _begin(self, person: str, key: str, fingerprint: str) -> tuple[Answer, bool]:
        try:
            return self._answering.begin(person, key, fingerprint, self._clock.now())
        except UnderWay as error:
            raise HTTPException(409, str(error), {"Retry-After": RETRY_AFTER}) from error

    async def _act(self, begun: Answer, scope: Scope, receive: Receive, send: Send) -> None:
        """Keeps the response before sending it: a client that has it never causes a second run."""
        messages: list[Message] = []

        async def collected(message: Message) -> None:
            messages.append(message)

        try:
            await self.app(scope, receive, collected)
        except Exception:
            await run_in_threadpool(self._answering.drop, begun)
            raise
        await run_in_threadpool(self._keep, begun, messages)
        for message in messages:
            await send(message)

    def _keep(self, begun: Answer, messages: Sequence[Message]) -> None:
        status, headers = messages[0]["status"], Headers(raw=messages[0]["headers"])
        if status >= 500 or status in NOT_KEPT:
            self._answering.drop(begun)
            return
        kept = {name: headers[name] for name in HEADERS if name in headers}
        body = b"".join(message.get("body", b"") for message in messages[1:])
        self._answering.keep(begun, status, kept, body if len(body) <= LONGEST_BODY else None)


def describe(operation: dict[str, Any]) -> None:
    """Adds the header to the OpenAPI description of a POST."""
    key = {
        "name": HEADER,
        "in": "header",
        "description": "a key of your choice: the same request with the same key is carried out "
        "once, and gets the same response for 24 hours",
        "schema": {
            "type": "string", "minLength": 1, "maxLength": LONGEST_KEY, "pattern": "^[!-~]+$",
        },
    }  # fmt: skip
    operation.setdefault("parameters", []).append(key)
    responses = operation["responses"]
    for status, response in errors(409).items():
        responses.setdefault(str(status), response)
    replayed = {
        "description": "`true` if this is the response to an earlier request",
        "schema": {"type": "string", "enum": ["true"]},
    }
    for status, response in responses.items():
        if status.startswith("2"):
            response.setdefault("headers", {})[REPLAYED] = replayed


def _is_concerned(scope: Scope) -> bool:
    return scope["method"] == "POST" and str(scope["path"]).startswith("/api/")


def _checked(keys: Sequence[str]) -> str:
    (key, *more) = keys
    is_visible = all("!" <= character <= "~" for character in key)
    if more or not 0 < len(key) <= LONGEST_KEY or not is_visible:
        raise InvalidValue(
            f"{HEADER} must be 1 to {LONGEST_KEY} visible ASCII characters without spaces"
        )
    return key


async def _body(receive: Receive) -> bytes | None:
    """The whole body, which is limited already; None if the client disconnects."""
    parts = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


def _again(body: bytes, receive: Receive) -> Receive:
    """Receives a body again that was received before, then whatever follows it."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def given() -> Message:
        return pending.pop() if pending else await receive()

    return given


def _fingerprint(scope: Scope, body: bytes, role: Role) -> str:
    """A hash of a request; lengths keep its parts from running into one another."""
    path = str(scope["path"]).encode()
    found = hashlib.blake2b(digest_size=16)
    asked = (scope["method"].encode(), path, scope["query_string"], body)
    for part in (*asked, role.value.encode()):
        found.update(len(part).to_bytes(8, "big") + part)
    return found.hexdigest()


def _kept(answer: Answer) -> Response:
    """The response that was kept."""
    assert answer.status is not None
    if answer.body is None:
        phrase = HTTPStatus(answer.status).phrase
        again = problem(
            answer.status,
            f"this request was answered before ({answer.status} {phrase}), but the response was "
            "too long to keep: check the current state",
        )
        if "location" in answer.headers:
            again.headers["location"] = answer.headers["location"]
    else:
        again = Response(answer.body, answer.status, dict(answer.headers))
    again.headers[REPLAYED] = "true"
    return again
