"""What is stored of the earlier logs of a site, so that no visit counts in two of them.

Where a log begins, its visitors may continue sessions of a log that was ingested before, whether
that log ends there or holds some of the same lines: `SessionsInStore` finds them. In the opposite
case, an older log is ingested after a newer one: visits that continue in the newer log are stored
there as sessions that begin too late, and cannot be joined any more. `Ingested` knows where the
logs of a site begin, and `Continued` finds such visits before anything is sent.
"""

from __future__ import annotations

from bisect import bisect
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from synergy.timeperiod import Qualifier
from synergy.worker import Documents
from workers.access_log.formats import Line
from workers.access_log.lines import LogEntry
from workers.access_log.sessions import SESSION_GAP_SECONDS as GAP
from workers.access_log.sessions import StoredSession, content_key, session_id
from workers.single_session_worker import PIECES

INGESTED_LOGS = "ingested_log"


def _hour(second: int) -> str:
    return Qualifier.HOURLY.timeperiod(second // 3600)


class SessionsInStore:
    """The stored sessions of a site, read hour by hour as they are needed."""

    def __init__(self, documents: Documents, site: str) -> None:
        self._documents = documents
        self._site = site
        self._hours: set[int] = set()
        self._by_host: defaultdict[str, dict[str, StoredSession]] = defaultdict(dict)

    def open_at(self, entry: LogEntry) -> StoredSession | None:
        """See StoredSessions; a session that begins later is continued within its hour only."""
        found = [
            each
            for each in self.near(entry)
            if each.opened <= entry.at or each.opened // 3600 == entry.at // 3600
        ]
        return max(found, key=lambda each: (each.opened == entry.at, each.last), default=None)

    def near(self, entry: LogEntry) -> list[StoredSession]:
        """The sessions of the entry's visitor that have a line at most 30 minutes away."""
        self._read((entry.at - GAP) // 3600, (entry.at + GAP) // 3600)
        return [
            each
            for each in self._by_host.get(entry.host, {}).values()
            if each.first - GAP <= entry.at <= each.last + GAP
            and each.id == session_id(self._site, entry.host, entry.agent, each.opened)
        ]

    def repeats(self, head: Sequence[Line]) -> bool:
        """Whether a log that begins with these lines repeats lines of the sessions.

        A single such line is an equal request of the same second, unless it is all there is.
        """
        known = {
            line
            for entry, line in head
            if (session := self.open_at(entry)) and f"{content_key(line)} " in session.keys
        }
        return len(known) >= min(len(head), 2)

    def _read(self, first: int, last: int) -> None:
        for hour in range(max(first, 0), last + 1):
            if hour not in self._hours:
                self._hours.add(hour)
                for row in self._documents.read(
                    PIECES, _hour(hour * 3600), _hour((hour + 1) * 3600)
                ):
                    self._add(row)

    def _add(self, row: Mapping[str, Any]) -> None:
        if row.get("site") != self._site:
            return
        known = self._by_host[row["ip"]]
        *_, first, last = row["sums"]
        keys = "".join(f"{key} " for key in row["keys"])
        session = known.get(row["session"])
        if session:
            first, last = min(first, session.first), max(last, session.last)
            keys += session.keys
        known[row["session"]] = StoredSession(row["session"], row["opened"], first, last, keys)


class Ingested:
    """Where the logs of a site begin that were ingested."""

    def __init__(self, documents: Documents, site: str) -> None:
        self._documents = documents
        self._site = site

    def others(self, begin: int) -> bool:
        """Whether there is a log that begins at another instant."""
        return any(each != begin for each, _ in self._from(0))

    def after(self, begin: int) -> dict[int, str]:
        """The beginnings after an instant, with the names of the logs."""
        return {each: name for each, name in self._from(begin) if each > begin}

    def _from(self, begin: int) -> Iterator[tuple[int, str]]:
        rows = self._documents.read(INGESTED_LOGS, _hour(begin), "")
        for row in cast("Iterator[dict[str, Any]]", rows):
            if row["site"] == self._site:
                yield row["begin"], row["name"]

    def add(self, begin: int, name: str) -> None:
        """Remembers a log; a known beginning keeps its name."""
        row = {"timeperiod": _hour(begin), "site": self._site, "begin": begin, "name": name}
        self._documents.update(
            INGESTED_LOGS,
            [(f"{self._site}|{begin}", _hour(begin))],
            lambda _, present: present or row,
        )


class Continued:
    """Finds the visits of a log that continue in logs which begin later and are stored."""

    def __init__(self, stored: SessionsInStore, begins: Iterable[int]) -> None:
        self._stored = stored
        self._begins = sorted(begins)
        self._reached: dict[str, StoredSession] = {}
        self._own: set[str] = set()

    def see(self, entry: LogEntry, session: str) -> None:
        """Takes a line, and the session that it belongs to."""
        nearest = bisect(self._begins, entry.at + GAP) - 1
        if nearest < 0 or self._begins[nearest] < entry.at - 2 * GAP:
            return
        self._own.add(session)
        for each in self._stored.near(entry):
            if any(begin <= each.opened <= begin + GAP for begin in self._begins):
                self._reached[each.id] = each

    def found(self) -> list[StoredSession]:
        """The sessions that should have begun in this log, by time."""
        lost = [each for name, each in self._reached.items() if name not in self._own]
        return sorted(lost, key=lambda each: each.opened)
