"""Reading the journal page by page, newest first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from synergy.errors import InvalidValue
from synergy.model.cursor import number_of
from synergy.model.journal import JournalEntry
from synergy.storage.protocol import ReadableJournal

LOOKED_THROUGH = 10_000  # entries for one page at most; the page is shorter then, with a next one
_STEP = 1000

Older = Callable[[int, int | None], list[JournalEntry]]
"""At most so many entries, newest first, numbered below that."""


@dataclass(frozen=True, slots=True)
class JournalPage:
    """Entries, newest first, and the cursor of the next page or None."""

    items: tuple[JournalEntry, ...]
    next: str | None


def journal_page(
    journal: ReadableJournal,
    process: str | None = None,
    timeperiod: str | None = None,
    event: str | None = None,
    limit: int = 100,
    cursor: str | None = None,
    who: str | None = None,
) -> JournalPage:
    """Entries of a process (or schedule), of one of its jobs, of an event; of all without these.

    `event` is the name of one (`job.skipped`) or what stands before the dot (`job`), `who` a part
    of the name of who did it, in any case. There is no index of these: a page may hold fewer than
    it could, even none, and still have a next one.
    Raises InvalidValue for what is no cursor, and for a timeperiod without a process.
    """
    older = _older(journal, process, timeperiod)
    found: list[JournalEntry] = []
    before = None if cursor is None else number_of(cursor)
    for _ in range(0, LOOKED_THROUGH, _STEP):
        step = _STEP if event or who else min(limit + 1, _STEP)
        entries = older(step, before)
        found += [entry for entry in entries if _is_of(entry, event) and _is_by(entry, who)]
        if len(found) > limit:
            return JournalPage(tuple(found[:limit]), str(found[limit - 1].seq))
        if len(entries) < step:
            return JournalPage(tuple(found), None)
        before = entries[-1].seq
    return JournalPage(tuple(found), None if before is None else str(before))


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
