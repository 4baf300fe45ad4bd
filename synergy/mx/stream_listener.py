"""A listener of the stream, and the messages that it is sent."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass

import orjson

from synergy.model.journal import JournalEntry

MOST_WAITING = 2000  # messages of a listener; one more disconnects it

BEHIND = "behind"
_FIELDS = (
    "seq", "at", "event", "process", "first", "last", "before", "after", "generation", "why",
    "who", "unit", "attempt",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Message:
    """A message as bytes; listeners filter by `noun` and `process`."""

    noun: str
    process: str
    text: bytes


class Listener:
    """The queue of a listener: filled by the stream's thread, emptied by the event loop's thread.

    `since` is the number of the last entry that it received, None for a new listener; `holders` are
    the user and the origin whose shares of the stream it counts for.
    """

    def __init__(
        self,
        wake: Callable[[], object],
        since: int | None,
        process: str,
        nouns: Collection[str],
        holders: tuple[str, ...] = (),
    ) -> None:
        self.holders = holders
        self._since = since
        self.is_welcomed = False
        self.sent_at = 0.0
        self._wake = wake
        self._process = process
        self._nouns = nouns
        self._waiting: deque[bytes] = deque()
        self.is_over = False

    def begins_at(self, present: int) -> int:
        """The entry after which its messages begin; `present`, the newest, for a new listener."""
        return present if self._since is None else self._since

    def offer(self, message: Message, now: float) -> None:
        """Adds a message that matches the filter; `behind` always does."""
        has_process = self._process in ("", message.process)
        has_noun = not self._nouns or message.noun in self._nouns
        if (has_process and has_noun) or message.noun == BEHIND:
            self.put(message.text, now)

    def put(self, text: bytes, now: float) -> None:
        """Adds a text to send; disconnects a listener whose queue is full."""
        if len(self._waiting) >= MOST_WAITING:
            self.end()
        elif not self.is_over:
            self._waiting.append(text)
            self.sent_at = now
            self._wake()

    def end(self) -> None:
        """Ends the listener, and drops what waits for it."""
        self.is_over = True
        self._waiting.clear()
        self._wake()

    def take(self) -> bytes:
        """All texts that wait, which are removed."""
        taken = []
        with suppress(IndexError):  # the thread of the stream may add, and may clear
            while True:
                taken.append(self._waiting.popleft())
        return b"".join(taken)


def message_of(entry: JournalEntry) -> Message:
    """A journal entry as a message."""
    noun = entry.noun
    data = orjson.dumps({name: getattr(entry, name) for name in _FIELDS}, option=orjson.OPT_UTC_Z)
    return Message(noun, entry.process, _text(entry.seq, noun, data))


def behind(begin: int, end: int) -> Message:
    """A message instead of the entries after `begin` up to `end`: clients reload everything."""
    data = orjson.dumps({"from": begin, "to": end})
    return Message(BEHIND, "", _text(end, BEHIND, data))


def _text(seq: int, noun: str, data: bytes) -> bytes:
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (seq, noun.encode(), data)
