"""Who asks, and what he may: the argument by which every handler says who is let in.

Who somebody is was found out before (`security/`), and stands in the request's state.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends
from starlette.requests import HTTPConnection

from synergy.commands.jobs import Actor
from synergy.mx.accounts.roles import LOCAL, Role
from synergy.mx.problems import Forbidden, Unknown

__all__ = [
    "Admin",
    "EventPublisher",
    "Operator",
    "Person",
    "Role",
    "Viewer",
    "is_still",
    "person_of",
]


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who was let in. `csrf` is what his pages send back with what they ask for.

    `name` is "" for whoever sits at this machine while nobody has to say who he is. `csrf` is
    "" for who has no session, and so needs none.
    """

    name: str
    role: Role
    csrf: str = ""

    def asks(self, reason: str = "") -> Actor:
        """He, as the one who asks for a change; both words go into the journal."""
        return Actor(f"{self.name or LOCAL} (mx)", reason)


def person_of(request: HTTPConnection) -> Person | None:
    """Who asks; None if he did not say."""
    return cast("Person | None", getattr(request.state, "person", None))


def is_still(request: HTTPConnection) -> bool:
    """Whether who asked would still be let in; for answers that go on for long."""
    ask = cast("Callable[[], bool] | None", getattr(request.state, "is_still", None))
    return ask is None or ask()


def _needs(role: Role) -> Callable[[HTTPConnection], Awaitable[Person]]:
    async def check(request: HTTPConnection) -> Person:
        person = person_of(request)
        if person is None:
            raise Unknown("say who you are: log in, or send a token")
        if not person.role.may(role):
            raise Forbidden(f"this needs the role {role.value}; yours is {person.role.value}")
        return person

    return check


Viewer = Annotated[Person, Depends(_needs(Role.VIEWER))]
Operator = Annotated[Person, Depends(_needs(Role.OPERATOR))]
Admin = Annotated[Person, Depends(_needs(Role.ADMIN))]
EventPublisher = Annotated[Person, Depends(_needs(Role.EVENTS))]
"""Somebody who may tell that something happened."""
