"""The check of an ID token (OpenID Connect Core 1.0, section 3.1.3.7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry

from synergy.mx.oidc.failure import invalid

ALGORITHMS: Final = tuple(
    f"{kind}{bits}" for kind in ("RS", "PS", "ES") for bits in (256, 384, 512)
)
"""Signatures with a public key. Never `none`, and never HS256, whose key would be public."""
LEEWAY_SECONDS: Final = 60  # the accepted difference of the clocks of provider and MX


@dataclass(frozen=True, slots=True)
class Expected:
    """The values that the ID token of a login has to have; `now` is in seconds since 1970."""

    issuer: str
    client_id: str
    nonce: str
    now: int


def checked(token: dict[str, Any], keys: dict[str, Any], expected: Expected) -> dict[str, Any]:
    """The claims of the ID token in a token response; raises SignOnFailed."""
    registry = JWSRegistry(algorithms=ALGORITHMS, strict_check_header=False)
    try:
        key_set = KeySet.import_key_set(keys)  # type: ignore[arg-type]
        found = jwt.decode(token["id_token"], key_set, registry=registry)
        claims = CodeIDToken(
            found.claims,
            found.header,
            {
                "iss": {"essential": True, "value": expected.issuer},
                "sub": {"essential": True},
                "aud": {"essential": True, "value": expected.client_id},
            },
            {
                "nonce": expected.nonce,
                "client_id": expected.client_id,
                "access_token": token.get("access_token"),
            },
        )
        claims.validate(expected.now, LEEWAY_SECONDS)
    except JoseError as error:
        raise invalid(f"the ID token is refused: {error}") from error
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise invalid(f"ID token or keys are malformed: {type(error).__name__}") from error
    return dict(claims)
