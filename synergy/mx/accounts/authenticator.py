"""Who is let in: at this machine everybody, or those whom the users file names."""

from __future__ import annotations

from dataclasses import dataclass, field

from starlette.requests import HTTPConnection

from synergy.mx.access import Person
from synergy.mx.accounts import cookies
from synergy.mx.accounts.accounts import Accounts
from synergy.mx.accounts.roles import Role
from synergy.mx.problems import Unknown
from synergy.mx.protection.hosts import is_loopback, own_names

_WATCHED = ("/healthz", "/livez", "/readyz", "/metrics")  # each is of the API as well
OPEN = frozenset({"/api/openapi.json", *_WATCHED, *(f"/api/v1{path}" for path in _WATCHED)})
"""What everybody at this machine may look at, also where people have to say who they are."""


@dataclass(frozen=True, slots=True)
class Authenticator:
    """Tells who asks. `names` are those by which MX may be called.

    Without doors everybody at this machine is let in, and nobody else.
    """

    doors: Accounts | None = None
    names: frozenset[str] = field(default_factory=own_names)

    def who(self, request: HTTPConnection) -> Person | None:
        """Who asks; None for a stranger. Raises Unknown for proofs that prove nothing."""
        is_here = request.client is not None and is_loopback(request.client.host)
        if self.doors is None:
            return Person("", Role.ADMIN) if is_here else None
        if (said := request.headers.get("authorization")) is not None:
            scheme, _, secret = said.partition(" ")
            if scheme.lower() != "bearer":
                raise Unknown("expected Authorization: Bearer TOKEN")
            return self.doors.by_token(secret.strip())
        if secret := cookies.read(request, cookies.SESSION) or "":
            person = self.doors.by_session(secret)
            if person is not None:
                return person
        return Person("", Role.VIEWER) if is_here and request.url.path in OPEN else None
