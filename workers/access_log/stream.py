"""Joins the logs of a site to one: in the order of their first lines, each line once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from synergy.errors import InvalidValue
from workers.access_log.files import DamagedFile, LogFile
from workers.access_log.formats import Format, Line, Recognition
from workers.access_log.lines import Ignored, LogEntry
from workers.access_log.overlap import Overlap
from workers.access_log.sessions import LINES, SESSION_GAP_SECONDS, Recent

_CHANCE = 3  # lines that two logs may share by chance


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A log with its format, and the first lines that have it."""

    log: LogFile
    format: Format
    head: Sequence[Line]

    @property
    def begin(self) -> int:
        """The time of the first line; 0 if there is none."""
        return self.head[0][0].at if self.head else 0


@dataclass(slots=True)
class Block:
    """A block of `size` lines: the entries of the accepted ones, and these lines.

    `rejected` lines have their numbers and reasons; `repeated` ones are in an earlier log.
    """

    size: int
    entries: list[LogEntry]
    lines: list[bytes]
    rejected: list[tuple[int, bytes, str]]
    ignored: int = 0
    repeated: int = 0


def recognised(log: LogFile, given: Format | None) -> Source | None:
    """The log with its format; None if it is empty.

    Raises InvalidValue if its first lines have no known format, and DamagedFile if they cannot be
    read.
    """
    recognition, damage = Recognition(given), None
    try:
        with closing(log.peek()) as blocks:
            for block in blocks:
                if recognition.add(block):
                    break
    except DamagedFile as error:
        damage = error
    found = recognition.result()
    if found is None and damage is not None:
        raise damage
    return Source(log, *found) if found else None


def parsed(source: Source) -> Iterator[Block]:
    """The blocks of a log; raises DamagedFile."""
    parse = source.format.parser().parse
    before = 0
    for lines in source.log.blocks():
        block = Block(len(lines), [], lines, [])
        ignored = set()
        for number, line in enumerate(lines, start=before + 1):
            try:
                block.entries.append(parse(line))
            except InvalidValue as error:
                block.rejected.append((number, line, str(error)))
            except Ignored:
                ignored.add(number)
        block.ignored = len(ignored)
        if left_out := ignored.union(number for number, _, _ in block.rejected):
            numbered = enumerate(lines, start=before + 1)
            block.lines = [line for number, line in numbered if number not in left_out]
        before += block.size
        yield block


def _accepted_lines(source: Source) -> Iterator[bytes]:
    """The accepted lines, up to a damage, which is reported when the log itself is read."""
    with suppress(DamagedFile):
        for block in parsed(source):
            yield from block.lines


class Stream:
    """The logs as one; iterating over it gives each log with its blocks, to be read in turn.

    `notes` says what two logs share, `problems` which logs were left out, and why.
    """

    def __init__(self, sources: Iterable[Source]) -> None:
        self._pending = sorted(sources, key=lambda source: source.begin)
        self._overlaps = {
            source: Overlap(source.head[0][1], _accepted_lines(source))
            for source in self._pending[1:]
            if source.head
        }
        self._beginning: defaultdict[bytes, list[Overlap]] = defaultdict(list)
        for overlap in self._overlaps.values():
            self._beginning[overlap.first].append(overlap)
        self._recent: Recent[bytes, bool] = Recent(LINES)
        self._seen = 0
        self._end = 0
        self.notes: list[str] = []
        self.problems: list[str] = []

    def __iter__(self) -> Iterator[tuple[Source, Iterator[Block]]]:
        while self._pending:
            source = self._next()
            overlap = self._overlaps.pop(source, None)
            repeated = overlap.repeated(self._seen) if overlap else 0
            if overlap:
                self._beginning[overlap.first].remove(overlap)
                if problem := self._problem(source, overlap, repeated):
                    self.problems.append(f"{source.log.name} was left out: {problem}")
                    continue
                self._note(source, overlap, repeated)
            yield source, self._blocks(source, repeated)

    def _next(self) -> Source:
        """The next log: the first, or the one that continues most of those begun meanwhile.

        Times within a log may be out of order, so those of first lines are no exact order.
        """
        latest = self._pending[0].begin + SESSION_GAP_SECONDS
        near = [source for source in self._pending if source.begin <= latest]
        overlaps = [self._overlaps.get(source) for source in near]
        lengths = [overlap.repeated(self._seen) if overlap else 0 for overlap in overlaps]
        source = near[lengths.index(max(lengths))]
        self._pending.remove(source)
        return source

    def _note(self, source: Source, overlap: Overlap, repeated: int) -> None:
        if repeated:
            self.notes.append(
                f"{source.log.name}: its first {repeated:,} lines are in an earlier log too, and "
                "count once"
            )
        elif overlap.is_active:
            self.notes.append(
                f"{source.log.name} begins with the line that the log before it ends with; they "
                "count as different requests"
            )

    def _blocks(self, source: Source, repeated: int) -> Iterator[Block]:
        for block in parsed(source):
            if repeated:
                block.repeated = min(repeated, len(block.entries))
                repeated -= block.repeated
                del block.entries[: block.repeated], block.lines[: block.repeated]
            if block.entries:
                self._end = block.entries[-1].at
                self._seen += len(block.entries)
                if self._pending:
                    self._compare(block)
            yield block

    def _compare(self, block: Block) -> None:
        """Compares the lines with the beginnings of the logs that are still to come."""
        next_begin = self._pending[0].begin - SESSION_GAP_SECONDS
        active = {overlap for overlap in self._overlaps.values() if overlap.is_active}
        for entry, line in zip(block.entries, block.lines, strict=True):
            if entry.at >= next_begin:  # as in `_next`: first lines may be out of order
                self._recent[line] = True
            beginning = self._beginning.get(line)
            if beginning or active:
                active.update(beginning or ())
                for overlap in active:
                    overlap.see(line)
                active = {overlap for overlap in active if overlap.is_active}

    def _problem(self, source: Source, overlap: Overlap, repeated: int) -> str:
        """Why a log cannot follow those that were read; empty if it can."""
        if overlap.has_diverged:
            return "it begins with lines of an earlier log, and then differs from it"
        own = set(overlap.after(repeated))
        shared = sum(self._recent.get(line) is not None for line in own)
        order = "before" if source.begin <= self._end else "after"
        span = (
            f"it begins at {time_of(source.begin)}, {order} the end of the logs before it at "
            f"{time_of(self._end)}"
        )
        if shared > _CHANCE:
            return (
                f"{span}, and holds {shared:,} of their lines, but not as they stand there. "
                "Give it to an ingest of its own"
            )
        if not repeated and source.begin < self._end - SESSION_GAP_SECONDS:
            return (
                f"{span}, and does not begin with their last lines. "
                "Give the logs of each server to an ingest of their own"
            )
        return ""


def time_of(second: int) -> str:
    """An instant for people."""
    return f"{datetime.fromtimestamp(second, UTC):%Y-%m-%d %H:%M:%S} UTC"
