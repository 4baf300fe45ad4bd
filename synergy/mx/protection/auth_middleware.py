"""Rejects unauthenticated requests before routing."""

from __future__ import annotations

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from synergy.errors import SynergyError
from synergy.mx.access import EVENT_ROUTES, LOG_IN, Person
from synergy.mx.accounts.authenticator import Authenticator
from synergy.mx.accounts.roles import Role
from synergy.mx.middleware import HttpMiddleware
from synergy.mx.problems import Forbidden, Unauthenticated
from synergy.mx.protection.csrf import SAFE
from synergy.mx.protection.hosts import is_local
from synergy.mx.recording import Acts

PUBLIC = ("/login", "/login/oidc", "/login/oidc/callback")
STATIC = "/static/"
WITHOUT_TLS = (
    "refused, because others on the network can read credentials that are sent without TLS: use "
    "https://, and replace a token or password that was sent without (a proxy with TLS runs on "
    "the machine of MX and sets X-Forwarded-Proto)"
)
_CREDENTIALS = ("authorization", "cookie")  # headers


class AuthMiddleware(HttpMiddleware):
    """Authenticates requests; an unknown sender gets only the login pages and static files.

    It also refuses all changes by viewers to the API, and everything but events by tokens for
    events, before a body is read and so that no route can omit it; which role a route requires is
    declared there (`mx.access`).
    """

    def __init__(self, app: ASGIApp, authenticator: Authenticator, acts: Acts) -> None:
        super().__init__(app)
        self._authenticator = authenticator
        self._acts = acts

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = HTTPConnection(scope)
        _check_transport(request)
        person = self._authenticator.person(request)
        request.state.person = person
        request.state.is_still = lambda: self._is_still(request, person)
        try:
            _check(request, person)
        except Forbidden as error:
            if person is not None:
                await self._acts.refused(request, person, str(error))
            raise
        await self.app(scope, receive, send)

    def _is_still(self, request: HTTPConnection, person: Person | None) -> bool:
        try:
            return self._authenticator.person(request) == person
        except SynergyError:
            return False


def _check_transport(request: HTTPConnection) -> None:
    """Raises Forbidden for credentials, and for the form that asks for them, without TLS.

    Connections within the machine need no TLS: from a proxy that terminates it, or a local client.
    """
    is_safe = request.url.scheme == "https" or is_local(request)
    has_credentials = any(name in request.headers for name in _CREDENTIALS)
    if not is_safe and (has_credentials or request.scope["path"] in PUBLIC):
        raise Forbidden(WITHOUT_TLS)


def _check(request: HTTPConnection, person: Person | None) -> None:
    path, method = request.scope["path"], request.scope["method"]
    if person is None:
        if path not in PUBLIC and not path.startswith(STATIC):
            raise Unauthenticated(LOG_IN)
    elif person.role is Role.EVENTS:
        if (method, path) not in EVENT_ROUTES:
            raise Forbidden("this token only publishes events: POST /api/v1/events")
    elif method not in SAFE and path.startswith("/api/") and person.role is Role.VIEWER:
        raise Forbidden("viewers cannot make changes: this needs the role operator")
