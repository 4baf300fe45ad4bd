"""Error responses as problem+json (RFC 9457).

`detail` says what to do. It names no path, no secret and no internals.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import Response

from synergy.errors import (
    AuditLogUnavailable,
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
RETRY_SECONDS = "5"  # the value of Retry-After
LONGEST = 1000  # characters of a text
SEARCHED = 4 * LONGEST  # characters of a text that are searched for secrets
LONGEST_URL = 1400  # characters of a URL up to the end of its password, as `mask` finds them
MISTAKES = 50  # mistakes that are listed

log = logging.getLogger(__name__)

_UNREADABLE = "There was an error parsing the body"  # FastAPI's detail for any unreadable body
_CLASS = re.compile(r"(?:[A-Z][a-z]+)+")  # the class of a body; no field has such a name
_FIELD = re.compile(r"(\w+)(?:(?: \d+)?: | is missing)")  # payload: ..., constraints 1: ...


class Unauthenticated(SynergyError):
    """Credentials are missing or invalid."""


class Forbidden(SynergyError):
    """The role of the sender does not allow this."""


class ShareExceeded(SynergyError):
    """A user or an address has taken its share of what all clients share."""


class AuthenticationUnavailable(SynergyError):
    """Users or sessions cannot be read. The message is for the log."""


@contextmanager
def unavailable_if_refused() -> Iterator[None]:
    """Raises AuthenticationUnavailable if a file of credentials cannot be trusted."""
    try:
        yield
    except Refused as error:
        raise AuthenticationUnavailable(str(error)) from error


class Mistake(BaseModel):
    """One mistake in a request."""

    where: str
    detail: str


class Problem(BaseModel):
    """A problem: `detail` says what is wrong and what to do, `errors` lists single mistakes."""

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
    Unauthenticated: 401,
    Forbidden: 403,
    ShareExceeded: 429,
    StorageUnavailable: 503,
    MessagingUnavailable: 503,
    Unreachable: 503,
    AuthenticationUnavailable: 503,
    AuditLogUnavailable: 503,
}
_UNAVAILABLE = {
    StorageUnavailable: "the store does not answer: try again later; /readyz has details",
    AuthenticationUnavailable: "authentication is unavailable; see the MX log",
    AuditLogUnavailable: "the audit log is unavailable; see the MX log",
    MessagingUnavailable: "the bus does not answer: try again later; /readyz has details",
}


def problem(status: int, detail: str, errors: Sequence[Mistake] = ()) -> Response:
    """A response with a problem."""
    return response(_problem(status, detail, errors))


def response(found: Problem) -> Response:
    """A problem as a response."""
    return Response(found.model_dump_json(), found.status, headers(found.status), MEDIA_TYPE)


def headers(status: int) -> dict[str, str]:
    """Headers that belong to a status, whatever the body is."""
    match status:
        case 401:
            return {"WWW-Authenticate": "Bearer"}
        case 429 | 503:
            return {"Retry-After": RETRY_SECONDS}
    return {}


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The OpenAPI description of these problems, for `responses=` of a route or router."""
    return {
        status: {
            "description": HTTPStatus(status).phrase,
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status in statuses
    }


def problem_of(error: Exception) -> Problem:
    """The problem for an error; details of an unexpected one go to the log only."""
    match error:
        case SynergyError():
            return _known(error)
        case RequestValidationError():
            return _invalid(error)
        case HTTPException(status_code=404, detail="Not Found"):
            return _problem(404, "nothing found at this address")
        case HTTPException(detail=detail) if detail == _UNREADABLE:
            return _problem(400, "the body cannot be read: not JSON in UTF-8, or nested too deeply")
        case HTTPException():
            return _problem(error.status_code, str(error.detail))
    return _unexpected(error)


def _problem(status: int, detail: str, errors: Sequence[Mistake] = ()) -> Problem:
    title = HTTPStatus(status).phrase
    return Problem(
        title=title, status=status, detail=_shown(detail), errors=list(errors[:MISTAKES])
    )


def _mistake(where: str, detail: str) -> Mistake:
    return Mistake(where=_shown(where), detail=_shown(detail))


def _shown(text: str) -> str:
    """The text without secrets and of bounded length; it may quote the request."""
    shown = mask(text[:SEARCHED])
    if len(text) > SEARCHED:
        shown = shown[:-LONGEST_URL]  # it may end within a URL, before the end of its password
    shown = shown.encode(errors="replace").decode()
    is_whole = len(text) <= SEARCHED and len(shown) <= LONGEST
    return shown if is_whole else f"{shown[:LONGEST]} ..."


def _known(error: SynergyError) -> Problem:
    kind = next((kind for kind in type(error).__mro__ if kind in STATUS), None)
    if kind is None:
        return _unexpected(error)
    status = STATUS[kind]
    instead = next(
        (_UNAVAILABLE[each] for each in type(error).__mro__ if each in _UNAVAILABLE), None
    )
    detail = str(error) if instead is None else instead
    if instead is not None:
        log.warning("A request failed: %s", error, extra={"event": "mx.unavailable"})
    mistakes = map(str, getattr(error, "mistakes", ()))
    return _problem(status, detail, [_mistake(_where(each), each) for each in mistakes])


def _where(mistake: str) -> str:
    """The field of the body that a mistake names; "" if it names none."""
    found = _FIELD.match(mistake)
    return f"body.{found[1]}" if found is not None else ""


def _invalid(error: RequestValidationError) -> Problem:
    found = error.errors()
    mistakes = [_mistake(_place(each), each["msg"]) for each in found[:MISTAKES]]
    if any(each["type"] == "json_invalid" for each in found):
        return _problem(400, "the body is not JSON", mistakes)
    detail = "; ".join(f"{each.where}: {each.detail}" for each in mistakes)
    return _problem(422, detail, mistakes)


def _place(error: dict[str, Any]) -> str:
    """The place of a mistake; without the class of a body that may be of several classes."""
    where = [str(part) for part in error["loc"]]
    is_of_class = len(where) > 1 and _CLASS.fullmatch(where[1]) is not None
    if is_of_class and not (error["type"] == "extra_forbidden" and len(where) == 2):
        del where[1]
    return ".".join(where)


def _unexpected(error: Exception) -> Problem:
    log.error("A request failed", exc_info=error, extra={"event": "mx.failed"})
    return _problem(500, "internal error; see the MX log")
