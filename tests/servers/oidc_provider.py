"""A login provider (OpenID Connect) on this machine, over real HTTP, that can misbehave."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote_plus, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, RSAKey

from synergy.clock import Clock

CLIENT_ID, CLIENT_SECRET = "synergy & co", "s3cret+/=: ü"
Answer = tuple[int, dict[str, str], bytes]


class Provider:
    """The state of a provider.

    Everybody who comes to `/authorize` is `user`, and is sent back at once, or by a link of a page
    if it `shows_page`. Tests change what it
    says: `claims` replace those of ID tokens (None removes one), `sign` makes the token of claims,
    `instead` has other answers by path, and `sent_back` adds parameters for the browser.
    """

    def __init__(self, url: str, clock: Clock) -> None:
        self._clock = clock
        self.url = self.issuer = url
        self.user: dict[str, Any] = {"sub": "u-1", "preferred_username": "anna", "groups": ["ops"]}
        self.claims: dict[str, Any] = {}
        self.sign: Callable[[dict[str, Any]], str] = self.signed
        self.instead: dict[str, Callable[[], Answer]] = {}
        self.sent_back: dict[str, str | None] = {}
        self.metadata: dict[str, Any] = {}
        self.shows_page = False
        self.rotate()
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.requests: list[str] = []
        self._codes: dict[str, dict[str, str]] = {}

    def rotate(self, kind: type[RSAKey] | type[ECKey] = RSAKey) -> None:
        """Replaces the key."""
        self.key: RSAKey | ECKey = (
            RSAKey.generate_key(2048, {"kid": secrets.token_hex(4), "use": "sig"})
            if kind is RSAKey
            else ECKey.generate_key("P-256", {"kid": secrets.token_hex(4), "use": "sig"})
        )
        self.published = KeySet([self.key])

    def signed(self, claims: dict[str, Any]) -> str:
        """An ID token as it should be."""
        algorithm = "RS256" if isinstance(self.key, RSAKey) else "ES256"
        return jwt.encode({"alg": algorithm, "kid": self.key.kid}, claims, self.key)

    def answer(self, path: str, given: dict[str, str], authorization: str) -> Answer:
        self.asked.append((path, given))
        if path in self.instead:
            return self.instead[path]()
        match path:
            case "/.well-known/openid-configuration":
                return as_json(200, self._metadata())
            case "/jwks":
                return as_json(200, self.published.as_dict())
            case "/authorize":
                return self._authorized(given)
            case "/token":
                return self._token(given, authorization)
        return 404, {}, b""

    def _metadata(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.url}/authorize?tenant=a%26b",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/jwks",
            "scopes_supported": ["openid", "profile", "groups"],
            **self.metadata,
        }

    def _authorized(self, given: dict[str, str]) -> Answer:
        code = secrets.token_urlsafe(8)
        self._codes[code] = given
        back = {
            "code": code,
            "state": given["state"],
            "session_state": "of the provider",
            **self.sent_back,
        }
        query = urlencode({name: value for name, value in back.items() if value is not None})
        url = f"{given['redirect_uri']}?{query}"
        if self.shows_page:
            page = f'<!doctype html><a href="{html.escape(url)}">Log in</a>'
            return 200, {"Content-Type": "text/html"}, page.encode()
        return 302, {"Location": url}, b""

    def _token(self, given: dict[str, str], authorization: str) -> Answer:
        if not _is_client(given, authorization):
            return as_json(401, {"error": "invalid_client"})
        asked = self._codes.pop(given["code"], None)
        if (
            asked is None
            or asked["redirect_uri"] != given["redirect_uri"]
            or asked["code_challenge"] != _challenge(given["code_verifier"])
            or asked["code_challenge_method"] != "S256"
        ):
            return as_json(400, {"error": "invalid_grant"})
        now = round(self._clock.now().timestamp())
        times = {"iat": now, "exp": now + 300}
        about = {"iss": self.issuer, "aud": CLIENT_ID, "nonce": asked["nonce"]}
        claims = {**about, **times, **self.user, **self.claims}
        said = {name: value for name, value in claims.items() if value is not None}
        return as_json(
            200, {"access_token": "x", "token_type": "Bearer", "id_token": self.sign(said)}
        )


def as_json(status: int, found: Any) -> Answer:
    return status, {"Content-Type": "application/json"}, json.dumps(found).encode()


def _is_client(given: dict[str, str], authorization: str) -> bool:
    """Whether the client's secret is in the form, or in the header (RFC 6749, section 2.3.1)."""
    if not authorization:
        return (given.get("client_id"), given.get("client_secret")) == (CLIENT_ID, CLIENT_SECRET)
    name, _, secret = base64.b64decode(authorization.removeprefix("Basic ")).decode().partition(":")
    return (unquote_plus(name), unquote_plus(secret)) == (CLIENT_ID, CLIENT_SECRET)


def _challenge(verifier: str) -> str:
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        self._answer("")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers["Content-Length"])).decode())

    def _answer(self, body: str) -> None:
        parts = urlsplit(self.path)
        self.server.provider.requests.append(f"{self.command} {parts.path}")
        given = dict(parse_qsl(body or parts.query, keep_blank_values=True))
        status, headers, content = self.server.provider.answer(
            parts.path, given, self.headers.get("Authorization", "")
        )
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    provider: Provider

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that leaves early is expected."""


@contextmanager
def running_provider(clock: Clock) -> Iterator[Provider]:
    """A provider at a port of its own, on another host than MX, as browsers see it."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.provider = Provider(f"http://127.0.0.1:{server.server_address[1]}", clock)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.provider
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
