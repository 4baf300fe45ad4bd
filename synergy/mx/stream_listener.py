"""Somebody who listens to the stream, and what he is told."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass

import orjson

from synergy.model.journal import JournalEntry

WAITING = 2000  # messages that may wait for a listener

BEHIND = "behind"
_FIELDS = (
    "seq", "at", "event", "process", "first", "last", "before", "after", "generation", "why",
    "who", "unit", "attempt",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Message:
    """One message as it is sent; `noun` and `process` are what listeners choose by."""

    noun: str
    process: str
    text: bytes


class Listener:
    """Somebody who listens: filled by the thread of the stream, emptied by that of the loop.

    `since` is the number of the last entry that he saw, None for somebody new.
    """

    def __init__(
        self, wake: Callable[[], object], since: int | None, process: str, nouns: Collection[str]
    ) -> None:
        self._since = since
        self.is_welcome = False
        self.told_at = 0.0
        self._wake = wake
        self._process = process
        self._nouns = nouns
        self._waiting: deque[bytes] = deque()
        self.is_over = False

    def begins_at(self, present: int) -> int:
        """The entry after which he is to be told; who is new begins at the present one."""
        return present if self._since is None else self._since

    def tell(self, message: Message, now: float) -> None:
        """Adds a message, if he asked for such."""
        is_of = self._process in ("", message.process)
        is_such = not self._nouns or message.noun in self._nouns
        if (is_of and is_such) or message.noun == BEHIND:
            self.put(message.text, now)

    def put(self, text: bytes, now: float) -> None:
        """Adds what is to be sent, or cuts him off."""
        if len(self._waiting) >= WAITING:
            self.end()
        elif not self.is_over:
            self._waiting.append(text)
            self.told_at = now
            self._wake()

    def end(self) -> None:
        """Tells him that there will be nothing more."""
        self.is_over = True
        self._waiting.clear()
        self._wake()

    def take(self) -> bytes:
        """All that waits."""
        taken = []
        with suppress(IndexError):  # the thread of the stream may add, and may clear
            while True:
                taken.append(self._waiting.popleft())
        return b"".join(taken)


def message_of(entry: JournalEntry) -> Message:
    """What an entry of the journal is told as."""
    noun = entry.noun
    data = orjson.dumps({name: getattr(entry, name) for name in _FIELDS}, option=orjson.OPT_UTC_Z)
    return Message(noun, entry.process, _text(entry.seq, noun, data))


def behind(begin: int, end: int) -> Message:
    """That what came after `begin` up to `end` is not told: everything is to be read again."""
    data = orjson.dumps({"from": begin, "to": end})
    return Message(BEHIND, "", _text(end, BEHIND, data))


def _text(seq: int, noun: str, data: bytes) -> bytes:
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (seq, noun.encode(), data)
