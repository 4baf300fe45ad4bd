"""The settings of single sign-on, as MX gets them."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class OidcSettings:
    """A login provider (OpenID Connect), and MX as a client of it.

    `redirect_uri` is where the provider sends browsers back to. The claim `name_claim` of the ID
    token becomes the name of a user. `roles` are pairs of a role and a value of the claim
    `role_claim` that gives it.
    """

    issuer: str
    client_id: str
    client_secret: str = field(repr=False)
    redirect_uri: str
    name_claim: str
    role_claim: str
    roles: tuple[tuple[str, str], ...]
