"""The identity of a user of the provider: name and role, from the claims of the ID token."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from synergy.mx.accounts.roles import ROLES, Role
from synergy.mx.oidc.failure import SignOnFailed
from synergy.runtime.oidc_settings import OidcSettings

PREFIX: Final = "oidc:"  # begins each name; no name in the users file has a colon
LONGEST: Final = 100  # characters of a name, without the prefix


@dataclass(frozen=True, slots=True)
class Identity:
    """A user of the provider; `subject` is the provider's id of the user, for the log."""

    name: str
    role: Role
    subject: str


def identity_of(claims: Mapping[str, Any], settings: OidcSettings) -> Identity:
    """The user of these claims, with the highest role they give; raises SignOnFailed."""
    name = PREFIX + _name(claims, settings.name_claim)
    role = _role(claims.get(settings.role_claim), settings.roles)
    if role is None:
        raise SignOnFailed(
            f"You are {name}, but have no role here: an administrator of the login provider, or "
            "of Synergy, can give you one.",
            f"no value of the claim {settings.role_claim} has a role",
            HTTPStatus.FORBIDDEN,
            name,
        )
    return Identity(name, role, str(claims["sub"]))


def _name(claims: Mapping[str, Any], claim: str) -> str:
    name = claims.get(claim)
    is_name = isinstance(name, str) and 0 < len(name) <= LONGEST and name.isprintable()
    if not is_name or name != str(name).strip():
        raise _nameless(f"the claim {claim} is missing or no name")
    if claim == "email" and claims.get("email_verified") is not True:
        raise _nameless("the claim email_verified is not true")
    return str(name)


def _nameless(reason: str) -> SignOnFailed:
    return SignOnFailed("The login provider gave no name that can be used; see the MX log.", reason)


def _role(found: object, roles: tuple[tuple[str, str], ...]) -> Role | None:
    values = found if isinstance(found, list) else [found]
    given = {Role(role) for role, value in roles if value in values}
    return max(given, key=ROLES.index, default=None)
