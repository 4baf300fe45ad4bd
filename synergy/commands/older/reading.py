"""Reads an older deployment: its jobs, units of work, switches and schedules.

All documents are read, so that one attempt names all that are not understood.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from synergy.commands.older.records import (
    READERS,
    Documents,
    OlderEntry,
    OlderJob,
    OlderProcess,
    OlderSwitch,
)
from synergy.errors import InvalidValue
from synergy.schedule.trigger import parse

MOST_MISTAKES = 20  # that are named
TAKEN, KNOWN, UNKNOWN = "taken over", "known already", "left out: not in context.py"

Read = Callable[[], Documents]
"""Begins to read the documents."""


class InvalidDocuments(InvalidValue):
    """Raised for documents that are not understood; `mistakes` lists them with their places."""

    def __init__(self, mistakes: list[str]) -> None:
        more = len(mistakes) - MOST_MISTAKES
        self.mistakes = (*mistakes[:MOST_MISTAKES], *([f"and {more:,} more"] if more > 0 else []))
        super().__init__("\n".join(self.mistakes))


@dataclass(frozen=True, slots=True)
class Older:
    """An older deployment without its units, which may be many: `read` reads them again."""

    read: Read
    jobs: Mapping[str, dict[str, OlderJob]] = field(default_factory=lambda: defaultdict(dict))
    switches: list[OlderSwitch] = field(default_factory=list)
    processes: list[OlderProcess] = field(default_factory=list)
    entries: list[OlderEntry] = field(default_factory=list)

    def keep(self, found: object) -> None:
        """Keeps a record; raises InvalidValue for one that contradicts an earlier one."""
        match found:
            case OlderJob(process, timeperiod, state):
                if self.jobs[process].setdefault(timeperiod, found).state is not state:
                    raise InvalidValue(
                        f"{process} {timeperiod} has another state in a document before"
                    )
            case OlderSwitch():
                self.switches.append(found)
            case OlderProcess(trigger=trigger):
                if trigger:
                    parse(trigger)
                self.processes.append(found)
            case OlderEntry(trigger=trigger):
                parse(trigger)
                self.entries.append(found)


@dataclass(slots=True)
class TakenOver:
    """What was stored, or would be, and what was left out: numbers by kind and outcome.

    `start` is the first hour of the timetable; `unknown` are processes that are not declared.
    """

    start: str | None = None
    counts: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    unknown: set[str] = field(default_factory=set)

    def count(self, kind: str, outcome: str, number: int = 1) -> None:
        if number:
            self.counts[kind][outcome] += number

    def count_unknown(self, kind: str, process: str, number: int = 1) -> None:
        """Counts what belongs to a process that the context does not declare."""
        self.unknown.add(process)
        self.count(kind, UNKNOWN, number)


def older(read: Read) -> Older:
    """Reads everything; raises InvalidDocuments with all that is not understood."""
    found, mistakes = Older(read), list[str]()
    for collection, place, document in read():
        try:
            for record in READERS[collection](document):
                found.keep(record)
        except InvalidValue as error:
            mistakes.append(f"{place}: {error}")
    if mistakes:
        raise InvalidDocuments(mistakes)
    return found
