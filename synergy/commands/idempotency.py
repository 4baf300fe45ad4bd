"""Answers that are kept, so that what is asked twice under one key is done once.

Who asks under a new key begins to act; who asks the same while he acts is put off, and who asks
it later is answered the same again. Of one who is dead, or takes far too long, the key is taken
over, and what was asked for is acted on again: it is not known how far he came.
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

ACTING = timedelta(minutes=10)  # that an answer may take


class UnderWay(Refused):
    """The same is being done just now."""


class KeptAnswers:
    """The kept answers of a deployment; `owner` is the incarnation of this process.

    `kept` is how long the key of an answer is taken.
    """

    def __init__(self, store: Store, owner: str, kept: timedelta) -> None:
        self._kept = kept
        self._answers = store.answers
        self._owner = owner
        self._left: deque[Callable[[], object]] = deque()  # what could not be written so far

    def begin(self, person: str, key: str, fingerprint: str, now: datetime) -> tuple[Answer, bool]:
        """An answer, and whether it is still to be found: then the caller acts.

        Raises InvalidValue if the key was used for something else, UnderWay if the same is
        being done.
        """
        self._write_left()
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
        """What was answered; not, if it was taken over meanwhile. No body: it is too long.

        While the store is away it is kept in mind, and written before the next one begins.
        """
        answer = replace(begun, status=status, headers=headers, body=body)
        self._left.append(lambda: self._answers.change(answer))
        with suppress(StorageUnavailable):
            self._write_left()

    def drop(self, begun: Answer) -> None:
        """Whoever asks the same again is to be answered anew; written as an answer is."""
        self._left.append(lambda: self._answers.drop(begun))
        with suppress(StorageUnavailable):
            self._write_left()

    def _write_left(self) -> None:
        while True:
            try:
                write = self._left.popleft()
            except IndexError:
                return
            try:
                write()
            except StorageUnavailable:
                self._left.append(write)
                raise

    def _take_over(self, found: Answer, wanted: Answer) -> Answer:
        taken = self._answers.change(replace(wanted, rev=found.rev))
        if taken is None:
            raise UnderWay("somebody else asks under this key just now: ask again in a moment")
        return taken


def _is_abandoned(answer: Answer, now: datetime) -> bool:
    owner = identity.parse(answer.owner)
    return now - answer.at >= ACTING or (owner is not None and owner.is_provably_dead)
