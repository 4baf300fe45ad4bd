"""What happens, told to everybody who listens: the journal as server-sent events.

One thread follows the journal for all listeners, while there are any. Each message has the
number of its entry as id, so that who was cut off comes back with the last one that he saw
(`Last-Event-ID`) and misses nothing. Nobody is waited for: each listener has a queue of bounded
length, and who lets it fill is cut off. What is very much is not told one by one: `behind` says
that everything is to be read again.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import (
    AsyncIterator,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from fastapi import FastAPI

from synergy.clock import Clock
from synergy.errors import StorageUnavailable, Unreachable
from synergy.model.journal import JournalEntry
from synergy.mx.stream_listener import Listener, Message, behind, message_of
from synergy.queries.reads import Reads

EVERY = 0.5  # seconds between two looks at the journal
HEARTBEAT = 15.0  # seconds after which a listener who was told nothing is told that all is well
AT_ONCE = 500  # entries that are told one by one
LISTENERS = 200
PATIENCE = 2.0  # seconds that closing waits for the thread

_HELLO = b"retry: 2000\n: listening\n"
_AWAY = b": the store does not answer\n\n"
Runner = Callable[[Callable[[], None]], object]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _News:
    """What came after the entry `begin` up to `end`.

    `told` is what is told to whom, by the entry that he saw last.
    """

    begin: int
    end: int
    told: Mapping[int, Sequence[Message]]


class Stream:
    """Tells the journal to listeners; `runner` runs its loop aside."""

    def __init__(self, reads: Reads, clock: Clock, runner: Runner | None = None) -> None:
        self._reads = reads
        self._clock = clock
        self._runner = runner or self._in_thread
        self._lock = threading.Lock()
        self._woken = threading.Event()
        self._listeners: list[Listener] = []
        self._is_running = False
        self._is_closed = False
        self._is_away = False
        self._seq: int | None = None
        self._thread: threading.Thread | None = None

    @property
    def listeners(self) -> int:
        """How many listen."""
        return len(self._listeners)

    def refuse_if_full(self) -> None:
        """Raises Unreachable if nobody else can listen."""
        if len(self._listeners) >= LISTENERS:
            raise Unreachable(f"{LISTENERS} listen already: try again later")

    async def listen(
        self, since: int | None = None, process: str = "", nouns: Collection[str] = ()
    ) -> AsyncIterator[bytes]:
        """What is told, until the listener goes, or is cut off."""
        loop, told = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            with suppress(RuntimeError):  # the loop has ended, and with it whoever listened
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
            if not self._is_running:
                self._is_running = True
                self._seq = None  # nobody listened meanwhile
                self._runner(self._run)
        self._woken.set()
        return True

    def leave(self, listener: Listener) -> None:
        """Forgets a listener."""
        with self._lock:
            if listener in self._listeners:
                self._listeners.remove(listener)

    def close(self) -> None:
        """Ends all listeners, and waits for the thread."""
        with self._lock:
            self._is_closed = True
            listeners = list(self._listeners)
            self._listeners.clear()
        for listener in listeners:
            listener.end()
        self._woken.set()
        if self._thread is not None:
            self._thread.join(PATIENCE)

    def run_once(self) -> None:
        """Tells all listeners what is new."""
        with self._lock:
            listeners = list(self._listeners)
        now = self._clock.monotonic()
        try:
            news = self._look(listeners)
        except StorageUnavailable:  # nobody is told a part of it
            self._tell_away(listeners, now)
        else:
            self._is_away = False
            self._tell(listeners, news, now)
        for listener in listeners:
            if now - listener.told_at >= HEARTBEAT:
                listener.put(self._heartbeat(listener), now)
            if listener.is_over:
                self.leave(listener)

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._listeners:
                    self._is_running = False
                    return
            try:
                self.run_once()
            except Exception:
                log.exception("A look at the journal failed", extra={"event": "stream.failed"})
            self._woken.wait(EVERY)
            self._woken.clear()

    def _in_thread(self, run: Callable[[], None]) -> None:
        self._thread = threading.Thread(target=run, name="stream", daemon=True)
        self._thread.start()

    def _tell_away(self, listeners: Iterable[Listener], now: float) -> None:
        if not self._is_away:
            self._is_away = True
            for listener in listeners:
                listener.put(_AWAY, now)

    def _heartbeat(self, listener: Listener) -> bytes:
        """That all is well, and up to where everything was told, if he was told anything yet."""
        if self._seq is None or not listener.is_welcome:
            return b": well\n\n"
        return b": well\nid: %d\n\n" % self._seq

    def _look(self, listeners: Iterable[Listener]) -> _News:
        """What is new for everybody, and for each who came: all that is read for one round."""
        begin = self._reads.last_entry() if self._seq is None else self._seq
        entries = self._reads.entries_since(begin, AT_ONCE + 1)
        is_much = len(entries) > AT_ONCE
        end = self._reads.last_entry() if is_much else entries[-1].seq if entries else begin
        told = [behind(begin, end)] if is_much else _messages(begin, end, entries)
        came = {one.begins_at(begin) for one in listeners if not one.is_welcome} - {begin}
        missed = {since: self._between(since, end) for since in came}
        return _News(begin, end, {begin: told, **missed})

    def _between(self, begin: int, end: int) -> Sequence[Message]:
        """What came after `begin` up to `end`; who claims to have seen more is to read anew."""
        if begin == end:
            return ()
        if not 0 < end - begin <= AT_ONCE:
            return [behind(begin, end)]
        entries = self._reads.entries_since(begin, end - begin)
        return _messages(begin, end, [entry for entry in entries if entry.seq <= end])

    def _tell(self, listeners: Iterable[Listener], news: _News, now: float) -> None:
        """Tells those who are there what is new, and those who came where they begin as well."""
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
    """The entries after `begin` up to `end`; where some were forgotten all is to be read anew."""
    if len(entries) < end - begin:
        return [behind(begin, end)]
    return [message_of(entry) for entry in entries]


@contextmanager
def streaming(app: FastAPI) -> Iterator[None]:
    """Ends the stream with the application."""
    try:
        yield
    finally:
        app.state.services.stream.close()
