"""Registers the store in one SQLite file: `sqlite:///FILE`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from synergy.errors import InvalidValue

if TYPE_CHECKING:
    from synergy.storage.protocol import Store
    from synergy.storage.protocol.check import Progress, StoreCheck

DEFAULT = "sqlite:///<home>/synergy.db"

_PREFIX = "sqlite:///"


class SqliteEngine:
    """See `synergy.engines.protocol.StoreEngine`."""

    module = "synergy.storage.sqlite"
    expected = f"{_PREFIX}FILE, for example {DEFAULT}"

    def matches(self, url: str) -> bool:
        return url.startswith(_PREFIX) and not url.endswith("/")

    def complete(self, url: str, file: Callable[[str], Path]) -> str:
        path = url.removeprefix(_PREFIX)
        if "?" in path:
            raise InvalidValue(f"a file has no options: expected {_PREFIX}FILE without ?")
        if path == ":memory:":
            raise InvalidValue("a store in memory cannot be shared by several processes")
        return f"{_PREFIX}{file(path)}"

    def place(self, url: str) -> str:
        return f"{_PREFIX}{self.file(url).resolve()}"

    def weaknesses(self, url: str) -> list[str]:
        return []

    def file(self, url: str) -> Path:
        return Path(url.removeprefix(_PREFIX))

    def open(self, url: str, *, create: bool) -> Store:
        from synergy.storage.sqlite import SqliteStore

        return SqliteStore.open(self.file(url), create=create)

    def prepare(self, url: str, *, dry_run: bool = False) -> list[str]:
        if not dry_run:
            self.open(url, create=True).close()
        return []

    def exists(self, url: str) -> bool:
        return self.file(url).is_file()

    def check(self, url: str, progress: Progress) -> StoreCheck:
        from synergy.storage.sqlite.check import check_file

        return check_file(self.file(url), progress)

    def drop(self, url: str) -> None:
        """Deletes the log before the file: a new file must never find the log of an old one."""
        file = self.file(url)
        for suffix in ("-wal", "-shm", "", "-gate", "-damaged"):
            file.with_name(file.name + suffix).unlink(missing_ok=True)
