"""Passwords: which are good enough, and how one is compared with its hash."""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import pairwise

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from synergy.errors import InvalidValue, Unreachable

SHORTEST = 12  # characters
LONGEST = 1024
DIFFERENT = 5  # characters that are not the same
_COMMON = ("password", "passwort", "kennwort", "qwerty", "qwertz", "letmein", "welcome", "synergy",
           "admin", "secret", "iloveyou", "changeme", "default")  # fmt: skip
_AT_ONCE = threading.Semaphore(2)  # each takes 64 MiB: strangers must not take all there is
_IN_LINE = threading.Semaphore(6)  # with those: who waits takes a thread that others need

_hasher = PasswordHasher()


def checked(password: str, name: str) -> str:
    """A password that is not guessed at once; raises InvalidValue, which says what is wrong."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise InvalidValue(f"a password has {SHORTEST} to {LONGEST:,} characters")
    plain = password.casefold()
    if len(set(plain)) < DIFFERENT or _is_counted(plain):
        raise InvalidValue("this password is too simple: take several words, for example")
    rest = plain
    for word in (name.casefold(), *_COMMON):
        rest = rest.replace(word, "") if len(word) > 3 else rest
    if len(rest) < SHORTEST // 2:
        raise InvalidValue("this password is a name or a common word: take several others")
    return password


def _is_counted(text: str) -> bool:
    """Whether each character is the next of the one before: abcdef, 987654, 789012."""
    steps = {(ord(b) - ord(a)) % 10 for a, b in pairwise(text)}
    return len(steps) == 1


def hashed(password: str) -> str:
    """What is kept of a password; raises Unreachable as `is_right` does."""
    with _turn():
        return _hasher.hash(_same(password))


def is_right(password: str, hash_: str | None) -> bool:
    """Whether a password is that of a hash; takes as long where there is no hash (nobody's).

    Raises Unreachable where too many wait for an answer already.
    """
    with _turn():
        try:
            _hasher.verify(hash_ or _nobodys(), _same(password[: LONGEST + 1]))
        except (VerificationError, InvalidHashError):
            return False
    return hash_ is not None


@contextmanager
def _turn() -> Iterator[None]:
    if not _IN_LINE.acquire(blocking=False):
        raise Unreachable("too many log in at this moment: try again in a few seconds")
    try:
        with _AT_ONCE:
            yield
    finally:
        _IN_LINE.release()


@cache
def _nobodys() -> str:
    return _hasher.hash("of nobody at all")


def _same(text: str) -> bytes:
    """The same bytes however a keyboard writes an accent."""
    return unicodedata.normalize("NFC", text).encode(errors="surrogatepass")
