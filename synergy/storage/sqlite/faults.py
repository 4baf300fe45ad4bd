"""Translation of the driver's errors into StorageUnavailable, with advice for operators.

Failures of the file, the disk and the lock become StorageUnavailable. Errors in SQL or bindings are
not translated: they are defects of this engine, and waiting does not help.
"""

from __future__ import annotations

from types import TracebackType

import apsw

from synergy.errors import StorageUnavailable
from synergy.storage.sqlite.damage import DamageMark

_DAMAGED = "{place} is damaged ({error}): stop everything and restore a backup"
_ADVICE: dict[type[apsw.Error], str] = {
    apsw.BusyError: "{place} is locked by another process ({error})",
    apsw.LockedError: "{place} is locked by another connection ({error})",
    apsw.FullError: "no space is left to write {place}: free some, and work resumes by itself",
    apsw.IOError: "reading or writing {place} failed ({error}): look at the disk and at its space",
    apsw.CorruptError: _DAMAGED,
    apsw.NotADBError: _DAMAGED,
    apsw.FormatError: _DAMAGED,
    apsw.CantOpenError: "{place} cannot be opened ({error}): look at its path and permissions",
    apsw.PermissionsError: "{place} may not be accessed ({error}): look at its permissions",
    apsw.ReadOnlyError: "{place} may only be read: look at its permissions and mount",
    apsw.ProtocolError: "{place} is locked in an unknown way ({error})",
    apsw.NoMemError: "no memory is left to work with {place}",
    apsw.InterruptError: "work with {place} was interrupted",
    apsw.ConnectionClosedError: "{place} was closed",
}


def translated(error: apsw.Error, place: str) -> StorageUnavailable | None:
    """The error for the rest of Synergy; None for a defect of the engine."""
    for kind, advice in _ADVICE.items():
        if isinstance(error, kind):
            return StorageUnavailable(advice.format(place=place, error=error))
    return None


def is_damage(error: BaseException | None) -> bool:
    """Whether an error of the driver means that the file is damaged."""
    return isinstance(error, apsw.CorruptError | apsw.NotADBError | apsw.FormatError)


class Translating:
    """A context manager that translates the driver's errors about the file at `place`.

    It notes damage in `mark`, if there is one.
    """

    __slots__ = ("_mark", "_place")

    def __init__(self, place: str, mark: DamageMark | None = None) -> None:
        self._place = place
        self._mark = mark

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._mark is not None and is_damage(error):
            self._mark.note(str(error))
            raise self._mark.refusal(str(error)) from error
        if isinstance(error, apsw.Error) and (ours := translated(error, self._place)) is not None:
            raise ours from error
