"""What there is where people have to say who they are: users, sessions, and their limits."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from hmac import compare_digest
from pathlib import Path

from synergy.clock import Clock
from synergy.errors import Refused
from synergy.mx.access import Person
from synergy.mx.accounts import passwords
from synergy.mx.accounts.sessions import Sessions, csrf_of
from synergy.mx.accounts.throttle import Throttle
from synergy.mx.accounts.users import User, UserBook, Users
from synergy.mx.problems import Closed, Unknown


class Accounts:
    """Users, their sessions, and how often somebody may try to log in.

    Everything but `check` raises Closed where a file cannot be trusted: nobody is let in then.
    """

    def __init__(self, users_file: Path, home: Path, clock: Clock) -> None:
        self.throttle = Throttle(clock)
        self._book = UserBook(users_file)
        self._sessions = Sessions(home / "mx" / "sessions.json")
        self._clock = clock

    def check(self) -> None:
        """Raises Refused where nobody could log in."""
        if not self._book.users.people:
            raise Refused(
                f"nobody could log in: {self._book.path} names no user; "
                "launch.py user add NAME --role admin makes the first"
            )
        self._sessions.check()

    @property
    def now(self) -> datetime:
        return self._clock.now()

    @property
    def users(self) -> Users:
        with _closed():
            return self._book.users

    def by_token(self, secret: str) -> Person:
        """Whose token it is; raises Unknown for one that is not valid."""
        found = self.users.bearer(secret, self.now)
        if found is None:
            raise Unknown("this token is unknown, or over, or may do nothing any more")
        user, role = found
        return Person(user.name, role)

    def by_session(self, secret: str) -> Person | None:
        """Whose session it is; None if it is over."""
        with _closed():
            user = self._sessions.user_of(secret, self._book.users, self.now)
        return None if user is None else Person(user.name, user.role, csrf_of(secret))

    def knows(self, name: str, password: str) -> bool:
        """Whether somebody has this name and password; takes as long for any name."""
        user = self.users.people.get(name)
        return passwords.is_right(password, None if user is None else user.password)

    def mark(self, name: str) -> str:
        """What a browser keeps in which a user has logged in; void with another password."""
        number = secrets.token_urlsafe(16)
        return f"{number}.{_signed(self.users.user(name), number)}"

    def marked(self, name: str, mark: str) -> str:
        """The number of a mark that this user was given; "" for any other."""
        number, _, signature = mark.partition(".")
        user = self.users.people.get(name)
        if user is None or not compare_digest(signature.encode(), _signed(user, number).encode()):
            return ""
        return number

    def open(self, name: str) -> str:
        """A new session of a user; the id for his browser."""
        with _closed():
            return self._sessions.open(self._book.users.user(name), self.now)

    def end(self, secret: str) -> None:
        """Ends a session; there need not be one."""
        with _closed():
            self._sessions.end(secret)

    def set_password(self, name: str, password: str) -> None:
        """Gives a user another password, which ends all his sessions; raises InvalidValue."""
        hash_ = passwords.hashed(passwords.checked(password, name))
        with _closed():
            self._book.change(lambda all_: all_.with_user(replace(all_.user(name), password=hash_)))

    def revoke(self, id_: str, name: str) -> None:
        """Makes a token of a user worthless; raises NotFound if he has none of this id."""
        with _closed():
            self._book.change(lambda all_: all_.without_token(id_, name))


def _signed(user: User, number: str) -> str:
    text = f"mark {number}".encode(errors="replace")
    return hmac.new(user.stamp.encode(), text, "sha256").hexdigest()


@contextmanager
def _closed() -> Iterator[None]:
    try:
        yield
    except Refused as error:
        raise Closed(str(error)) from error
