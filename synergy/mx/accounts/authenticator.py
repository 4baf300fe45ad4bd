"""Authentication of a request: by token, by session, or by the address that it comes from."""

from __future__ import annotations

from dataclasses import dataclass, field

from starlette.requests import HTTPConnection

from synergy.mx.access import Person
from synergy.mx.accounts import cookies
from synergy.mx.accounts.accounts import Accounts
from synergy.mx.accounts.roles import Role
from synergy.mx.problems import Unauthenticated
from synergy.mx.protection.hosts import is_loopback, own_names

_MONITORING = ("/healthz", "/livez", "/readyz", "/metrics")  # each is in the API as well
OPEN = frozenset({"/api/openapi.json", *_MONITORING, *(f"/api/v1{path}" for path in _MONITORING)})
"""Paths that need no login on this machine, even if MX has users."""


@dataclass(frozen=True, slots=True)
class Authenticator:
    """Authenticates requests. `names` are the host names of MX.

    Without accounts, requests from this machine have the role admin; others are unauthenticated.
    """

    accounts: Accounts | None = None
    names: frozenset[str] = field(default_factory=own_names)

    def person(self, request: HTTPConnection) -> Person | None:
        """The sender; None without credentials. Raises Unauthenticated for invalid ones."""
        is_local = request.client is not None and is_loopback(request.client.host)
        if self.accounts is None:
            return Person("", Role.ADMIN) if is_local else None
        if (header := request.headers.get("authorization")) is not None:
            scheme, _, secret = header.partition(" ")
            if scheme.lower() != "bearer":
                raise Unauthenticated("expected Authorization: Bearer TOKEN")
            return self.accounts.by_token(secret.strip())
        if secret := cookies.read(request, cookies.SESSION) or "":
            person = self.accounts.by_session(secret)
            if person is not None:
                return person
        return Person("", Role.VIEWER) if is_local and request.url.path in OPEN else None
