"""Answers kept by idempotency key, so that a repeated request is carried out once.

The first request with a key is carried out. The same request is refused while that is under way,
and gets the same answer afterwards. If the process that carries it out has died, or takes too long,
the key is taken over and the request is carried out again: its progress is unknown.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta

from synergy.errors import InvalidValue, Refused, StorageUnavailable
from synergy.model.answer import Answer
from synergy.runtime import identity
from synergy.storage.protocol import Store

LIMIT = timedelta(minutes=10)  # the longest that a request may take


class UnderWay(Refused):
    """The same request is being carried out."""


class KeptAnswers:
    """The kept answers of a deployment; `owner` is the incarnation of this process.

    `kept` is how long a repeated request gets the same answer.
    """

    def __init__(self, store: Store, owner: str, kept: timedelta) -> None:
        self._kept = kept
        self._answers = store.answers
        self._owner = owner
        self._unwritten: deque[Callable[[], object]] = deque()  # writes that have failed

    def begin(self, person: str, key: str, fingerprint: str, now: datetime) -> tuple[Answer, bool]:
        """The answer under a key, and whether the caller has to carry out the request.

        Raises InvalidValue if the key was used for another request, UnderWay if the same one is
        being carried out.
        """
        self._write_unwritten()
        wanted = Answer(person, key, fingerprint, self._owner, now)
        found, is_new = self._answers.begin(wanted)
        if is_new:
            return found, True
        if now - found.at >= self._kept:
            return self._take_over(found, wanted), True
        if found.fingerprint != fingerprint:
            raise InvalidValue(
                "this Idempotency-Key was used for another request: take a new one for each"
            )
        if found.status is not None:
            return found, False
        if not _is_abandoned(found, now):
            raise UnderWay("the same request is under way: ask again in a moment")
        return self._take_over(found, wanted), True

    def keep(self, begun: Answer, status: int, headers: dict[str, str], body: bytes | None) -> None:
        """Stores an answer, unless its key was taken over; `body` is None if it is too long.

        While the store is unavailable the answer stays in memory; it is written before the next
        request begins.
        """
        answer = replace(begun, status=status, headers=headers, body=body)
        self._write(lambda: self._answers.change(answer))

    def drop(self, begun: Answer) -> None:
        """Frees the key, so that the same request is carried out again; written like an answer."""
        self._write(lambda: self._answers.drop(begun))

    def _write(self, write: Callable[[], object]) -> None:
        self._unwritten.append(write)
        with suppress(StorageUnavailable):
            self._write_unwritten()

    def _write_unwritten(self) -> None:
        while True:
            try:
                write = self._unwritten.popleft()
            except IndexError:
                return
            try:
                write()
            except StorageUnavailable:
                self._unwritten.append(write)
                raise

    def _take_over(self, found: Answer, wanted: Answer) -> Answer:
        taken = self._answers.change(replace(wanted, rev=found.rev))
        if taken is None:
            raise UnderWay("another process handles this key just now: ask again in a moment")
        return taken


def _is_abandoned(answer: Answer, now: datetime) -> bool:
    owner = identity.parse(answer.owner)
    return now - answer.at >= LIMIT or (owner is not None and owner.is_provably_dead)
