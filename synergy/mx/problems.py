"""What is answered when something is not as it should be: problem+json (RFC 9457).

`detail` is written for the person who has to act on it. It names no path, no secret, and
nothing of what is inside.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import Response

from synergy.errors import (
    ConfigurationError,
    InvalidValue,
    MessagingUnavailable,
    NotFound,
    Refused,
    StorageUnavailable,
    SynergyError,
    Unreachable,
)
from synergy.runtime.masking import mask

MEDIA_TYPE = "application/problem+json"
AGAIN = "5"  # seconds after which somebody who was put off may ask again
LONGEST = 1000  # characters of a text
LOOKED_AT = 4 * LONGEST  # characters of a text in which secrets are looked for
URL = 1400  # characters of one up to the end of its password, as `mask` knows them
MOST = 50  # mistakes that are told

log = logging.getLogger(__name__)

_UNREADABLE = "There was an error parsing the body"  # as FastAPI says it of any
_CLASS = re.compile(r"(?:[A-Z][a-z]+)+")  # of a body; no field is called so
_FIELD = re.compile(r"(\w+)(?:(?: \d+)?: | is missing)")  # payload: ..., constraints 1: ...


class Unknown(SynergyError):
    """Nobody said who asks, or it was not believed."""


class Forbidden(SynergyError):
    """Who asks may not do this."""


class Closed(SynergyError):
    """Nobody can be let in: users or sessions cannot be read. The message is for the log."""


class Mistake(BaseModel):
    """One thing that is wrong with what was sent."""

    where: str
    detail: str


class Problem(BaseModel):
    """What is wrong, and what would help."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    errors: list[Mistake] = []


STATUS: dict[type[SynergyError], int] = {
    InvalidValue: 422,
    ConfigurationError: 422,
    NotFound: 404,
    Refused: 409,
    Unknown: 401,
    Forbidden: 403,
    StorageUnavailable: 503,
    MessagingUnavailable: 503,
    Unreachable: 503,
    Closed: 503,
}
_PUT_OFF = {
    StorageUnavailable: "the store does not answer: try again; /readyz says what is not well",
    Closed: "nobody can be let in now; the log of MX says why",
    MessagingUnavailable: "the bus does not answer: try again; /readyz says what is not well",
}


def problem(status: int, detail: str, errors: Sequence[Mistake] = ()) -> Response:
    """An answer that says what is wrong."""
    return answer(_problem(status, detail, errors))


def answer(found: Problem) -> Response:
    """A problem as the answer to a request."""
    return Response(found.model_dump_json(), found.status, headers(found.status), MEDIA_TYPE)


def headers(status: int) -> dict[str, str]:
    """What goes with a status, whatever the body is."""
    match status:
        case 401:
            return {"WWW-Authenticate": "Bearer"}
        case 503:
            return {"Retry-After": AGAIN}
    return {}


def answers(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What OpenAPI says of these problems, for `responses=` of a route or router."""
    return {
        status: {
            "description": HTTPStatus(status).phrase,
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status in statuses
    }


def problem_of(error: Exception) -> Problem:
    """What is told of an error; what nobody expected goes into the log, and is not told."""
    match error:
        case SynergyError():
            return _known(error)
        case RequestValidationError():
            return _invalid(error)
        case HTTPException(status_code=404, detail="Not Found"):
            return _problem(404, "there is nothing at this address")
        case HTTPException(detail=detail) if detail == _UNREADABLE:
            return _problem(400, "the body cannot be read: it is no JSON in UTF-8, or too deep")
        case HTTPException():
            return _problem(error.status_code, str(error.detail))
    return _unexpected(error)


def _problem(status: int, detail: str, errors: Sequence[Mistake] = ()) -> Problem:
    title = HTTPStatus(status).phrase
    return Problem(title=title, status=status, detail=_told(detail), errors=list(errors[:MOST]))


def _mistake(where: str, detail: str) -> Mistake:
    return Mistake(where=_told(where), detail=_told(detail))


def _told(text: str) -> str:
    """Without secrets, and bounded: what was sent may be quoted in it, and may be anything."""
    shown = mask(text[:LOOKED_AT])
    if len(text) > LOOKED_AT:
        shown = shown[:-URL]  # of which the password may end behind what was looked at
    shown = shown.encode(errors="replace").decode()
    is_whole = len(text) <= LOOKED_AT and len(shown) <= LONGEST
    return shown if is_whole else f"{shown[:LONGEST]} ..."


def _known(error: SynergyError) -> Problem:
    kind = next((kind for kind in type(error).__mro__ if kind in STATUS), None)
    if kind is None:
        return _unexpected(error)
    status = STATUS[kind]
    detail = next((_PUT_OFF[kind] for kind in type(error).__mro__ if kind in _PUT_OFF), str(error))
    if status >= 500:
        log.warning("A request failed: %s", error, extra={"event": "mx.unavailable"})
    mistakes = map(str, getattr(error, "mistakes", ()))
    return _problem(status, detail, [_mistake(_where(each), each) for each in mistakes])


def _where(mistake: str) -> str:
    """The field of the body that is wrong, as definitions and events name it; "" if none is."""
    found = _FIELD.match(mistake)
    return f"body.{found[1]}" if found is not None else ""


def _invalid(error: RequestValidationError) -> Problem:
    found = error.errors()
    mistakes = [_mistake(_place(each), each["msg"]) for each in found[:MOST]]
    if any(each["type"] == "json_invalid" for each in found):
        return _problem(400, "the body is not JSON", mistakes)
    said = "; ".join(f"{each.where}: {each.detail}" for each in mistakes)
    return _problem(422, said, mistakes)


def _place(error: dict[str, Any]) -> str:
    """Where in a request something is; without the classes of which a body may be one."""
    where = [str(part) for part in error["loc"]]
    is_of_class = len(where) > 1 and _CLASS.fullmatch(where[1]) is not None
    if is_of_class and not (error["type"] == "extra_forbidden" and len(where) == 2):
        del where[1]
    return ".".join(where)


def _unexpected(error: Exception) -> Problem:
    log.error("A request failed", exc_info=error, extra={"event": "mx.failed"})
    return _problem(500, "something went wrong here; the log of MX says what")
