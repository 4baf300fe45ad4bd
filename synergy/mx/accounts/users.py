"""Users and tokens: the users file.

Only the argon2 hash of a password is kept, and the hash of a token's secret.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from synergy.errors import InvalidValue, NotFound, Refused
from synergy.mx.accounts.private_file import PrivateFile
from synergy.mx.accounts.roles import LOCAL, ROLES, Role
from synergy.program import PROGRAM

PREFIX = "synergy_"  # of the secrets of tokens, so that secret scanners recognize them
NAME = r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}"
_NAME = re.compile(NAME, re.ASCII)
_LONGEST = 100  # characters that the name of a token may have


@dataclass(frozen=True, slots=True)
class User:
    """A user in the users file, or of the login provider."""

    name: str
    role: Role
    password: str = field(repr=False)  # its hash
    created_at: datetime

    @property
    def stamp(self) -> str:
        """A value that changes with password and role, which ends earlier sessions."""
        return digest(f"{self.name} {self.role.value} {self.password} {self.created_at}")[:32]


@dataclass(frozen=True, slots=True)
class Token:
    """A credential of a program."""

    id: str
    name: str
    user: str
    scope: Role
    secret: str = field(repr=False)  # its hash
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Users:
    """The content of the file: users by name, tokens by the hash of their secret."""

    people: Mapping[str, User] = field(default_factory=dict)
    tokens: Mapping[str, Token] = field(default_factory=dict)

    def user(self, name: str) -> User:
        """A user; raises NotFound."""
        if name not in self.people:
            raise NotFound("user", name, f"{PROGRAM} user list shows them")
        return self.people[name]

    def bearer(self, secret: str, now: datetime) -> tuple[Token, Role] | None:
        """A token and its role now; None if it is not valid."""
        token = self.tokens.get(digest(secret))
        user = None if token is None else self.people.get(token.user)
        if token is None or user is None or token.expires_at <= now:
            return None
        role = token.scope.within(user.role)
        return None if role is None else (token, role)

    def with_user(self, user: User) -> Users:
        return replace(self, people={**self.people, user.name: user})

    def with_token(self, token: Token) -> Users:
        return replace(self, tokens={**self.tokens, token.secret: token})

    def without_user(self, name: str) -> Users:
        """A copy without a user and the user's tokens; raises NotFound."""
        self.user(name)
        return Users(
            {other: user for other, user in self.people.items() if other != name},
            {secret: token for secret, token in self.tokens.items() if token.user != name},
        )

    def without_token(self, id_: str, user: str | None = None) -> Users:
        """A copy without a token; raises NotFound, also if it is not one of `user`."""
        left = {
            secret: token
            for secret, token in self.tokens.items()
            if token.id != id_ or user not in (None, token.user)
        }
        if len(left) == len(self.tokens):
            raise NotFound("token", id_, f"{PROGRAM} user list shows them")
        return replace(self, tokens=left)


def digest(secret: str) -> str:
    """The hash of a random secret, which unlike a password needs no slow hash."""
    return hashlib.sha256(secret.encode(errors="surrogatepass")).hexdigest()


class UsersFile:
    """The users file; changes are visible to all processes that have it open."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = PrivateFile(path, Users(), _decode, _encode, may_be_link=True)

    @property
    def users(self) -> Users:
        """The current content; raises Refused for a file that cannot be trusted."""
        return self._file.read()

    def change(self, change: Callable[[Users], Users]) -> None:
        """Replaces the content with `change` of it; if that raises, nothing changes."""
        self._file.change(change)


def checked_name(name: str) -> str:
    """The name; raises InvalidValue if users may not have it."""
    if not _NAME.fullmatch(name):
        raise InvalidValue(
            f"{name!r}: a name has at most 64 letters, digits and . _ @ -, "
            "and begins with a letter or digit"
        )
    if name == LOCAL:
        raise InvalidValue(f"{name} is reserved for access without login; choose another name")
    return name


def new_user(users: Users, name: str, role: Role, password: str, now: datetime) -> Users:
    """`users` with a new one, whose password has this hash; raises Refused if the name is taken."""
    if checked_name(name) in users.people:
        raise Refused(f"user {name} exists: {PROGRAM} user password {name} changes the password")
    return users.with_user(User(name, role, password, now))


def new_token(
    users: Users, user: str, scope: Role, name: str, times: tuple[datetime, datetime]
) -> tuple[Users, Token, str]:
    """`users` with a new token, that token, and its secret; `times` are now and its expiry."""
    owner = users.user(user)
    if not owner.role.may(scope):
        raise Refused(f"{user} is {owner.role.value}, which does not include {scope.value}")
    if len(name) > _LONGEST or not name.isprintable():
        raise InvalidValue(f"the name of a token has at most {_LONGEST} characters, on one line")
    secret = PREFIX + secrets.token_urlsafe(32)
    token = Token(secrets.token_hex(4), name, user, scope, digest(secret), *times)
    return users.with_token(token), token, secret


def _decode(found: Any) -> Users:
    people = [
        User(
            checked_name(each["name"]),
            _role(each["role"], ROLES),
            str(each["password"]),
            _instant(each["created_at"]),
        )
        for each in found["users"]
    ]
    tokens = [
        Token(
            str(each["id"]),
            str(each["name"]),
            str(each["user"]),
            _role(each["scope"], tuple(Role)),
            str(each["secret"]),
            _instant(each["created_at"]),
            _instant(each["expires_at"]),
        )
        for each in found["tokens"]
    ]
    return Users({user.name: user for user in people}, {token.secret: token for token in tokens})


def _role(word: object, among: tuple[Role, ...]) -> Role:
    role = Role(word)
    if role not in among:
        raise ValueError(f"a user cannot have the role {role.value}")
    return role


def _instant(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError(f"{text} has no time zone")
    return found


def _encode(users: Users) -> Any:
    return {
        "users": [
            {
                "name": user.name,
                "role": user.role.value,
                "password": user.password,
                "created_at": user.created_at.isoformat(),
            }
            for user in users.people.values()
        ],
        "tokens": [
            {
                "id": token.id,
                "name": token.name,
                "user": token.user,
                "scope": token.scope.value,
                "secret": token.secret,
                "created_at": token.created_at.isoformat(),
                "expires_at": token.expires_at.isoformat(),
            }
            for token in users.tokens.values()
        ],
    }
