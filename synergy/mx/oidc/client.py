"""MX as a client of the provider: authorization code flow with PKCE, state and nonce.

A login needs no memory in MX: the browser that begins it holds a random secret in a cookie, and
state, nonce and code verifier are derived from it. The secret itself never leaves that cookie.
"""

from __future__ import annotations

import hmac
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import anyio.from_thread
from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
from authlib.oauth2.rfc7636 import create_s256_code_challenge

from synergy.clock import Clock
from synergy.mx.accounts.roles import Role
from synergy.mx.accounts.users import User, digest
from synergy.mx.oidc import provider
from synergy.mx.oidc.failure import SignOnFailed, invalid
from synergy.mx.oidc.id_token import Expected, checked
from synergy.mx.oidc.identity import Identity, identity_of
from synergy.runtime.oidc_settings import OidcSettings

MOST: Final = 4  # logins that may wait for the provider at a time; each takes a thread
_SCOPES = ("openid", "profile", "email")
_ALWAYS = datetime(1970, 1, 1, tzinfo=UTC)

Found = TypeVar("Found")


class OidcClient:
    """Logs users in through the provider. May be used by several threads of the web server."""

    def __init__(self, settings: OidcSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._running = threading.Semaphore(MOST)
        self._stamp = digest(repr(settings))  # without the client's secret

    @property
    def host(self) -> str:
        """The host of the provider, for the login page."""
        return urlsplit(self._settings.issuer).hostname or ""

    @property
    def home(self) -> str:
        """The URL of MX, where logins begin and end."""
        return self._settings.redirect_uri.removesuffix(urlsplit(self._settings.redirect_uri).path)

    def user(self, name: str, role: Role) -> User:
        """A user of the provider; its sessions end when the settings change."""
        return User(name, role, self._stamp, _ALWAYS)

    def authorization_url(self, secret: str) -> str:
        """The page of the provider at which the login with this secret begins.

        Raises SignOnFailed.
        """
        settings = self._settings
        found = self._ask(lambda: provider.metadata(settings))
        more = [settings.role_claim] if settings.role_claim in found.scopes else []
        return str(
            prepare_grant_uri(
                found.authorization_endpoint,
                settings.client_id,
                "code",
                redirect_uri=settings.redirect_uri,
                scope=" ".join([*_SCOPES, *more]),
                state=_derived(secret, "state"),
                nonce=_derived(secret, "nonce"),
                code_challenge=create_s256_code_challenge(_derived(secret, "verifier")),
                code_challenge_method="S256",
            )
        )

    def check_state(self, secret: str, answer: Mapping[str, str]) -> None:
        """Raises SignOnFailed unless this browser began the login that the answer is for."""
        sent = answer.get("state", "").encode(errors="replace")
        if not secret or not hmac.compare_digest(sent, _derived(secret, "state").encode()):
            raise SignOnFailed(
                "The login took too long, or began in another browser or at another address: "
                f"begin again at {self.home}",
                "the state is not of this browser",
                HTTPStatus.BAD_REQUEST,
            )

    def identity(self, secret: str, answer: Mapping[str, str]) -> Identity:
        """The user that an answer is about; raises SignOnFailed.

        The caller has checked the state of the answer (`check_state`).
        """
        if "error" in answer:
            code = provider.error_of(answer)
            raise SignOnFailed(f"The login provider refused the login: {code}.", code)
        return self._ask(lambda: self._identity(secret, answer))

    async def _identity(self, secret: str, answer: Mapping[str, str]) -> Identity:
        settings = self._settings
        found = await provider.metadata(settings)
        issuer = answer.get("iss", None if found.names_itself else settings.issuer)
        if issuer != settings.issuer:
            raise invalid("the answer is of another issuer")
        code = answer.get("code", "")
        if not code:
            raise invalid("the answer has no code")
        token = await provider.token(settings, found, code, _derived(secret, "verifier"))
        now = round(self._clock.now().timestamp())
        expected = Expected(settings.issuer, settings.client_id, _derived(secret, "nonce"), now)
        return identity_of(checked(token, await provider.keys(found), expected), settings)

    def _ask(self, ask: Callable[[], Coroutine[Any, Any, Found]]) -> Found:
        """The result of `ask`, which runs in the event loop of the web server."""
        with self._slot():
            return anyio.from_thread.run(ask)

    @contextmanager
    def _slot(self) -> Iterator[None]:
        if not self._running.acquire(blocking=False):
            raise SignOnFailed(
                "Too many logins at this moment: try again in a few seconds.",
                f"{MOST} logins wait for the provider",
                HTTPStatus.SERVICE_UNAVAILABLE,
            )
        try:
            yield
        finally:
            self._running.release()


def _derived(secret: str, purpose: str) -> str:
    return hmac.new(secret.encode(errors="replace"), purpose.encode(), "sha256").hexdigest()
