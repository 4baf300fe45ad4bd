"""Idempotency keys: requests with the same `Idempotency-Key` are carried out once.

The response to a POST of the API with this header is kept by person and key, as long as the setting
`retention` says for `answers` (24 hours by default). The same request (method, path, query, body,
role) gets it again. Another request with the key is refused with 422; the same one, while the first
is still running, with 409 and `Retry-After`. Server errors, and refusals because of credentials,
size, type, slowness or rate, are not kept: the key is free again.

A repeated request is carried out again if MX dies after the action and before it has kept the
response, or if the action takes more than ten minutes. The journal shows both, and an action does
only what is still to be done.
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
LONGEST_BODY: Final = 1 << 20  # bytes of the longest body that is kept
RETRY_SECONDS: Final = "1"  # after which the first request has probably ended
NOT_KEPT: Final = frozenset([401, 403, 408, 413, 415, 429])  # besides server errors
HEADERS: Final = ("content-type", "location")  # headers of responses that are kept


class Idempotency(HttpMiddleware):
    """Keeps responses and repeats them; must come after authentication."""

    def __init__(self, app: ASGIApp, kept_answers: KeptAnswers, clock: Clock) -> None:
        super().__init__(app)
        self._kept = kept_answers
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
            await self._act(found, scope, _replayed(body, receive), send)
        else:
            await _kept(found)(scope, receive, send)

    def _begin(self, person: str, key: str, fingerprint: str) -> tuple[Answer, bool]:
        try:
            return self._kept.begin(person, key, fingerprint, self._clock.now())
        except UnderWay as error:
            raise HTTPException(409, str(error), {"Retry-After": RETRY_SECONDS}) from error

    async def _act(self, begun: Answer, scope: Scope, receive: Receive, send: Send) -> None:
        """Keeps the response, then sends it: a client that received it causes no second action."""
        messages: list[Message] = []

        async def collected(message: Message) -> None:
            messages.append(message)

        try:
            await self.app(scope, receive, collected)
        except Exception:
            await run_in_threadpool(self._kept.drop, begun)
            raise
        await run_in_threadpool(self._keep, begun, messages)
        for message in messages:
            await send(message)

    def _keep(self, begun: Answer, messages: Sequence[Message]) -> None:
        status, headers = messages[0]["status"], Headers(raw=messages[0]["headers"])
        if status >= 500 or status in NOT_KEPT:
            self._kept.drop(begun)
            return
        kept = {name: headers[name] for name in HEADERS if name in headers}
        body = b"".join(message.get("body", b"") for message in messages[1:])
        self._kept.keep(begun, status, kept, body if len(body) <= LONGEST_BODY else None)


def describe(operation: dict[str, Any]) -> None:
    """Adds the header to the OpenAPI description of a POST."""
    key = {
        "name": HEADER,
        "in": "header",
        "description": "a key of your choice: the same request with the same key is carried out "
        "once, and gets the same response while that is kept (the setting `retention`; by default "
        "24 hours)",
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
    """The whole body, whose size is limited already; None if the client disconnects."""
    parts = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A `receive` that repeats a body that was received already, then continues."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return pending.pop() if pending else await receive()

    return replayed


def _fingerprint(scope: Scope, body: bytes, role: Role) -> str:
    """A hash of a request; the length before each part keeps parts apart."""
    path = str(scope["path"]).encode()
    digest = hashlib.blake2b(digest_size=16)
    for part in (scope["method"].encode(), path, scope["query_string"], body, role.value.encode()):
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def _kept(answer: Answer) -> Response:
    """A kept answer as a response."""
    assert answer.status is not None
    if answer.body is None:
        phrase = HTTPStatus(answer.status).phrase
        response = problem(
            answer.status,
            f"this request was answered before with {answer.status} {phrase}, but the response was "
            "too long to keep: check the current state",
        )
        if "location" in answer.headers:
            response.headers["location"] = answer.headers["location"]
    else:
        response = Response(answer.body, answer.status, dict(answer.headers))
    response.headers[REPLAYED] = "true"
    return response
