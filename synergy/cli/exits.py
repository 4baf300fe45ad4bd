"""The exit codes of commands; `code_of` returns that of an error."""

from __future__ import annotations

from typing import Final

from synergy.errors import (
    AuditLogUnavailable,
    ConfigurationError,
    InvalidValue,
    MessagingUnavailable,
    NotFound,
    Refused,
    StorageUnavailable,
    SynergyError,
    Unreachable,
)

DONE: Final = 0
FAILED: Final = 1
USAGE: Final = 2
NOT_FOUND: Final = 3
REFUSED: Final = 4
UNREACHABLE: Final = 5
CONFIGURATION: Final = 78
INTERRUPTED: Final = 130  # as shells report SIGINT

_CODES: Final[tuple[tuple[type[SynergyError], int], ...]] = (
    (ConfigurationError, CONFIGURATION),
    (InvalidValue, USAGE),
    (NotFound, NOT_FOUND),
    (Refused, REFUSED),
    (StorageUnavailable, UNREACHABLE),
    (MessagingUnavailable, UNREACHABLE),
    (Unreachable, UNREACHABLE),
    (AuditLogUnavailable, UNREACHABLE),
)


def code_of(error: SynergyError) -> int:
    """The exit code of a command that raised this error."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), FAILED)
