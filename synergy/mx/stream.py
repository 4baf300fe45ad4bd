"""The journal as server-sent events, for any number of listeners.

One thread follows the journal for all listeners. The id of each message is the number of its
journal entry, so a listener that reconnects with the last id it saw (`Last-Event-ID`) misses
nothing. Each listener has a queue of bounded length; a listener that lets it fill is disconnected.
More than `AT_ONCE` new entries are not sent one by one: the message `behind` says that everything
is to be read again.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from synergy.clock import Clock
from synergy.errors import StorageUnavailable, Unreachable
from synergy.model.journal import JournalEntry
from synergy.mx.stream_listener import Listener, Message, behind, message_of
from synergy.queries.reads import Reads
from synergy.runtime.service import RetryRule, Service

EVERY = 0.5  # seconds between two looks at the journal
HEARTBEAT = 15.0  # seconds without a message after which a listener gets a comment line
AT_ONCE = 500  # entries that are sent one by one
LISTENERS = 200
RULE = RetryRule(waiting="stream.failed", failing="stream.failed", first=EVERY)

_HELLO = b"retry: 2000\n: listening\n"
_AWAY = b": the store does not answer\n\n"


@dataclass(frozen=True, slots=True)
class _News:
    """The entries after `begin` up to `end`.

    `told` maps the last entry that a listener saw to the messages for it.
    """

    begin: int
    end: int
    told: Mapping[int, Sequence[Message]]


class Stream(Service):
    """Sends the journal to listeners. Its thread runs while there are any."""

    stop_timeout_seconds = 2.0

    def __init__(self, reads: Reads, clock: Clock) -> None:
        super().__init__("stream", clock, RULE)
        self._reads = reads
        self._lock = threading.Lock()
        self._listeners: list[Listener] = []
        self._is_closed = False
        self._is_away = False
        self._seq: int | None = None  # of the last entry that was sent; None without listeners

    @property
    def listeners(self) -> int:
        """How many listeners there are."""
        return len(self._listeners)

    def refuse_if_full(self) -> None:
        """Raises Unreachable if there is no place for another listener."""
        if len(self._listeners) >= LISTENERS:
            raise Unreachable(f"{LISTENERS} listen already: try again later")

    async def listen(
        self, since: int | None = None, process: str = "", nouns: Collection[str] = ()
    ) -> AsyncIterator[bytes]:
        """The messages for one listener, until it goes or is disconnected."""
        loop, told = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            with suppress(RuntimeError):  # the loop has ended, and its listeners with it
                loop.call_soon_threadsafe(told.set)

        listener = Listener(wake, since, process, nouns)
        if not self.join(listener):
            return
        try:
            while not listener.is_over:
                await told.wait()
                told.clear()
                yield listener.take()
        finally:
            self.leave(listener)

    def join(self, listener: Listener) -> bool:
        """Adds a listener; False if there is no place."""
        with self._lock:
            if self._is_closed or len(self._listeners) >= LISTENERS:
                return False
            self._listeners.append(listener)
        self.start()
        self.wake()
        return True

    def leave(self, listener: Listener) -> None:
        """Forgets a listener."""
        with self._lock:
            if listener in self._listeners:
                self._listeners.remove(listener)

    def stop(self, timeout: float | None = None) -> bool:
        """Ends all listeners, and refuses others."""
        with self._lock:
            self._is_closed = True
            listeners = list(self._listeners)
            self._listeners.clear()
        for listener in listeners:
            listener.end()
        return super().stop(timeout)

    def run_once(self, now: datetime) -> float | None:
        """Sends what is new to all listeners; None if there are none."""
        with self._lock:
            listeners = list(self._listeners)
            if not listeners:
                self._seq = None
                return None
        self._look_for(listeners)
        return EVERY

    def _look_for(self, listeners: Sequence[Listener]) -> None:
        now = self._clock.monotonic()
        try:
            news = self._look(listeners)
        except StorageUnavailable:  # no listener gets a part of it
            self._tell_away(listeners, now)
        else:
            self._is_away = False
            self._tell(listeners, news, now)
        for listener in listeners:
            if now - listener.told_at >= HEARTBEAT:
                listener.put(self._heartbeat(listener), now)
            if listener.is_over:
                self.leave(listener)

    def _tell_away(self, listeners: Iterable[Listener], now: float) -> None:
        if not self._is_away:
            self._is_away = True
            for listener in listeners:
                listener.put(_AWAY, now)

    def _heartbeat(self, listener: Listener) -> bytes:
        """A comment line, with the number of the last entry once the listener has a beginning."""
        if self._seq is None or not listener.is_welcome:
            return b": well\n\n"
        return b": well\nid: %d\n\n" % self._seq

    def _look(self, listeners: Iterable[Listener]) -> _News:
        """What is new for all listeners, and for each new one: all reads of one round."""
        begin = self._reads.last_entry() if self._seq is None else self._seq
        entries = self._reads.entries_since(begin, AT_ONCE + 1)
        is_much = len(entries) > AT_ONCE
        end = self._reads.last_entry() if is_much else entries[-1].seq if entries else begin
        told = [behind(begin, end)] if is_much else _messages(begin, end, entries)
        came = {one.begins_at(begin) for one in listeners if not one.is_welcome} - {begin}
        missed = {since: self._between(since, end) for since in came}
        return _News(begin, end, {begin: told, **missed})

    def _between(self, begin: int, end: int) -> Sequence[Message]:
        """The messages after `begin` up to `end`; `behind` if a listener is too far away."""
        if begin == end:
            return ()
        if not 0 < end - begin <= AT_ONCE:
            return [behind(begin, end)]
        entries = self._reads.entries_since(begin, end - begin)
        return _messages(begin, end, [entry for entry in entries if entry.seq <= end])

    def _tell(self, listeners: Iterable[Listener], news: _News, now: float) -> None:
        """Sends what is new to all listeners, and to new ones first where they begin."""
        self._seq = news.end
        for listener in listeners:
            begin = news.begin
            if not listener.is_welcome:
                begin = listener.begins_at(begin)
                listener.put(_HELLO + b"id: %d\n\n" % begin, now)
                listener.is_welcome = True
            for message in news.told[begin]:
                listener.tell(message, now)


def _messages(begin: int, end: int, entries: Sequence[JournalEntry]) -> Sequence[Message]:
    """The entries after `begin` up to `end`; `behind` if some of them were pruned."""
    if len(entries) < end - begin:
        return [behind(begin, end)]
    return [message_of(entry) for entry in entries]
