"""What requests change, in the audit log.

`access` begins an act when a route accepts a request that may change something. `access` and
`protection.auth_middleware` record requests that were refused for lack of a role. `ActResults`
records results, and `pages.login` logins. Any other request without a valid login adds nothing:
otherwise strangers could fill the disk.
"""

from __future__ import annotations

import logging
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from synergy.audit_log.entry import DONE, FAILED, REFUSED, Act
from synergy.audit_log.files import AuditLog
from synergy.clock import Clock
from synergy.errors import AuditLogUnavailable
from synergy.mx.accounts.roles import LOCAL
from synergy.mx.middleware import HttpMiddleware
from synergy.mx.protection.csrf import SAFE
from synergy.mx.protection.proxy import source_of

if TYPE_CHECKING:
    from synergy.mx.access import Person

API: Final = "/api/v1"
UNRECORDED: Final = frozenset({f"{API}/events", f"{API}/schedules/preview"})
"""Paths of requests that publish data or preview a change, and change no setting."""
SHOWN: Final = (
    "process", "timeperiod", "from", "to", "schedule", "name", "is_on", "trigger_frequency",
    "flush", "seqs", "jobs",
)  # fmt: skip
"""Fields of bodies that are recorded. None of them may hold a secret."""
MOST_LISTED: Final = 10  # items of a list that are recorded
MOST_REFUSALS: Final = 10  # refusals of one person that are recorded in a minute

log = logging.getLogger(__name__)


class Acts:
    """Records the acts of requests."""

    def __init__(self, audit_log: AuditLog, clock: Clock) -> None:
        self._log = audit_log
        self._clock = clock
        self._minute = 0
        self._refusals: dict[str, int] = {}

    async def begin(self, request: HTTPConnection, person: Person) -> None:
        """Records that a change begins, unless it is a dry run; raises AuditLogUnavailable."""
        if request.scope["method"] in SAFE or request.scope["path"] in UNRECORDED:
            return
        body = await _body(request)
        if not _is_dry_run(request, body):
            act = _act(request, person.name, person.via, _object(request, body))
            request.state.act = await run_in_threadpool(self._log.begin, act)

    async def refused(self, request: HTTPConnection, person: Person, why: str) -> None:
        """Records a change that the role of a person does not allow; a bounded number of them."""
        if request.scope["method"] in SAFE or not person.via or not self._may_record(person):
            return
        act = _act(request, person.name, person.via, dict(request.path_params))
        try:
            await run_in_threadpool(self._log.note, act, REFUSED, why)
        except AuditLogUnavailable as error:
            _report(error)

    def logged_in(self, request: HTTPConnection, name: str, via: str) -> None:
        """Records a login; raises AuditLogUnavailable."""
        self._log.note(_act(request, name, via, {}))

    def end(self, request: HTTPConnection, status: int) -> None:
        """Records the result of the act that has begun, if any; `status` 0 means no response."""
        begun = getattr(request.state, "act", None)
        if begun is None:
            return
        request.state.act = None
        result = DONE if 0 < status < 400 else REFUSED if 400 <= status < 500 else FAILED
        try:
            self._log.end(begun, result, str(status) if status else "no response")
        except AuditLogUnavailable as error:
            _report(error)

    def _may_record(self, person: Person) -> bool:
        minute = int(self._clock.monotonic() // 60)
        if minute != self._minute:
            self._minute, self._refusals = minute, {}
        count = self._refusals[person.name] = self._refusals.get(person.name, 0) + 1
        return count <= MOST_REFUSALS


class ActResults(HttpMiddleware):
    """Records the result of an act before the client learns it."""

    def __init__(self, app: ASGIApp, acts: Acts) -> None:
        super().__init__(app)
        self._acts = acts

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = HTTPConnection(scope)

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start" and _has_begun(request):
                await run_in_threadpool(self._acts.end, request, message["status"])
            await send(message)

        try:
            await self.app(scope, receive, watched)
        finally:
            self._acts.end(request, 0)


def _has_begun(request: HTTPConnection) -> bool:
    return getattr(request.state, "act", None) is not None


def _act(request: HTTPConnection, name: str, via: str, what: dict[str, Any]) -> Act:
    return Act(
        who=name or LOCAL,
        via=via,
        source=source_of(request),
        action=f"{request.scope['method']} {_path(request)}",
        object={key: str(value) for key, value in what.items()},
    )


def _path(request: HTTPConnection) -> str:
    """The template of the route, with the prefix of the API; before routing, the path."""
    path = str(request.scope["path"])
    template = getattr(request.scope.get("route"), "path_format", None)
    return path if template is None else f"{API if _is_of_api(request) else ''}{template}"


async def _body(request: HTTPConnection) -> dict[str, Any]:
    """The body of a request to the API, as the handler reads it; {} if it reads no object."""
    takes_body = getattr(request.scope.get("route"), "body_field", None) is not None
    if not takes_body or not _is_of_api(request) or not isinstance(request, Request):
        return {}
    try:
        found = await request.json()
    except (ValueError, RecursionError):  # no JSON: it will be refused
        return {}
    return found if isinstance(found, dict) else {}


def _is_of_api(request: HTTPConnection) -> bool:
    return str(request.scope["path"]).startswith(f"{API}/")


def _is_dry_run(request: HTTPConnection, body: dict[str, Any]) -> bool:
    """Whether the handler will see a dry run: routes are strict, so there is no other reading."""
    if request.scope["method"] == "DELETE":
        return request.query_params.get("dry_run") == "true"
    return body.get("dry_run") is True


def _object(request: HTTPConnection, body: dict[str, Any]) -> dict[str, Any]:
    shown = {name: _text(body[name]) for name in SHOWN if body.get(name) is not None}
    return {**shown, **request.path_params}


def _text(value: object) -> str:
    if isinstance(value, list):
        items = ", ".join(map(_text, islice(value, MOST_LISTED)))
        return f"{len(value)}: {items}"
    if isinstance(value, dict):
        return " ".join(str(value[name]) for name in SHOWN if name in value)
    return str(value)


def _report(error: AuditLogUnavailable) -> None:
    log.error("An act is not recorded: %s", error, extra={"event": "audit_log.failed"})
