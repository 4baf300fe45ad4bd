"""The limit for ends of old periods: a timetable extended by years does not flood a schedule.

A period is *recent* if it is one of the newest `RECENT` periods of its process (or of the newest
`catchup_max`, if that is more; with `time_grouping`, that many groups), and *old* otherwise. Ends
of recent periods always count: time alone limits their number. Of old periods at most `catchup_max`
ends count within `SPAN`, from the first of them on; of those that ended together, the newest. First
ends and repetitions have separate limits, so that a single reprocessed old period counts while a
timetable extended by years is processed.

An end beyond the limit has no effect on the trigger, but is recorded: periods of one decision that
ended alike share one record, with their number and range.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from heapq import nlargest

from synergy.lifecycle.legal_moves import RunMove
from synergy.model.schedule import RunKind
from synergy.schedule.definition import Definition, leaves
from synergy.schedule.progress import event_matching
from synergy.schedule.progress.ended_periods import Ended, Range, joined, without
from synergy.schedule.progress.run_building import joined_by
from synergy.schedule.progress.state import Made, Occurrence, OldPeriods, ProgressState, Step
from synergy.schedule.progress.steps import join, take

RECENT = 60
SPAN = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class _Concerned:
    """Ended periods that concern a schedule, and have not counted before."""

    of: Ended
    old: Range
    recent: Range

    @property
    def is_repeated(self) -> bool:
        return self.of.generation > 1


@dataclass(frozen=True, slots=True)
class _Uncounted:
    """Periods beyond the limit that ended alike, in one decision."""

    of: Sequence[tuple[Ended, Sequence[Range]]]

    def record(self, limit: int, now: datetime) -> Made:
        """The one record of all of them."""
        first, last = self.of[0], self.of[-1]
        one = first[0]
        ranges = joined(ordinals for _, some in self.of for ordinals in some)
        count = sum(end - begin + 1 for _, some in self.of for begin, end in some)
        spelled = one.spelled((ranges[0][0], ranges[-1][1]))
        ended = "were done again" if one.generation > 1 else "ended"
        which = f"stands for {count:,}, {spelled}" if count > 1 else spelled
        begin, end = one.number(first[1][0][0]), last[0].number(last[1][-1][1])
        return Made(
            key=RunKind.PERIODS.key(f"{begin}-{end}"),
            due_at=now,
            ended_by=RunMove.SKIP,
            reason=f"more than {limit:,} old periods {ended} within a day: {which}",
            created_at=now,
            cause={
                "process": one.process,
                "status": one.status,
                "generation": one.generation,
                "count": count,
                "periods": [one.spelled(ordinals) for ordinals in ranges],
            },
        )


def take_all(
    definition: Definition,
    progress: ProgressState,
    occurrences: Sequence[Occurrence | Ended],
    now: datetime,
    *,
    is_waiting: bool = False,
    is_held: bool = False,
) -> Step:
    """The effects of several occurrences, in order; ends of old periods count up to the limit.

    With `coalesce` they join the run that events triggered before and that `is_waiting`, or else
    the run that the first of them make, if that `is_held` back.
    """
    ended = [one for one in occurrences if isinstance(one, Ended)]
    concerned = {one.of.seq: one for one in _concerned(definition, progress, ended, now)}
    kept, old = _kept(definition, progress, list(concerned.values()), now)
    progress = replace(progress, old=old)
    made: list[Made] = []
    joined: list[Occurrence] = []
    for one in occurrences:
        some = [one] if isinstance(one, Occurrence) else _counting(concerned.get(one.seq), kept)
        for occurrence in some:
            has_made = bool(made) and made[-1].ended_by is None
            if definition.coalesce and (is_waiting or (is_held and has_made)):
                step = join(definition, progress, occurrence)
            else:
                step = take(definition, progress, occurrence, now)
            progress = step.progress
            made += step.made
            joined += step.joined
        if isinstance(one, Ended) and one.seq in concerned:
            progress = replace(progress, seen_journal=one.seq, seen_part=one.last - one.first)
    if joined and not is_waiting:
        made[-1] = replace(made[-1], cause=joined_by(made[-1].cause, joined))
        joined = []
    records = [
        left.record(definition.catchup_max, now) for left in _uncounted(concerned.values(), kept)
    ]
    return Step(progress, (*made, *records), tuple(joined))


def _concerned(
    definition: Definition, progress: ProgressState, ended: Sequence[Ended], now: datetime
) -> Iterator[_Concerned]:
    is_meant: dict[tuple[str, str, int], bool] = {}  # thousands may end alike
    for one in ended:
        alike = (one.process, one.status, one.generation)
        if alike not in is_meant:
            is_meant[alike] = any(
                event_matching.concerns(leaf, one.nameless)
                for _, leaf in leaves(definition.trigger)
            )
        first, last = _unseen(progress, one)
        if is_meant[alike] and first <= last:
            recent = max(RECENT, definition.catchup_max) * one.grouping
            border = one.qualifier.at(now) - recent
            yield _Concerned(one, (first, min(last, border - 1)), (max(first, border), last))


def _unseen(progress: ProgressState, one: Ended) -> Range:
    """The unseen periods of an entry; empty if it counted, or is from before the schedule began."""
    if one.seq != progress.seen_journal:
        is_new = one.seq > progress.seen_journal
        return (one.first if is_new else one.last + 1), one.last
    seen = one.last if progress.seen_part is None else one.first + progress.seen_part
    return seen + 1, one.last


def _kept(
    definition: Definition, progress: ProgressState, concerned: Sequence[_Concerned], now: datetime
) -> tuple[dict[int, list[int]], OldPeriods | None]:
    """The old periods that count, by journal entry, and the new numbers for the limit."""
    old = progress.old
    if old is not None and now >= old.since + SPAN:
        old = None
    kept: defaultdict[int, list[int]] = defaultdict(list)
    for is_repeated in (False, True):
        alike = [one for one in concerned if one.is_repeated is is_repeated and _length(one.old)]
        if not alike:
            continue
        old = old or OldPeriods(now)
        newest = _newest(alike, definition.catchup_max - old.count(is_repeated=is_repeated))
        old = old.counting(len(newest), is_repeated=is_repeated)
        for seq, ordinal in sorted(newest):
            kept[seq].append(ordinal)
    return dict(kept), old


def _newest(concerned: Sequence[_Concerned], number: int) -> list[tuple[int, int]]:
    """The newest `number` old periods: entry and ordinal."""
    number = max(0, number)
    tails = (
        (one.of.qualifier.start(ordinal), one.of.seq, ordinal)
        for one in concerned
        for ordinal in range(max(one.old[0], one.old[1] - number + 1), one.old[1] + 1)
    )
    return [(seq, ordinal) for _, seq, ordinal in nlargest(number, tails)]


def _counting(concerned: _Concerned | None, kept: dict[int, list[int]]) -> Iterator[Occurrence]:
    """The ends of an entry that count, oldest first."""
    if concerned is not None:
        first, last = concerned.recent
        for ordinal in (*kept.get(concerned.of.seq, ()), *range(first, last + 1)):
            yield concerned.of.occurrence(ordinal)


def _uncounted(concerned: Iterable[_Concerned], kept: dict[int, list[int]]) -> list[_Uncounted]:
    alike: defaultdict[tuple[str, str, int], list[tuple[Ended, list[Range]]]] = defaultdict(list)
    for one in concerned:
        left = without(one.old, kept.get(one.of.seq, ()))
        if left:
            alike[one.of.process, one.of.status, one.of.generation].append((one.of, left))
    return [_Uncounted(some) for some in alike.values()]


def _length(ordinals: Range) -> int:
    return max(0, ordinals[1] - ordinals[0] + 1)
