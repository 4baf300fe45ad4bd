"""The check of a whole file: every page, index and row. It writes nothing into the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw

from synergy.errors import StorageUnavailable
from synergy.program import PROGRAM
from synergy.storage.malformed import MalformedRow
from synergy.storage.protocol.check import Progress, StoreCheck
from synergy.storage.row_checks import PORTION, SHOWN
from synergy.storage.sqlite import upgrade
from synergy.storage.sqlite.connection import open_read_only
from synergy.storage.sqlite.damage import DamageMark, damage_outside, table_damage, tables_of
from synergy.storage.sqlite.faults import Translating, is_damage
from synergy.storage.sqlite.rows import TABLES


def check_file(path: Path, progress: Progress) -> StoreCheck:
    """Checks the file, beside any users of it, in parts that each see one state.

    A damaged file is marked (see `damage`); a mark of a sound one is removed. Raises
    StorageUnavailable for a file that is missing, or of a newer version.
    """
    if not path.is_file():
        raise StorageUnavailable(f"there is no store at {path}: `{PROGRAM} store init` makes one")
    mark = DamageMark(path)
    was_marked = mark.exists()
    check = _Check(path, progress)
    damage, malformed = tuple(check.damage()), tuple(check.malformed[:SHOWN])
    if damage:
        mark.note(damage[0])
    elif was_marked:
        mark.clear()
    return StoreCheck(str(path), check.rows, damage, malformed, was_marked)


class _Check:
    """One check; the rows of each table count twice: for its pages, and for their values."""

    def __init__(self, path: Path, progress: Progress) -> None:
        self._path = path
        self._progress = progress
        self._done = self._total = 0
        self.rows = 0
        self.malformed: list[MalformedRow] = []

    def damage(self) -> Iterator[str]:
        """All damage that is found."""
        if found := damage_outside(self._path):
            yield found
            return
        try:
            with Translating(str(self._path)), closing(open_read_only(self._path)) as connection:
                upgrade.check(connection, str(self._path))
                yield from self._of_file(connection)
        except StorageUnavailable as error:
            if not is_damage(error.__cause__):
                raise
            yield f"{error.__cause__}"

    def _of_file(self, connection: apsw.Connection) -> Iterator[str]:
        tables = tables_of(connection)
        sizes = {table: _size(connection, table) for table in tables}
        self._total = 2 * sum(sizes.values())
        has_damage = False
        for table in tables:
            for found in _damage_of(connection, table):
                has_damage = True
                yield found
            self._step(sizes[table])
        if not has_damage:
            yield from _damage_of(connection, "")  # of what belongs to no table: free pages
        for kind in TABLES:
            yield from self._of_rows(connection, kind)
        self._step(self._total)

    def _of_rows(self, connection: apsw.Connection, kind: str) -> Iterator[str]:
        after, is_more = None, True
        while is_more:
            try:
                part = TABLES[kind].check(connection, after, PORTION)
            except apsw.Error as error:
                if not is_damage(error):
                    raise
                yield f"rows of {kind}: {error}"
                return
            self.rows += part.count
            self._step(part.count)
            self.malformed += part.malformed
            after, is_more = part.last, part.last is not None

    def _step(self, count: int) -> None:
        self._done = min(self._done + count, self._total)
        self._progress(self._done, self._total)


def _size(connection: apsw.Connection, table: str) -> int:
    try:
        return int(connection.execute(f'SELECT count(*) FROM "{table}"').get)
    except apsw.Error as error:
        if not is_damage(error):
            raise
        return 0


def _damage_of(connection: apsw.Connection, table: str) -> Iterator[str]:
    """The damage of a table; without a table, of the whole file without the contents of indexes."""
    try:
        yield from table_damage(connection, "integrity_check" if table else "quick_check", table)
    except apsw.Error as error:
        if not is_damage(error):
            raise
        yield f"table {table}: {error}" if table else str(error)
