"""Passwords: their rules, their hashes, and their comparison."""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from synergy.errors import InvalidValue
from synergy.mx.protection.shares import Shares

SHORTEST = 12  # characters
LONGEST = 1024
STRONG = 4  # the score of zxcvbn from 10^10 guesses on
EXAMINED = 72  # characters, from the first; the time that zxcvbn takes grows faster than the length
_RUNNING = threading.Semaphore(2)  # running comparisons; each takes 64 MiB
_PENDING = Shares("logins", most=6, share=2)  # comparisons that wait or run; each takes a thread

_hasher = PasswordHasher()


def checked(password: str, name: str) -> str:
    """The password; raises InvalidValue for one that is easily guessed."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise InvalidValue(f"a password must have {SHORTEST} to {LONGEST:,} characters")
    plain = password.casefold()
    if not _is_strong(plain.replace(name.casefold(), "") if len(name) > 3 else plain):
        raise InvalidValue("this password is easily guessed: use several words, for example")
    return password


def _is_strong(password: str) -> bool:
    """Whether guessing it takes many tries, even from lists of common passwords and words."""
    from zxcvbn import zxcvbn  # its lists are large; few processes set passwords

    return password != "" and zxcvbn(password[:EXAMINED])["score"] >= STRONG


def hashed(password: str) -> str:
    """The hash of a password; raises Unreachable as `place` does."""
    with place(), _RUNNING:
        return _hasher.hash(_normalized(password))


def is_correct(password: str, hash_: str | None) -> bool:
    """Whether a password matches a hash; takes equally long without a hash (for an unknown user).

    The caller holds a `place`.
    """
    with _RUNNING:
        try:
            _hasher.verify(hash_ or _dummy_hash(), _normalized(password[: LONGEST + 1]))
        except (VerificationError, InvalidHashError):
            return False
    return hash_ is not None


@contextmanager
def place(*origin: str) -> Iterator[None]:
    """Holds one of the few places for comparisons.

    Raises Unreachable if none is free, and ShareExceeded if the origin has too many.
    """
    with _PENDING.place(*origin):
        yield


@cache
def _dummy_hash() -> str:
    return _hasher.hash("no user has this password")


def _normalized(text: str) -> bytes:
    """The same bytes for all Unicode forms of an accented letter."""
    return unicodedata.normalize("NFC", text).encode(errors="surrogatepass")
