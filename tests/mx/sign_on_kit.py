"""Single sign-on: an MX, a login provider, and a browser, with real HTTP between them."""

from __future__ import annotations

import html
import re
from contextlib import contextmanager
from dataclasses import replace

import httpx2
import pytest

from synergy.mx.access import Role
from synergy.mx.accounts.users import UsersFile, new_user
from synergy.runtime.oidc_settings import OidcSettings
from synergy.runtime.stop import Stop
from tests.mx.secured_mx import QUICK
from tests.mx.server_kit import LIMIT, running
from tests.servers.oidc_provider import CLIENT_ID, CLIENT_SECRET, running_provider
from tests.servers.ports import free_port

ROLES = (("viewer", "staff"), ("operator", "ops"), ("admin", "CN=leads"))

NOT_VALID = "The answer of the login provider is not valid; see the MX log."
NO_ANSWER = "The login provider does not answer: try again later, or log in with a password."
CALLBACK = "/login/oidc/callback"


@pytest.fixture
def both(world, tmp_path):
    """The URL of MX, and the provider."""
    with signing_on(world, tmp_path) as found:
        yield found


@pytest.fixture
def mx(both):
    return both[0]


@pytest.fixture
def provider(both):
    return both[1]


@contextmanager
def signing_on(world, folder, **settings):
    """An MX with the local user `anna`, an admin; its URL, and the provider."""
    place = replace(world.workplace("", "mx"), deployment=world.deployment, home=folder)
    book = UsersFile(folder / "users.json")
    now = place.clock.now()
    book.change(lambda users: new_user(users, "anna", Role.ADMIN, QUICK, now))
    with running_provider(place.clock) as provider:
        port = free_port()
        url = f"http://localhost:{port}"
        oidc = OidcSettings(
            issuer=provider.issuer,
            client_id=CLIENT_ID,
            client_secret=CLIENT_SECRET,
            redirect_uri=f"{url}/login/oidc/callback",
            name_claim="preferred_username",
            role_claim="groups",
            roles=ROLES,
        )
        place = replace(
            place,
            mx_users_file=book.path,
            mx_address=("127.0.0.1", port),
            mx_oidc=replace(oidc, **settings),
            stop=Stop(),
        )
        with running(place):
            yield url, provider


class Browser:
    """A browser without scripts; keeps cookies, and follows no redirect by itself."""

    def __init__(self, mx: str) -> None:
        self.mx = mx
        self.client = httpx2.Client(
            timeout=LIMIT, trust_env=False, headers={"Accept": "text/html", "Connection": "close"}
        )

    def get(self, path: str) -> httpx2.Response:
        return self.client.get(f"{self.mx}{path}")

    def begin(self, next_: str = "/") -> httpx2.Response:
        """Clicks the button of the login page."""
        page = self.client.get(f"{self.mx}/login", params={"next": next_})
        fields = {name: _hidden(page.text, name) for name in ("csrf", "next")}
        return self.client.post(f"{self.mx}/login/oidc", data=fields)

    def to_provider(self, next_: str = "/") -> str:
        """Goes on to the provider; returns the address that it sends the browser back to."""
        return self.client.get(continued(self.begin(next_))).headers["location"]

    def log_in(self, next_: str = "/") -> httpx2.Response:
        """Logs in; returns the response of MX to what the provider sent."""
        return self.client.get(self.to_provider(next_))

    def name(self) -> str | None:
        """The name that MX knows this browser by; None without a session."""
        answer = self.get("/account")
        found = re.search(r"<h1>(.*?)</h1>", answer.text)
        return html.unescape(found[1]) if answer.status_code == 200 and found else None

    def csrf(self) -> str:
        found = re.search(r'<meta name="csrf" content="([^"]+)"', self.get("/account").text)
        assert found
        return found[1]


def continued(answer: httpx2.Response) -> str:
    """The address that a page leads to by itself."""
    found = re.search(r'http-equiv="refresh" content="0; url=([^"]*)"', answer.text)
    assert found, answer.text
    return html.unescape(found[1])


def alert(answer: httpx2.Response) -> str:
    """The error on the login page."""
    found = re.search(r'role="alert"[^>]*>(.*?)</p>', answer.text)
    assert found, answer.text
    return html.unescape(found[1])


def _hidden(text: str, name: str) -> str:
    found = re.search(f'name="{name}" value="([^"]*)"', text)
    assert found, text
    return html.unescape(found[1])


def reasons(caplog):
    """Why logins failed, by the log."""
    return [each.reason for each in caplog.records if getattr(each, "event", "") == "login.failed"]
