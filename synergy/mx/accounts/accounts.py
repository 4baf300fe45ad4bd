"""Users, their sessions and their login attempts, where MX has a users file."""

from __future__ import annotations

import hmac
import secrets
from dataclasses import replace
from datetime import datetime, timedelta
from hmac import compare_digest
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from synergy.clock import Clock
from synergy.errors import Refused
from synergy.mx.access import Person
from synergy.mx.accounts import passwords
from synergy.mx.accounts.sessions import IDLE, Session, Sessions, csrf_of, sessions_file
from synergy.mx.accounts.throttle import Throttle
from synergy.mx.accounts.users import User, Users, UsersFile
from synergy.mx.problems import Unauthenticated, unavailable_if_refused
from synergy.mx.protection.origins import network_of
from synergy.program import PROGRAM

if TYPE_CHECKING:  # it imports Authlib, which MX without single sign-on does not need
    from synergy.mx.oidc.client import OidcClient
    from synergy.mx.oidc.identity import Identity


class Attempt(NamedTuple):
    """The result of a login attempt; `wait` is the seconds until another one is accepted."""

    is_right: bool
    wait: float = 0.0


class Accounts:
    """Users, their sessions, and the throttle of login attempts; with single sign-on or without.

    Users of the login provider have sessions only: they are in no file, and have no tokens.

    If a file cannot be trusted or written, the constructor and `check` raise Refused, all other
    methods AuthenticationUnavailable.
    """

    def __init__(
        self,
        users_file: Path,
        home: Path,
        clock: Clock,
        sign_on: OidcClient | None = None,
        idle: timedelta = IDLE,
    ) -> None:
        self.sign_on = sign_on
        self.throttle = Throttle(clock, home / "mx" / "login_failures.json")
        self._file = UsersFile(users_file)
        self._sessions = Sessions(sessions_file(home), idle)
        self._clock = clock

    def check(self) -> None:
        """Raises Refused if no user could log in."""
        if not self._file.users.people:
            raise Refused(
                f"no user could log in: {self._file.path} has no users; "
                f"add the first with {PROGRAM} user add NAME --role admin"
            )
        self._sessions.check()

    @property
    def now(self) -> datetime:
        return self._clock.now()

    @property
    def users(self) -> Users:
        with unavailable_if_refused():
            return self._file.users

    def by_token(self, secret: str) -> Person:
        """The owner of a token; raises Unauthenticated for one that is not valid."""
        found = self.users.bearer(secret, self.now)
        if found is None:
            raise Unauthenticated("token is unknown, expired or revoked")
        token, role = found
        return Person(token.user, role, via=f"token {token.id} {token.name}".strip())

    def by_session(self, secret: str, *, is_use: bool = True) -> Person | None:
        """The user of a session, which a use prolongs; None if it has ended."""
        with unavailable_if_refused():
            user = self._sessions.user_of(secret, self._user_of, self.now, is_use=is_use)
        return None if user is None else Person(user.name, user.role, csrf_of(secret), "session")

    def attempt(self, name: str, password: str, address: str, cookie: str | None) -> Attempt:
        """Counts a login attempt, and compares the password; takes equally long for unknown names.

        `cookie` is the device cookie. Raises Unreachable or ShareExceeded if no place is free for a
        comparison; then the attempt counts as none.
        """
        # What is typed as a name is counted apart from other kinds of login.
        sender = (f"user {name}", address, self.device_of(name, cookie or ""))
        user = self.users.people.get(name)
        with passwords.place(network_of(address)):
            if (wait := self.throttle.attempt(*sender)) > 0:
                return Attempt(False, wait)
            if not passwords.is_correct(password, None if user is None else user.password):
                return Attempt(False)
        self.throttle.succeeded(*sender)
        return Attempt(True)

    def device_cookie(self, name: str) -> str:
        """A cookie for a browser in which a user has logged in.

        It is void once the password or the role changes.
        """
        device = secrets.token_urlsafe(16)
        return f"{device}.{_signature(self.users.user(name), device)}"

    def device_of(self, name: str, cookie: str) -> str:
        """The id in a device cookie that this user was given; "" for any other cookie."""
        device, _, signature = cookie.partition(".")
        user = self.users.people.get(name)
        if user is None:
            return ""
        is_signed = compare_digest(signature.encode(), _signature(user, device).encode())
        return device if is_signed else ""

    def open_session(self, name: str) -> str:
        """The id of a new session, for the user's browser."""
        with unavailable_if_refused():
            return self._sessions.open(self._file.users.user(name), self.now)

    def open_external_session(self, sign_on: OidcClient, identity: Identity) -> str:
        """The id of a new session of a user of the login provider."""
        user = sign_on.user(identity.name, identity.role)
        with unavailable_if_refused():
            return self._sessions.open(user, self.now, is_external=True)

    def end_session(self, secret: str) -> None:
        """Ends a session, if it exists."""
        with unavailable_if_refused():
            self._sessions.end(secret)

    def end_sessions(self, name: str) -> None:
        """Ends all sessions of a user."""
        with unavailable_if_refused():
            self._sessions.end_all(name)

    def set_password(self, name: str, password: str) -> None:
        """Changes a password, which ends all sessions of the user.

        Raises InvalidValue for a weak password, Unreachable if no place is free to hash it.
        """
        hash_ = passwords.hashed(passwords.checked(password, name))
        with unavailable_if_refused():
            self._file.change(lambda all_: all_.with_user(replace(all_.user(name), password=hash_)))

    def revoke_token(self, id_: str, name: str) -> None:
        """Revokes a token of a user; raises NotFound if the user has no token with this id."""
        with unavailable_if_refused():
            self._file.change(lambda all_: all_.without_token(id_, name))

    def _user_of(self, session: Session) -> User | None:
        if session.role is None:
            return self._file.users.people.get(session.user)
        return None if self.sign_on is None else self.sign_on.user(session.user, session.role)


def _signature(user: User, device: str) -> str:
    text = f"mark {device}".encode(errors="replace")
    return hmac.new(user.stamp.encode(), text, "sha256").hexdigest()
