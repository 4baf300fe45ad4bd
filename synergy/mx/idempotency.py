"""What is asked twice under one `Idempotency-Key` is done once.

For every POST of the API that has the header: the answer is kept for 24 hours by person and
key, and given again to the same request (method, path, query, body), as long as he may do what
he might then. Another request under the key is refused with 422; the same one, while the first is
still acted on, with 409 and `Retry-After`. Failures of the service, and answers that are not about
what was asked (who asks, how much, in which form), are not kept: the key is free again.

If MX dies between acting and keeping, nobody knows whether it acted: who asks again is acted
for again. That is told by the journal, and actions look first whether there is anything to do.
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
from synergy.mx.problems import answers, problem

HEADER: Final = "Idempotency-Key"
REPLAYED: Final = "Idempotency-Replayed"
LONGEST_KEY: Final = 255
LONGEST_BODY: Final = 1 << 20  # bytes of an answer that is kept
AGAIN: Final = "1"  # seconds after which the first one has probably been answered
NOT_KEPT: Final = frozenset([401, 403, 408, 413, 415, 429])
HEADERS: Final = ("content-type", "location")  # of an answer, that are its own


class Idempotency:
    """Keeps answers, and gives them again. Who asks must be known by now."""

    def __init__(self, app: ASGIApp, answering: KeptAnswers, clock: Clock) -> None:
        self.app = app
        self._answering = answering
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
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
            raise HTTPException(409, str(error), {"Retry-After": AGAIN}) from error

    async def _act(self, begun: Answer, scope: Scope, receive: Receive, send: Send) -> None:
        """The answer is kept before it is sent, so that whoever has it is never acted for again."""
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
    """Adds to what OpenAPI says of a POST what holds for all of them."""
    key = {
        "name": HEADER,
        "in": "header",
        "description": "a word of your own for this request: the same request under the same key "
        "is done once, and answered the same for 24 hours",
        "schema": {
            "type": "string", "minLength": 1, "maxLength": LONGEST_KEY, "pattern": "^[!-~]+$",
        },
    }  # fmt: skip
    operation.setdefault("parameters", []).append(key)
    responses = operation["responses"]
    for status, response in answers(409).items():
        responses.setdefault(str(status), response)
    replayed = {
        "description": "`true` if this is the kept answer of an earlier request",
        "schema": {"type": "string", "enum": ["true"]},
    }
    for status, response in responses.items():
        if status.startswith("2"):
            response.setdefault("headers", {})[REPLAYED] = replayed


def _is_concerned(scope: Scope) -> bool:
    return (
        scope["type"] == "http"
        and scope["method"] == "POST"
        and str(scope["path"]).startswith("/api/")
    )


def _checked(keys: Sequence[str]) -> str:
    (key, *more) = keys
    is_visible = all("!" <= character <= "~" for character in key)
    if more or not 0 < len(key) <= LONGEST_KEY or not is_visible:
        raise InvalidValue(
            f"{HEADER} has to be one word of 1 to {LONGEST_KEY} visible ASCII characters"
        )
    return key


async def _body(receive: Receive) -> bytes | None:
    """The whole body, whose length is limited before; None if the client leaves."""
    parts = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


def _again(body: bytes, receive: Receive) -> Receive:
    """Gives a body that was received once more, and then whatever follows it."""
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def given() -> Message:
        return pending.pop() if pending else await receive()

    return given


def _fingerprint(scope: Scope, body: bytes, role: Role) -> str:
    """A word that is different for different requests; its parts cannot run into one another."""
    path = str(scope["path"]).encode()
    found = hashlib.blake2b(digest_size=16)
    asked = (scope["method"].encode(), path, scope["query_string"], body)
    for part in (*asked, role.value.encode()):
        found.update(len(part).to_bytes(8, "big") + part)
    return found.hexdigest()


def _kept(answer: Answer) -> Response:
    """An answer that was given before."""
    assert answer.status is not None
    if answer.body is None:
        phrase = HTTPStatus(answer.status).phrase
        again = problem(
            answer.status,
            f"this was answered before ({answer.status} {phrase}); the answer was too long to be "
            "kept: look at what there is now",
        )
        if "location" in answer.headers:
            again.headers["location"] = answer.headers["location"]
    else:
        again = Response(answer.body, answer.status, dict(answer.headers))
    again.headers[REPLAYED] = "true"
    return again
