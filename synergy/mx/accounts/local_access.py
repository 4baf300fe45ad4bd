"""Access without users: for the user that MX runs as, for root, and for holders of a token."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hmac import compare_digest
from pathlib import Path
from typing import Self

from starlette.requests import HTTPConnection

from synergy import private_files
from synergy.clock import Clock
from synergy.errors import Refused
from synergy.mx.access import Person
from synergy.mx.accounts.roles import Role
from synergy.mx.accounts.sessions import IDLE, Sessions, csrf_of, sessions_file
from synergy.mx.accounts.users import PREFIX, User, Users, digest
from synergy.mx.problems import Unauthenticated, unavailable_if_refused
from synergy.mx.protection.peers import is_own_user
from synergy.names import local_token

_BYTES = 32  # of a token
_ALWAYS = datetime(1970, 1, 1, tzinfo=UTC)


class LocalAccess:
    """Access with the token in the home, or with a session that was opened with it.

    A request for which `is_own` is true needs neither: it comes from a process of the user that MX
    runs as, or of root. Such a process could change the store as well.
    """

    def __init__(
        self,
        token: str,
        sessions: Sessions,
        clock: Clock,
        is_own: Callable[[HTTPConnection], bool] = is_own_user,
    ) -> None:
        self.is_own = is_own
        self._token = token
        self._sessions = sessions
        self._clock = clock
        user = User("", Role.ADMIN, digest(token), _ALWAYS)
        self._users = Users({user.name: user})

    @classmethod
    def at(cls, home: Path, clock: Clock, idle: timedelta = IDLE) -> Self:
        """Access to the MX of a home, whose token is created if there is none.

        Raises Refused if the files in the home cannot be trusted or written.
        """
        sessions = Sessions(sessions_file(home), idle)
        sessions.check()
        return cls(_token(local_token(home)), sessions, clock)

    def is_token(self, secret: str) -> bool:
        return compare_digest(secret.encode(errors="replace"), self._token.encode())

    def by_token(self, secret: str) -> Person:
        """The holder of the token; raises Unauthenticated for another token."""
        if not self.is_token(secret):
            raise Unauthenticated("token is not that of the home")
        return Person("", Role.ADMIN, via="token of the home")

    def by_session(self, secret: str, *, is_use: bool = True) -> Person | None:
        """The holder of a session, which a use prolongs; None if it has ended."""
        with unavailable_if_refused():
            user = self._sessions.user_of(
                secret,
                lambda session: self._users.people.get(session.user),
                self._clock.now(),
                is_use=is_use,
            )
        return None if user is None else Person("", user.role, csrf_of(secret), "session")

    def open_session(self) -> str:
        """The id of a new session, for the browser."""
        with unavailable_if_refused():
            return self._sessions.open(self._users.user(""), self._clock.now())

    def end_session(self, secret: str) -> None:
        """Ends a session, if it exists."""
        with unavailable_if_refused():
            self._sessions.end(secret)

    def end_sessions(self, name: str) -> None:
        """Ends all sessions of a user."""
        with unavailable_if_refused():
            self._sessions.end_all(name)


def _token(path: Path) -> str:
    """The token in the file, which is created with a new one if it is missing or empty."""
    try:
        private_files.make_home_folder(path.parent)
        with open(path, "a+", opener=private_files.open_file) as file:
            file.seek(0)
            if found := file.read().strip():
                return found
            made = PREFIX + secrets.token_urlsafe(_BYTES)
            file.write(f"{made}\n")
            file.flush()
            os.fsync(file.fileno())
            return made
    except OSError as error:
        raise Refused(f"{path} cannot be used: {error.strerror}") from error
