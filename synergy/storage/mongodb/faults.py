"""Translation of the driver's errors into StorageUnavailable, with advice for operators.

Failures of the network, the server and the set-up become StorageUnavailable. Two kinds of errors
are not translated: a command that the server does not understand, because it is a defect of this
engine and waiting does not help; and a violated unique index, because the callers handle it.
"""

from __future__ import annotations

from pymongo.errors import (
    BulkWriteError,
    ConfigurationError,
    ConnectionFailure,
    DuplicateKeyError,
    ExecutionTimeout,
    InvalidOperation,
    NetworkTimeout,
    OperationFailure,
    PyMongoError,
    ServerSelectionTimeoutError,
    WaitQueueTimeoutError,
    WriteConcernError,
)

from synergy.errors import StorageUnavailable
from synergy.runtime.masking import mask

_MISTAKES = frozenset({2, 9, 14, 40, 59, 238})  # BadValue .. CommandNotFound, NotImplemented
_UNAUTHORIZED = 13
_AUTHENTICATION_FAILED = frozenset({18, 8000})
_NO_SPACE = 14031
_OTHER_INDEX = frozenset({85, 86})
_LONGEST = 160  # characters of the driver's message

_ADVICE: dict[type[PyMongoError], str] = {
    WaitQueueTimeoutError: "all connections to {place} are in use ({error})",
    NetworkTimeout: "{place} does not answer ({error}): look at the server and the network",
    ExecutionTimeout: "{place} did not answer in time ({error}): look at the server's load",
    ServerSelectionTimeoutError: (
        "{place} cannot be reached ({error}): look at its address in SYNERGY_STORE, and whether "
        "the server runs and may be reached from here"
    ),
    ConnectionFailure: "the connection to {place} broke ({error}): look at the server's log",
    WriteConcernError: (
        "{place} could not confirm a write on most of its members ({error}): look at the "
        "replica set"
    ),
    ConfigurationError: "{place} cannot be used ({error}): look at SYNERGY_STORE",
    InvalidOperation: "{place} was closed",
}
_OF_TLS = (
    "{place} and this box do not agree on TLS ({error}): look at the tls options in SYNERGY_STORE"
)
_REFUSED = "{place} refuses the user or the password: look at SYNERGY_STORE"
_FORBIDDEN = (
    "{place} does not allow that ({error}): SYNERGY_STORE has to name a user with the rights in "
    "deploy/mongodb-user.js"
)
_FULL = "no space is left to write {place}: free some, and work resumes by itself"
_OTHER = "{place} could not do what it was asked ({error}): look at the server's log"


def translated(error: PyMongoError, place: str) -> StorageUnavailable | None:
    """The error for the rest of Synergy; None for an error that is not translated."""
    advice = _of_operation(error) if isinstance(error, OperationFailure) else _of_driver(error)
    if advice is None:
        return None
    return StorageUnavailable(advice.format(place=place, error=_brief(error)))


def duplicate(error: PyMongoError) -> DuplicateKeyError | None:
    """The error of FerretDB 1 for an update that violates a unique index, as DuplicateKeyError.

    None for any other error: FerretDB 1 reports such an update as an internal error.
    """
    if isinstance(error, OperationFailure) and "UNIQUE constraint failed" in str(error):
        return DuplicateKeyError(str(error), 11000, error.details)
    return None


def _of_driver(error: PyMongoError) -> str | None:
    if "operation cancelled" in str(
        error
    ):  # the driver's monitor noticed first that the server does not answer
        return _ADVICE[NetworkTimeout]
    if "SSL" in str(error) or "TLS" in str(error) or "certificate" in str(error):
        return _OF_TLS
    return _listed(error)


def _of_operation(error: OperationFailure) -> str | None:
    if isinstance(error, DuplicateKeyError) or error.code in _MISTAKES:
        return None
    if isinstance(error, BulkWriteError):
        unconfirmed = (error.details or {}).get("writeConcernErrors")
        return _ADVICE[WriteConcernError] if unconfirmed else None
    if error.code in _AUTHENTICATION_FAILED:
        return _REFUSED
    return {_UNAUTHORIZED: _FORBIDDEN, _NO_SPACE: _FULL}.get(error.code or 0) or (
        _listed(error) or _OTHER
    )


def _listed(error: PyMongoError) -> str | None:
    return next((advice for kind, advice in _ADVICE.items() if isinstance(error, kind)), None)


def _brief(error: PyMongoError) -> str:
    """The driver's message without topology and secrets, shortened."""
    text = mask(str(error)).partition(", Timeout: ")[0].partition(", full error: ")[0]
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
