"""Sessions of browsers.

Only the hash of a session's id is kept, in a file, so that a restart of MX ends no session.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from synergy.mx.accounts.private_file import PrivateFile
from synergy.mx.accounts.roles import Role
from synergy.mx.accounts.users import User, digest
from synergy.names import MX_SESSION_IDLE

LIFE = timedelta(hours=12)
IDLE = timedelta(minutes=MX_SESSION_IDLE)
TOUCH = timedelta(minutes=1)  # precision of the time of last use
AHEAD = timedelta(minutes=5)  # how far in the future a session may be: the clock was set back
MOST = 20  # sessions of one user; the oldest are dropped

_Kept = tuple["Session", ...]


def sessions_file(home: Path) -> Path:
    """The file in a home that holds the sessions."""
    return home / "mx" / "sessions.json"


@dataclass(frozen=True, slots=True)
class Session:
    """A session of a user; `stamp` is that of the user at login.

    `role` is what the login provider gave its user; None for a user of the users file.
    """

    id: str = field(repr=False)  # the hash of the id in the browser
    user: str
    stamp: str = field(repr=False)
    created_at: datetime
    seen_at: datetime
    role: Role | None = None

    def has_ended(self, now: datetime, idle: timedelta) -> bool:
        is_ahead = max(self.created_at, self.seen_at) > now + AHEAD  # it would last too long
        return is_ahead or now >= self.created_at + LIFE or now >= self.seen_at + idle


class Sessions:
    """All sessions, which end when unused for `idle`, and after `LIFE` in any case.

    May be used by several threads, and by several processes.
    """

    def __init__(self, path: Path, idle: timedelta = IDLE) -> None:
        self._idle = idle
        self._file: PrivateFile[_Kept] = PrivateFile(path, (), _decode, _encode)

    def check(self) -> None:
        """Raises Refused for a file that cannot be trusted."""
        self._file.read()

    def open(self, user: User, now: datetime, *, is_external: bool = False) -> str:
        """The id of a new session, for the browser; `is_external` for users of the provider.

        Sessions that the user began with another role or password end.
        """
        secret = secrets.token_urlsafe(32)
        role = user.role if is_external else None
        session = Session(digest(secret), user.name, user.stamp, now, now, role)

        def add(kept: _Kept) -> _Kept:
            alive = [each for each in kept if not each.has_ended(now, self._idle)]
            own = [each for each in alive if each.user == user.name]
            outdated = [each for each in own if each.stamp != user.stamp]
            gone = sorted(own, key=lambda each: each.created_at)[: max(len(own) - MOST + 1, 0)]
            return (*(each for each in alive if each not in (*gone, *outdated)), session)

        self._file.change(add)
        return secret

    def user_of(
        self,
        secret: str,
        find: Callable[[Session], User | None],
        now: datetime,
        *,
        is_use: bool = True,
    ) -> User | None:
        """The user of a session; None if it has ended. With `is_use`, marks it as used now.

        `find` returns the current data of the session's user; None if the user no longer exists.
        """
        id_ = digest(secret)
        session = next((each for each in self._file.read() if each.id == id_), None)
        user = None if session is None else find(session)
        if session is None or user is None or session.stamp != user.stamp:
            return None
        if session.has_ended(now, self._idle):
            return None
        if is_use and now - session.seen_at >= TOUCH:
            self._file.change(lambda kept: _touched(kept, id_, now))
        return user

    def end(self, secret: str) -> None:
        """Ends a session, if it exists."""
        id_ = digest(secret)
        self._file.change(lambda kept: tuple(each for each in kept if each.id != id_))

    def has(self, user: str) -> bool:
        """Whether a user has sessions."""
        return any(each.user == user for each in self._file.read())

    def end_all(self, user: str) -> None:
        """Ends all sessions of a user."""
        self._file.change(lambda kept: tuple(each for each in kept if each.user != user))


def csrf_of(secret: str) -> str:
    """The CSRF token of a session."""
    return hmac.new(secret.encode(errors="replace"), b"csrf", "sha256").hexdigest()


def _touched(kept: _Kept, id_: str, now: datetime) -> _Kept:
    return tuple(replace(each, seen_at=now) if each.id == id_ else each for each in kept)


def _decode(found: Any) -> _Kept:
    return tuple(
        Session(
            str(each["id"]),
            str(each["user"]),
            str(each["stamp"]),
            datetime.fromisoformat(each["created_at"]),
            datetime.fromisoformat(each["seen_at"]),
            Role(each["role"]) if each.get("role") else None,
        )
        for each in found["sessions"]
    )


def _encode(sessions: Iterable[Session]) -> Any:
    return {
        "sessions": [
            {
                "id": each.id,
                "user": each.user,
                "stamp": each.stamp,
                "created_at": each.created_at.isoformat(),
                "seen_at": each.seen_at.isoformat(),
                "role": None if each.role is None else each.role.value,
            }
            for each in sessions
        ]
    }
