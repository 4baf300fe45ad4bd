"""The journal by page, newest first."""

from __future__ import annotations

import re
from collections.abc import Callable

from synergy.errors import InvalidValue
from synergy.model.cursor import number_of
from synergy.model.journal import JournalEntry
from synergy.model.process import Deployment
from synergy.model.time_range import EVER, TimeRange
from synergy.queries.page import Page, searched
from synergy.storage.protocol import ReadableJournal
from synergy.timeperiod import parse_period

_STORED = re.compile(r"[0-9]{10}(?:[0-9]{4})?")

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
    within: TimeRange = EVER,
) -> Page[JournalEntry]:
    """A page of the entries of a process (or schedule), job, event, author and range of time.

    `event` is the name of an event (`job.skipped`) or its part before the dot (`job`), `who` a part
    of the author's name, in any case. Neither has an index; see `searched`.
    A timeperiod is as stored, and needs the process. Raises InvalidValue for an invalid cursor.
    """
    older = _older(journal, process, timeperiod, within)

    def read(count: int, cursor: str | None) -> tuple[list[JournalEntry], str | None]:
        entries = older(count, None if cursor is None else number_of(cursor))
        return entries, str(entries[-1].seq) if len(entries) == count else None

    if event or who:
        return searched(read, lambda one: _is_of(one, event) and _is_by(one, who), limit, cursor)
    entries, _ = read(limit + 1, cursor)
    return Page(tuple(entries[:limit]), str(entries[limit - 1].seq) if entries[limit:] else None)


def stored_timeperiod(deployment: Deployment, process: str | None, text: str) -> str:
    """The timeperiod of entries about a job or run, from what people write.

    Digits alone are taken as they are stored: the process may have had another qualifier. Raises
    InvalidValue for anything else that is no period of the process, and without a process.
    """
    if process is None:
        raise InvalidValue("a timeperiod alone names no job: name its process as well")
    if _STORED.fullmatch(text):
        return text
    managed = deployment.managed().get(process)
    if managed is None:
        raise InvalidValue(
            f"{text!r} is not a timeperiod of {process}, which has no jobs now: expected "
            f"YYYYMMDDHH of a former job, or YYYYMMDDHHmmSS of a run"
        )
    return managed.qualifier.timeperiod(parse_period(managed.qualifier, text))


def _older(
    journal: ReadableJournal, process: str | None, timeperiod: str | None, within: TimeRange
) -> Older:
    if timeperiod is None:
        return lambda limit, before: journal.find(process, limit, before, within)
    assert process is not None  # see `stored_timeperiod`
    return lambda limit, before: journal.of_job(process, timeperiod, limit, before, within)


def _is_of(entry: JournalEntry, event: str | None) -> bool:
    return not event or event in (entry.event, entry.noun)


def _is_by(entry: JournalEntry, who: str | None) -> bool:
    return who is None or who.lower() in entry.who.lower()
