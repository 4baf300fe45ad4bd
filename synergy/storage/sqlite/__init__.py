"""The store in one SQLite file, for many threads and many processes; see `engine`."""

from synergy.storage.sqlite.engine import SqliteStore

__all__ = ["SqliteStore"]
