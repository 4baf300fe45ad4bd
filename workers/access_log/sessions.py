"""Assigns log lines to sessions, as events.

A visitor is (host, user agent). A line more than 30 minutes after the visitor's previous line, in
the order of the log, begins a session; a line with an earlier time belongs to the current session.
Where a log begins, a line may also continue a session that is stored from an earlier log.

An event depends only on its line, the lines before it in the same log, and the stored sessions that
are open where the log begins, so reading a log again, or a longer log with the same beginning,
gives the same events. The key of an event consists of the line's content and the number of equal
lines before it in the session: two equal lines of one log both count, but the same line in two logs
counts once.

Times may go back by any amount, so in theory no visitor could ever be forgotten. To bound memory,
only the most recent visitors and lines are kept, far more than a server sees during a session. The
effect is limited to a visitor who returns with an earlier time after that many others (counted as
new), and to equal lines that far apart (counted once). What is forgotten depends on the file only.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from hashlib import blake2b
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from synergy.timeperiod import Qualifier
from workers.access_log.lines import LogEntry
from workers.access_log.user_agents import families

SESSION_GAP_SECONDS = 30 * 60
"""Seconds without a line after which the visitor's next line begins a session."""

VISITORS = 100_000
LINES = 100_000

Event = dict[str, Any]
K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """A mapping of at least the `capacity` newest entries, and at most twice as many."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._young: dict[K, V] = {}
        self._old: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        value = self._young.get(key)
        return self._old.get(key) if value is None else value

    def __setitem__(self, key: K, value: V) -> None:
        if len(self._young) >= self._capacity:
            self._young, self._old = {}, self._young
        self._young[key] = value

    def __len__(self) -> int:
        return len(self._young) + len(self._old)


class StoredSession(NamedTuple):
    """A session of an earlier log; times are in epoch seconds, `opened` being that of its id.

    `keys` are those of its events, each followed by a space.
    """

    id: str
    opened: int
    first: int
    last: int
    keys: str


class StoredSessions(Protocol):
    """The stored sessions of a site."""

    def open_at(self, entry: LogEntry) -> StoredSession | None:
        """The session of the entry's visitor that the entry would continue, or None."""
        ...


class _Visit:
    """A visitor's current session: the time of its last line, and what its events share."""

    __slots__ = ("browser", "hour", "id", "ip", "last", "opened", "os")

    def __init__(self, identity: str, opened: int, entry: LogEntry) -> None:
        self.id = identity
        self.opened = opened
        self.hour = Qualifier.HOURLY.timeperiod(opened // 3600)
        self.ip = entry.host
        self.os, self.browser = families(entry.agent)
        self.last = entry.at


class Sessionizer:
    """Converts the entries of one log, in its order, to events of a site."""

    def __init__(
        self,
        site: str,
        stored: StoredSessions | None = None,
        is_repeating: bool = False,
        visitors: int = VISITORS,
        lines: int = LINES,
    ) -> None:
        """`is_repeating` says whether the log begins with lines of the stored sessions."""
        self._site = site
        self._stored = stored
        self._end_of_start: int | None = None
        self._is_repeating = is_repeating
        self._visits: Recent[bytes, _Visit] = Recent(visitors)
        self._lines: Recent[str, int] = Recent(lines)
        self.sessions = 0

    def event(self, entry: LogEntry, line: bytes) -> Event:
        """The event of an entry that was parsed from `line`."""
        visit = self._visit(entry)
        return {
            "site": self._site,
            "session": visit.id,
            "hour": visit.hour,
            "opened": visit.opened,
            "ip": visit.ip,
            "os": visit.os,
            "browser": visit.browser,
            "at": entry.at,
            "key": self._key(visit.id, line),
            "pageview": entry.is_pageview,
        }

    def _visit(self, entry: LogEntry) -> _Visit:
        visitor = blake2b(f"{entry.host}\0{entry.agent}".encode(), digest_size=12).digest()
        visit = self._visits.get(visitor)
        if visit is None or entry.at - visit.last > SESSION_GAP_SECONDS:
            stored = self._stored_session(entry) if self._stored and visit is None else None
            if stored is not None:
                visit = self._continued(stored, entry)
            else:
                host, agent, at, _ = entry
                visit = _Visit(session_id(self._site, host, agent, at), at, entry)
            self.sessions += 1
        visit.last = entry.at
        self._visits[visitor] = visit
        return visit

    def _stored_session(self, entry: LogEntry) -> StoredSession | None:
        """The session that a visitor continues where the log begins."""
        if self._end_of_start is None:
            self._end_of_start = entry.at + SESSION_GAP_SECONDS
        if entry.at > self._end_of_start:
            self._stored = None
        return self._stored.open_at(entry) if self._stored else None

    def _continued(self, stored: StoredSession, entry: LogEntry) -> _Visit:
        """A visit that continues a stored session.

        If the log repeats lines of the session, equal ones are the same; else they are counted on.
        """
        if not self._is_repeating:
            for key in stored.keys.split():
                content, _, before = key.partition(".")
                place = stored.id + content
                self._lines[place] = max(self._lines.get(place) or 0, int(before or 0) + 1)
        return _Visit(stored.id, stored.opened, entry)

    def _key(self, session: str, line: bytes) -> str:
        content = content_key(line)
        place = session + content
        before = self._lines.get(place) or 0
        self._lines[place] = before + 1
        return f"{content}.{before}" if before else content


def content_key(line: bytes) -> str:
    """The key of the first event of a session that has this line."""
    return urlsafe_b64encode(blake2b(line, digest_size=9).digest()).decode()


def session_id(site: str, host: str, agent: str, first: int) -> str:
    """The id of a session: a hash of its site, its visitor and the time of its first event."""
    named = "\0".join((site, host, agent, str(first)))
    return blake2b(named.encode(), digest_size=12).hexdigest()
