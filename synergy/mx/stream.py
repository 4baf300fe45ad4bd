"""The journal as server-sent events, for any number of listeners.

One thread follows the journal for all listeners. The id of each message is the number of its
journal entry, so a listener that reconnects with the last id it saw (`Last-Event-ID`) misses
nothing. Each listener has a queue of bounded length; a listener that lets it fill is disconnected.
More than `MOST_ENTRIES` new entries are not sent one by one: the message `behind` asks clients to
reload everything.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from synergy.clock import Clock
from synergy.errors import StorageUnavailable, SynergyError
from synergy.model.journal import JournalEntry
from synergy.mx.protection.shares import Shares
from synergy.mx.stream_listener import Listener, Message, behind, message_of
from synergy.queries.reads import Reads
from synergy.runtime.service import RetryRule, Service

POLL_SECONDS = 0.5  # between two reads of the journal
HEARTBEAT_SECONDS = 15.0  # a listener that got no message for so long gets a comment line
MOST_ENTRIES = 500  # new entries that are sent one by one; more are replaced by `behind`
MOST_LISTENERS = 200
SHARE = 40  # listeners of one user or address
RULE = RetryRule(waiting="stream.failed", failing="stream.failed", first=POLL_SECONDS)

_HELLO = b"retry: 2000\n: listening\n"
_AWAY = b": the store does not answer\n\n"


@dataclass(frozen=True, slots=True)
class _News:
    """The entries after `begin` up to `end`.

    `messages` maps the last entry that a listener received to the messages that it is sent.
    """

    begin: int
    end: int
    messages: Mapping[int, Sequence[Message]]


class Stream(Service):
    """Sends the journal to listeners. Its thread runs while there are any."""

    stop_timeout_seconds = 2.0

    def __init__(self, reads: Reads, clock: Clock) -> None:
        super().__init__("stream", clock, RULE)
        self._reads = reads
        self._lock = threading.Lock()
        self._listeners: list[Listener] = []
        self._places = Shares("clients of the stream", MOST_LISTENERS, SHARE)
        self._is_closed = False
        self._is_away = False
        self._seq: int | None = None  # the last entry that was sent; None without listeners

    @property
    def listeners(self) -> int:
        """The number of listeners."""
        return len(self._listeners)

    def refuse_if_full(self, holders: tuple[str, ...]) -> None:
        """Raises Unreachable or ShareExceeded if these holders may have no further listener."""
        self._places.check(*holders)

    async def listen(
        self,
        since: int | None = None,
        process: str = "",
        nouns: Collection[str] = (),
        holders: tuple[str, ...] = (),
    ) -> AsyncIterator[bytes]:
        """The messages for one listener, until it leaves or is disconnected."""
        loop, has_texts = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            with suppress(RuntimeError):  # the loop has ended, and its listeners with it
                loop.call_soon_threadsafe(has_texts.set)

        listener = Listener(wake, since, process, nouns, holders)
        if not self.join(listener):
            return
        try:
            while not listener.is_over:
                await has_texts.wait()
                has_texts.clear()
                yield listener.take()
        finally:
            self.leave(listener)

    def join(self, listener: Listener) -> bool:
        """Adds a listener; returns False if there are too many, or after `stop`."""
        with self._lock:
            if self._is_closed:
                return False
            try:
                self._places.take(*listener.holders)
            except SynergyError:
                return False
            self._listeners.append(listener)
        self.start()
        self.wake()
        return True

    def leave(self, listener: Listener) -> None:
        """Removes a listener."""
        with self._lock:
            if listener in self._listeners:
                self._listeners.remove(listener)
                self._places.give_back(*listener.holders)

    def stop(self, timeout: float | None = None) -> bool:
        """Ends all listeners, and refuses new ones."""
        with self._lock:
            self._is_closed = True
            listeners = list(self._listeners)
            self._listeners.clear()
        for listener in listeners:
            listener.end()
        return super().stop(timeout)

    def run_once(self, now: datetime) -> float | None:
        """Sends new entries to all listeners; returns None if there are no listeners."""
        with self._lock:
            listeners = list(self._listeners)
            if not listeners:
                self._seq = None
                return None
        self._update(listeners)
        return POLL_SECONDS

    def _update(self, listeners: Sequence[Listener]) -> None:
        now = self._clock.monotonic()
        try:
            news = self._read(listeners)
        except StorageUnavailable:  # listeners get all news of a round, or nothing
            self._send_away(listeners, now)
        else:
            self._is_away = False
            self._send(listeners, news, now)
        for listener in listeners:
            if now - listener.sent_at >= HEARTBEAT_SECONDS:
                listener.put(self._heartbeat(listener), now)
            if listener.is_over:
                self.leave(listener)

    def _send_away(self, listeners: Iterable[Listener], now: float) -> None:
        if not self._is_away:
            self._is_away = True
            for listener in listeners:
                listener.put(_AWAY, now)

    def _heartbeat(self, listener: Listener) -> bytes:
        """A comment line, with the number of the last entry once the listener was welcomed."""
        if self._seq is None or not listener.is_welcomed:
            return b": well\n\n"
        return b": well\nid: %d\n\n" % self._seq

    def _read(self, listeners: Iterable[Listener]) -> _News:
        """The news for all listeners, and what returning ones missed: all reads of a round."""
        begin = self._reads.last_entry() if self._seq is None else self._seq
        entries = self._reads.entries_since(begin, MOST_ENTRIES + 1)
        is_much = len(entries) > MOST_ENTRIES
        end = self._reads.last_entry() if is_much else entries[-1].seq if entries else begin
        new = [behind(begin, end)] if is_much else _messages(begin, end, entries)
        begins = {one.begins_at(begin) for one in listeners if not one.is_welcomed} - {begin}
        missed = {since: self._between(since, end) for since in begins}
        return _News(begin, end, {begin: new, **missed})

    def _between(self, begin: int, end: int) -> Sequence[Message]:
        """The messages after `begin` up to `end`; `behind` if a listener is too far away."""
        if begin == end:
            return ()
        if not 0 < end - begin <= MOST_ENTRIES:
            return [behind(begin, end)]
        entries = self._reads.entries_since(begin, end - begin)
        return _messages(begin, end, [entry for entry in entries if entry.seq <= end])

    def _send(self, listeners: Iterable[Listener], news: _News, now: float) -> None:
        """Sends news to all listeners; first tells new ones after which entry they begin."""
        self._seq = news.end
        for listener in listeners:
            begin = news.begin
            if not listener.is_welcomed:
                begin = listener.begins_at(begin)
                listener.put(_HELLO + b"id: %d\n\n" % begin, now)
                listener.is_welcomed = True
            for message in news.messages[begin]:
                listener.offer(message, now)


def _messages(begin: int, end: int, entries: Sequence[JournalEntry]) -> Sequence[Message]:
    """The entries after `begin` up to `end`; `behind` if some of them were pruned."""
    if len(entries) < end - begin:
        return [behind(begin, end)]
    return [message_of(entry) for entry in entries]
