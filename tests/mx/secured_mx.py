"""MX with users, tokens and logins over a deployment in memory."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

from argon2 import PasswordHasher
from fastapi import FastAPI

from synergy.mx.access import Role
from synergy.mx.accounts.accounts import Accounts
from synergy.mx.accounts.authenticator import Authenticator
from synergy.mx.accounts.users import UsersFile, new_token, new_user
from synergy.mx.app import create_app
from synergy.mx.protection.hosts import is_loopback
from synergy.mx.services import Services
from tests.mx.asking import Client
from tests.service.scheduler_harness import SchedulerHarness

PASSWORD = "six tall blue herons"
QUICK = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD)
HERE = ("127.0.0.1", 50000)
ELSEWHERE = ("203.0.113.9", 50000)


def base_of(address: tuple[str, int]) -> str:
    """The address of MX for a client: other machines need TLS."""
    return f"{'http' if is_loopback(address[0]) else 'https'}://localhost:5000"


def cookie_of(client: Client, name: str) -> str:
    """The name under which a client has a cookie; by TLS it has a prefix."""
    return f"__Host-{name}" if client.base_url.scheme == "https" else name


class SecuredMx:
    """An application with accounts. `vera` is a viewer, `otto` an operator, `ada` an admin."""

    def __init__(self, world: SchedulerHarness, folder: Path) -> None:
        self.world = world
        self.file = folder / "users.json"
        self.sessions = folder / "mx" / "sessions.json"
        self.book = UsersFile(self.file)
        for name, role in (("vera", Role.VIEWER), ("otto", Role.OPERATOR), ("ada", Role.ADMIN)):
            self.add(name, role)
        self.folder = folder
        self.app = self.another()

    def another(self) -> FastAPI:
        """MX over the same files, as after a restart."""
        place = self.world.workplace("", "mx")
        accounts = Accounts(self.file, self.folder, self.world.clock)
        authenticator = Authenticator(accounts, frozenset({"localhost", "ops.example.com"}))
        self.app = create_app(Services.at(place), authenticator)
        return self.app

    def add(self, name: str, role: Role) -> None:
        now = self.world.clock.now()
        self.book.change(lambda users: new_user(users, name, role, QUICK, now))

    def token(self, name: str, scope: Role, days: float = 90) -> str:
        """The secret of a new token."""
        now = self.world.clock.now()
        secrets = []

        def add(users):
            changed, _, secret = new_token(
                users, name, scope, "", (now, now + timedelta(days=days))
            )
            secrets.append(secret)
            return changed

        self.book.change(add)
        return secrets[0]

    def client(self, address: tuple[str, int] = HERE, base: str = "", **headers: str) -> Client:
        """A browser without a login."""
        return Client(
            self.app,
            address,
            base_url=base or base_of(address),
            headers=headers,
            follow_redirects=False,
        )

    def bearer(self, name: str, scope: Role) -> Client:
        """A client with a token."""
        return self.client(ELSEWHERE, Authorization=f"Bearer {self.token(name, scope)}")

    def logged_in(self, name: str, **options) -> Client:
        """A browser with a session of a user."""
        client = self.client(**options)
        assert log_in(client, name).status_code == 303
        return client


def cookies_of(answer) -> dict[str, str]:
    """The cookies that a response sets, with their attributes."""
    return dict(each.split("=", 1) for each in answer.headers.get_list("set-cookie"))


def csrf_of_form(client: Client, path: str = "/login") -> str:
    """The CSRF token in the form of a page."""
    text = client.get(path).text
    found = re.search(r'name="csrf" value="([^"]*)"', text)
    assert found, text
    return found[1]


def csrf_of(client: Client) -> str:
    """The headers that scripts of a page send."""
    found = re.search(r'<meta name="csrf" content="([^"]*)"', client.get("/account").text)
    assert found
    return found[1]


def log_in(client: Client, name: str, password: str = PASSWORD, next_: str = "/"):
    """Submits the form as a browser does."""
    fields = {"csrf": csrf_of_form(client), "name": name, "password": password, "next": next_}
    return client.post("/login", data=fields)
