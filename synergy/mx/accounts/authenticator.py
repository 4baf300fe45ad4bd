"""Authentication of a request: by token, by session, or by where it comes from."""

from __future__ import annotations

from dataclasses import dataclass, field

from starlette.requests import HTTPConnection

from synergy.mx.access import Person, bearer_of
from synergy.mx.accounts import cookies
from synergy.mx.accounts.accounts import Accounts
from synergy.mx.accounts.local_access import LocalAccess
from synergy.mx.accounts.roles import Role
from synergy.mx.protection.csrf import SAFE
from synergy.mx.protection.hosts import is_local, own_names

_MONITORING = ("/healthz", "/livez", "/readyz", "/metrics")  # each is in the API as well
OPEN = frozenset({"/api/openapi.json", *_MONITORING, *(f"/api/v1{path}" for path in _MONITORING)})
"""Paths that need no login on this machine if MX has users."""
_USED = "x-synergy-used"  # header of static/use.js


@dataclass(frozen=True, slots=True)
class Authenticator:
    """Authenticates requests. `names` are the host names of MX."""

    logins: Accounts | LocalAccess
    names: frozenset[str] = field(default_factory=own_names)

    def is_owner(self, request: HTTPConnection) -> bool:
        """Whether MX has no users, and the sender is the user that MX runs as, or root."""
        is_open = isinstance(self.logins, LocalAccess) and self.logins.is_own(request)
        return is_open and is_local(request)

    def person(self, request: HTTPConnection) -> Person | None:
        """The sender; None if it is unknown, as without credentials or with an ended session.

        Raises Unauthenticated for an invalid token.
        """
        is_here = is_local(request)
        if isinstance(self.logins, LocalAccess):
            if not is_here:
                return None
            if self.is_owner(request):
                return Person("", Role.ADMIN, via="user of MX")
        if (secret := bearer_of(request)) is not None:
            return self.logins.by_token(secret)
        if secret := cookies.read(request, cookies.SESSION) or "":
            person = self.logins.by_session(secret, is_use=_is_use(request))
            if person is not None:
                return person
        is_open = isinstance(self.logins, Accounts) and request.scope["path"] in OPEN
        return Person("", Role.VIEWER) if is_here and is_open else None


def _is_use(request: HTTPConnection) -> bool:
    """Whether a person caused a request, and not a timer of an open page.

    Browsers send the mode of each request. Requests of other clients always count as use.
    """
    mode = request.headers.get("sec-fetch-mode", "navigate")
    return mode == "navigate" or request.scope["method"] not in SAFE or _USED in request.headers
