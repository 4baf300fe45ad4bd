"""Nobody gets further than here whom the guard does not know, whatever route he asks for."""

from __future__ import annotations

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from synergy.errors import SynergyError
from synergy.mx.access import Person
from synergy.mx.accounts.authenticator import Authenticator
from synergy.mx.accounts.roles import Role
from synergy.mx.problems import Forbidden, Unknown
from synergy.mx.protection.csrf import SAFE

PUBLIC = ("/login", "/static/")  # what a stranger sees


class AuthMiddleware:
    """Finds out who asks. Strangers see the login page only, and viewers change nothing.

    Each route says besides what it needs; this is what holds if one should forget to.
    """

    def __init__(self, app: ASGIApp, guard: Authenticator) -> None:
        self.app = app
        self._guard = guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            request = HTTPConnection(scope)
            person = self._guard.who(request)
            request.state.person = person
            request.state.is_still = lambda: self._is_still(request, person)
            _check(request, person)
        await self.app(scope, receive, send)

    def _is_still(self, request: HTTPConnection, person: Person | None) -> bool:
        try:
            return self._guard.who(request) == person
        except SynergyError:
            return False


def _check(request: HTTPConnection, person: Person | None) -> None:
    path, method = request.scope["path"], request.scope["method"]
    if person is None:
        if path != PUBLIC[0] and not path.startswith(PUBLIC[1]):
            raise Unknown("say who you are: log in, or send a token")
    elif method not in SAFE and path.startswith("/api/") and person.role is Role.VIEWER:
        raise Forbidden("a viewer changes nothing: this needs the role operator")
