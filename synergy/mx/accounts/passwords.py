"""Passwords: their rules, their hashes, and their comparison."""

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
DIFFERENT = 5  # distinct characters
_COMMON = ("password", "passwort", "kennwort", "qwerty", "qwertz", "letmein", "welcome", "synergy",
           "admin", "secret", "iloveyou", "changeme", "default")  # fmt: skip
_RUNNING = threading.Semaphore(2)  # comparisons; each takes 64 MiB
_PENDING = threading.Semaphore(6)  # comparisons, including running ones; each takes a thread

_hasher = PasswordHasher()


def checked(password: str, name: str) -> str:
    """The password; raises InvalidValue for one that is easily guessed."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise InvalidValue(f"a password must have {SHORTEST} to {LONGEST:,} characters")
    plain = password.casefold()
    if len(set(plain)) < DIFFERENT or _is_sequence(plain):
        raise InvalidValue("this password is too simple: use several words, for example")
    rest = plain
    for word in (name.casefold(), *_COMMON):
        rest = rest.replace(word, "") if len(word) > 3 else rest
    if len(rest) < SHORTEST // 2:
        raise InvalidValue("this password is a name or a common word: use several others")
    return password


def _is_sequence(text: str) -> bool:
    """Whether characters go up or down by one step: abcdef, 987654, 789012."""
    steps = {(ord(b) - ord(a)) % 10 for a, b in pairwise(text)}
    return len(steps) == 1


def hashed(password: str) -> str:
    """The hash of a password; raises Unreachable as `is_correct` does."""
    with _slot():
        return _hasher.hash(_normalized(password))


def is_correct(password: str, hash_: str | None) -> bool:
    """Whether a password matches a hash; takes equally long without a hash (for an unknown user).

    Raises Unreachable if too many comparisons are pending.
    """
    with _slot():
        try:
            _hasher.verify(hash_ or _dummy_hash(), _normalized(password[: LONGEST + 1]))
        except (VerificationError, InvalidHashError):
            return False
    return hash_ is not None


@contextmanager
def _slot() -> Iterator[None]:
    if not _PENDING.acquire(blocking=False):
        raise Unreachable("too many logins at this moment: try again in a few seconds")
    try:
        with _RUNNING:
            yield
    finally:
        _PENDING.release()


@cache
def _dummy_hash() -> str:
    return _hasher.hash("no user has this password")


def _normalized(text: str) -> bytes:
    """The same bytes for all Unicode forms of an accented letter."""
    return unicodedata.normalize("NFC", text).encode(errors="surrogatepass")
