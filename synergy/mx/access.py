"""The sender of a request, and the handler argument that requires its role.

Each handler declares the role that it requires: `person: Operator` of `mx.api.jobs.skip_jobs`. The
sender was authenticated before routing by `protection.auth_middleware`, which also refuses every
change by a viewer to the API; the sender is in the request's state.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, cast

from fastapi import Depends
from starlette.requests import HTTPConnection

from synergy.model.actor import Actor
from synergy.mx.accounts.roles import LOCAL, Role
from synergy.mx.problems import Forbidden, Unauthenticated

if TYPE_CHECKING:
    from synergy.mx.recording import Acts

__all__ = [
    "EVENT_ROUTES",
    "Admin",
    "EventPublisher",
    "Operator",
    "Person",
    "Role",
    "Viewer",
    "bearer_of",
    "is_still_authenticated",
    "person_of",
]

EVENT_ROUTES = frozenset({("POST", "/api/v1/events")})
"""Method and path of all routes that a token for events may use."""

LOG_IN = "authentication required: log in, or send a token"


@dataclass(frozen=True, slots=True)
class Person:
    """The authenticated sender of a request.

    `name` is "" for access without users, and for an unknown program on this machine. `csrf` is the
    token that pages of the session send back; "" without a session, because other requests need
    none. `via` says how the sender was recognized; "" for an unknown program on this machine, which
    may read a few paths only.
    """

    name: str
    role: Role
    csrf: str = ""
    via: str = ""

    def actor(self, reason: str = "") -> Actor:
        """The actor of a change, with its reason, for the journal."""
        return Actor(f"{self.name or LOCAL} (mx)", reason)


def person_of(request: HTTPConnection) -> Person | None:
    """The sender, as the authentication found it; None if it is unknown."""
    return cast("Person | None", getattr(request.state, "person", None))


def bearer_of(request: HTTPConnection) -> str | None:
    """The token of the request, None without one; raises Unauthenticated for another scheme."""
    header = request.headers.get("authorization")
    if header is None:
        return None
    scheme, _, secret = header.partition(" ")
    if scheme.lower() != "bearer":
        raise Unauthenticated("expected Authorization: Bearer TOKEN")
    return secret.strip()


def is_still_authenticated(request: HTTPConnection) -> bool:
    """Whether the sender's credentials are still valid; for responses that take long."""
    check = cast("Callable[[], bool] | None", getattr(request.state, "is_still", None))
    return check is None or check()


def _requires(role: Role) -> Callable[[HTTPConnection], Awaitable[Person]]:
    async def check(request: HTTPConnection) -> Person:
        person = person_of(request)
        if person is None:
            raise Unauthenticated(LOG_IN)
        acts: Acts = request.app.state.acts
        if not person.role.may(role):
            error = Forbidden(f"this needs the role {role.value}; yours is {person.role.value}")
            await acts.refused(request, person, str(error))
            raise error
        await acts.begin(request, person)
        return person

    return check


Viewer = Annotated[Person, Depends(_requires(Role.VIEWER))]
Operator = Annotated[Person, Depends(_requires(Role.OPERATOR))]
Admin = Annotated[Person, Depends(_requires(Role.ADMIN))]
EventPublisher = Annotated[Person, Depends(_requires(Role.EVENTS))]
"""A sender that may publish events."""
