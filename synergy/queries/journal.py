"""The journal by page, newest first."""

from __future__ import annotations

from collections.abc import Callable

from synergy.errors import InvalidValue
from synergy.model.cursor import number_of
from synergy.model.journal import JournalEntry
from synergy.queries.page import Page
from synergy.storage.protocol import ReadableJournal

SEARCHED = 10_000  # entries for one page at most; the page is shorter then, with a next one
_STEP = 1000

Older = Callable[[int, int | None], list[JournalEntry]]
"""Returns at most `limit` entries, newest first, with numbers below `before`."""


def journal_page(
    journal: ReadableJournal,
    process: str | None = None,
    timeperiod: str | None = None,
    event: str | None = None,
    limit: int = 100,
    cursor: str | None = None,
    who: str | None = None,
) -> Page[JournalEntry]:
    """A page of entries, filtered by process (or schedule), job, event and author.

    `event` is the name of an event (`job.skipped`) or its part before the dot (`job`), `who` a part
    of the author's name, in any case. Neither has an index: a page may have fewer entries than
    `limit`, even none, and still have a next one.
    Raises InvalidValue for an invalid cursor, and for a timeperiod without a process.
    """
    older = _older(journal, process, timeperiod)
    found: list[JournalEntry] = []
    before = None if cursor is None else number_of(cursor)
    for _ in range(0, SEARCHED, _STEP):
        step = _STEP if event or who else min(limit + 1, _STEP)
        entries = older(step, before)
        found += [entry for entry in entries if _is_of(entry, event) and _is_by(entry, who)]
        if len(found) > limit:
            return Page(tuple(found[:limit]), str(found[limit - 1].seq))
        if len(entries) < step:
            return Page(tuple(found), None)
        before = entries[-1].seq
    return Page(tuple(found), None if before is None else str(before))


def _older(journal: ReadableJournal, process: str | None, timeperiod: str | None) -> Older:
    if timeperiod is None:
        return lambda limit, before: journal.find(process, limit, before)
    if process is None:
        raise InvalidValue("a timeperiod alone names no job: name its process as well")
    return lambda limit, before: journal.of_job(process, timeperiod, limit, before)


def _is_of(entry: JournalEntry, event: str | None) -> bool:
    return event is None or event in (entry.event, entry.noun)


def _is_by(entry: JournalEntry, who: str | None) -> bool:
    return who is None or who.lower() in entry.who.lower()
