"""Damage of the file: how it is found, and how it is kept from becoming worse.

A store that was found damaged is not written to any more, because each write could destroy more: by
no process, and by none that starts later. It is not read either, so that nothing is told from it as
if all were well. The file `<store>-damaged` says so. It names the damaged file, so that it does not
apply to another one that was put in its place; `store check` removes it from a sound one.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import orjson

from synergy import private_files
from synergy.clock import SystemClock
from synergy.errors import StorageUnavailable
from synergy.program import PROGRAM

CHECK_EVERY = 10_000  # steps of SQLite's machine between two readings of the clock
LOOK_SECONDS = 1.0  # the time between two looks of readers for the mark
HEADER = 92  # bytes at the beginning of the file by which a mark recognises it
CHANGING = slice(24, 40)  # except these counters: a write that is still under way changes them
_MARKED = (
    f"{{place}} is damaged ({{found}}): it is not used any more. {PROGRAM} store check shows the "
    "damage, and releases a store that was replaced by a sound one; docs/operations.md says how to "
    "restore a backup"
)
_LOG_MAGIC = (0x377F0682, 0x377F0683)
_NO_DAMAGE = ("ok", "*** in database main ***")
_ABOUT_A_ROW = re.compile(r"(NULL|NUMERIC|TEXT|BLOB|non-\w+) value in ")

log = logging.getLogger(__name__)
_clock = SystemClock()


class DamageMark:
    """The file that marks a store as damaged."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._path = Path(f"{store}-damaged")
        self._look_at = 0.0
        self._is_seen = False
        self._unwritten = ""  # damage that could not be noted: the disk is full, for example

    def exists(self) -> bool:
        """Whether some damage was noted; quick enough to be asked before each write."""
        return bool(self._unwritten) or os.path.lexists(self._path)

    def note(self, found: str) -> None:
        """Marks this file, unless it is marked already; replaces the mark of another file."""
        text = orjson.dumps({"file": self._identity(), "found": found})
        if self._unwritten or self._noted():
            return
        try:
            file = private_files.open_file(self._path, os.O_WRONLY | os.O_CREAT)
            with os.fdopen(file, "wb") as opened:
                opened.write(text)
                opened.truncate()
        except OSError:
            self._unwritten = found

    def refuse(self) -> None:
        """Raises StorageUnavailable if this file was found damaged; removes the mark of another."""
        found = self._unwritten or self._noted()
        if found:
            raise self.refusal(found)
        if found is not None:
            self.clear()

    def refuse_reader(self) -> None:
        """As `refuse`, but looks for the mark once in a while: cheap enough for each read."""
        now = _clock.monotonic()
        if now >= self._look_at:
            self._look_at = now + LOOK_SECONDS
            self._is_seen = self.exists()
        if self._is_seen:
            self.refuse()

    def clear(self) -> None:
        """Removes the mark."""
        self._path.unlink(missing_ok=True)

    def refusal(self, found: str) -> StorageUnavailable:
        """The error for a damaged store."""
        return StorageUnavailable(_MARKED.format(place=self._store, found=found))

    def _noted(self) -> str | None:
        """The damage that the mark names; "" if it is of another file, None without a mark."""
        try:
            stored = orjson.loads(self._path.read_bytes())
            return str(stored["found"]) if stored["file"] == self._identity() else ""
        except FileNotFoundError:
            return None
        except (OSError, LookupError, TypeError, ValueError):
            return f"{self._path} says so"

    def _identity(self) -> list[object]:
        """The file's number and a digest of its header."""
        try:
            with self._store.open("rb") as file:
                header = bytearray(file.read(HEADER))
                del header[CHANGING]
                return [os.fstat(file.fileno()).st_ino, hashlib.sha256(header).hexdigest()]
        except OSError:
            return []


def damage_outside(path: Path) -> str:
    """Damage that SQLite does not report: an empty file, or a log that it would discard; or ""."""
    try:
        if path.stat().st_size == 0:
            return "it has no bytes; a new store is made only where there is no file"
        with Path(f"{path}-wal").open("rb") as file:
            header = file.read(32)
    except OSError:
        return ""
    if len(header) < 32 or not any(header) or _is_log(header):
        return ""
    return f"its log {path}-wal has no valid header, so what it holds cannot be read"


def quick_check(connection: apsw.Connection, place: str, seconds: float) -> str:
    """Checks tables and their indexes for damage; returns the first, or "" for none.

    Each table gets an equal share of the time that is left, so that all are looked at. The log says
    how far the check came.
    """
    end = _clock.monotonic() + seconds
    tables = tables_of(connection)
    whole = 0
    for number, table in enumerate(tables):
        now = _clock.monotonic()
        until = now + (end - now) / (len(tables) - number)
        connection.set_progress_handler(_passed(until), CHECK_EVERY)
        try:
            if found := next(table_damage(connection, "quick_check", table), ""):
                return found
            whole += 1
        except apsw.InterruptError:
            continue
        finally:
            connection.set_progress_handler(None)
    extent = f"{whole} of {len(tables)} tables with their indexes as a whole, the others in part"
    rest = f"{PROGRAM} store check reads all of it"
    log.info("Checked %s for damage: %s; %s", place, extent, rest, extra={"event": "store.checked"})
    return ""


def _passed(until: float) -> Callable[[], bool]:
    return lambda: _clock.monotonic() > until


def tables_of(connection: apsw.Connection) -> list[str]:
    """The tables, the one of the schema first."""
    query = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rootpage"
    return ["sqlite_schema", *(str(name) for (name,) in connection.execute(query))]


def table_damage(connection: apsw.Connection, pragma: str, table: str) -> Iterator[str]:
    """The damage that a check of a table and its indexes reports; "" stands for the whole file.

    A value of a wrong type is no damage: its row is malformed.
    """
    subject, of = (f'("{table}")', f"table {table}: ") if table else ("", "")
    for (report,) in connection.execute(f"PRAGMA {pragma}{subject}"):
        for line in str(report).splitlines():
            if line not in _NO_DAMAGE and not _ABOUT_A_ROW.match(line):
                yield f"{of}{line}"


def _is_log(header: bytes) -> bool:
    """Whether a log's header is valid: its magic number and its checksum."""
    (magic,) = struct.unpack(">I", header[:4])
    if magic not in _LOG_MAGIC:
        return False
    words = struct.unpack(f"{'>' if magic & 1 else '<'}6I", header[:24])
    first = second = 0
    for at in range(0, 6, 2):
        first = (first + words[at] + second) & 0xFFFFFFFF
        second = (second + words[at + 1] + first) & 0xFFFFFFFF
    return struct.unpack(">2I", header[24:]) == (first, second)
