"""The provider: what it publishes about itself, and its endpoints for keys and tokens."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote_plus

from authlib.oauth2.auth import ClientAuth
from authlib.oauth2.rfc6749.parameters import prepare_token_request

from synergy.mx.oidc import exchange
from synergy.mx.oidc.failure import SignOnFailed, invalid, unavailable
from synergy.runtime.oidc_settings import OidcSettings

_WELL_KNOWN = ".well-known/openid-configuration"
_ERROR = re.compile(r"[a-zA-Z0-9_.-]{1,64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Metadata:
    """What the provider publishes (OpenID Connect Discovery 1.0); read again for each login."""

    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    scopes: tuple[str, ...]
    takes_secret_in_form: bool
    names_itself: bool  # whether its answers, which browsers bring, have `iss` (RFC 9207)


async def metadata(settings: OidcSettings) -> Metadata:
    """The metadata of the provider; raises SignOnFailed."""
    found = await exchange.get(f"{settings.issuer.rstrip('/')}/{_WELL_KNOWN}")
    if found.get("issuer") != settings.issuer:
        raise unavailable(f"the provider is not {settings.issuer}: compare SYNERGY_MX_OIDC_ISSUER")
    is_plain = settings.issuer.startswith("http:")
    return Metadata(
        _endpoint(found, "authorization_endpoint", is_plain=is_plain),
        _endpoint(found, "token_endpoint", is_plain=is_plain),
        _endpoint(found, "jwks_uri", is_plain=is_plain),
        _words(found, "scopes_supported"),
        "client_secret_post" in _words(found, "token_endpoint_auth_methods_supported"),
        found.get("authorization_response_iss_parameter_supported") is True,
    )


async def token(
    settings: OidcSettings, found: Metadata, code: str, verifier: str
) -> dict[str, Any]:
    """The token response for a code; raises SignOnFailed."""
    form = prepare_token_request(
        "authorization_code", "", settings.redirect_uri, code=code, code_verifier=verifier
    )
    _, headers, body = _authentication(settings, found).prepare(
        "POST", found.token_endpoint, {}, form
    )
    status, answer = await exchange.post(found.token_endpoint, headers, body)
    if status != 200:
        raise _refused(status, answer)
    return answer


async def keys(found: Metadata) -> dict[str, Any]:
    """The keys of the provider as they are now; raises SignOnFailed."""
    return await exchange.get(found.jwks_uri)


def error_of(answer: Mapping[str, Any]) -> str:
    """The error code in an answer; never its description, which may hold anything."""
    code = answer.get("error")
    return code if isinstance(code, str) and _ERROR.fullmatch(code) else "an unknown error"


def _authentication(settings: OidcSettings, found: Metadata) -> ClientAuth:
    """Sends the client's secret in the form if the provider accepts that, or else in a header.

    The form is preferred because providers differ in how they decode the header.
    """
    if found.takes_secret_in_form:
        return ClientAuth(settings.client_id, settings.client_secret, "client_secret_post")
    encoded = quote_plus(settings.client_id), quote_plus(settings.client_secret)  # RFC 6749, 2.3.1
    return ClientAuth(*encoded, "client_secret_basic")


def _refused(status: int, answer: Mapping[str, Any]) -> SignOnFailed:
    reason = f"the token endpoint answered with status {status}: {error_of(answer)}"
    return unavailable(reason) if status >= 500 else invalid(reason)


def _endpoint(found: Mapping[str, Any], name: str, *, is_plain: bool) -> str:
    url = found.get(name)
    schemes = ("https", "http") if is_plain else ("https",)
    if isinstance(url, str) and exchange.scheme_of(url) in schemes:
        return url
    raise unavailable(f"the provider publishes no {name} by {' or '.join(schemes)}")


def _words(found: Mapping[str, Any], name: str) -> tuple[str, ...]:
    listed = found.get(name)
    return tuple(map(str, listed)) if isinstance(listed, list) else ()
