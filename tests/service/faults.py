"""A store that fails, or whose caller dies, at one call: before it, after it, or at the commit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from synergy.storage.sqlite.engine import SqliteStore

NOUNS = (
    *("answers", "boxes", "controls", "documents", "events", "facts", "jobs", "journal", "leases"),
    *("logs", "messages", "operations", "payloads", "runs", "schedules", "transfer", "units"),
)


class Died(BaseException):
    """Simulates the death of the process."""


class FaultyStore:
    """Raises `fault` at call number `fails_at`; calls are counted from 1."""

    def __init__(self, real: SqliteStore, fails_at: int, fault: type[BaseException]) -> None:
        self.real = real
        self.fails_at = fails_at
        self.fault = fault
        self.calls = 0
        self.is_late = False  # the call does its work before it raises

    def step(self) -> None:
        self.calls += 1
        if self.calls == self.fails_at:
            raise self.fault("raised by the test")

    @contextmanager
    def batch(self) -> Iterator[object]:
        with self.real.batch() as batch:
            yield batch
        self.step()  # committed, but the caller sees a failure

    def __getattr__(self, name: str) -> object:
        real = getattr(self.real, name)
        return _Noun(self, real) if name in NOUNS else real


class _Noun:
    def __init__(self, store: FaultyStore, real: object) -> None:
        self._store, self._real = store, real

    def __getattr__(self, name: str) -> object:
        return partial(self._call, getattr(self._real, name))

    def _call(self, real, *arguments, **named):
        if self._store.is_late:
            answer = real(*arguments, **named)
            self._store.step()
            return answer
        self._store.step()
        return real(*arguments, **named)
