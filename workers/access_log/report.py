"""The progress and the result of an ingestion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RejectedLine:
    """A line that could not be parsed: its place, the reason, and its beginning."""

    file: str
    line: int
    reason: str
    excerpt: str


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress within a file; `size` is None if the end is unknown."""

    file: str
    position: int
    size: int | None
    lines: int


@dataclass(frozen=True, slots=True)
class IngestReport:
    """The result of an ingestion.

    `formats` has the name of each log's format, empty for an empty log. `ignored` lines are blank
    or directives; `repeated` ones are in another log too, where they count: `notes` says which.
    `hours` is the number of hours in which sessions begin. `early_events` belong to hours before
    the timetable's start, from `early_from` on. `problems` names the files that are damaged, are no
    access logs, or cannot follow the others. `waiting` messages were not yet processed by the
    session workers; `seconds` is the time until everything was processed, or, if messages wait,
    until everything was sent.
    """

    site: str
    files: tuple[str, ...]
    formats: Mapping[str, str]
    lines: int
    accepted: int
    rejected: int
    ignored: int
    repeated: int
    samples: tuple[RejectedLine, ...]
    rejected_files: tuple[str, ...]
    sessions: int
    hours: int
    first_hour: str
    last_hour: str
    early_events: int
    early_from: str
    notes: tuple[str, ...]
    problems: tuple[str, ...]
    waiting: int
    seconds: float

    @property
    def rate(self) -> float:
        """Lines per second."""
        return self.lines / self.seconds if self.seconds > 0 else 0.0
