"""The due times of a window that are run, and the reasons for skipping others.

The window is `(last processed, now]`. Each due time in it is decided once, oldest first:

- `all`: the newest `catchup_max` are run; if there are several, one after the other.
- `latest`: the newest is run.
- `none`: the newest is run if it is decided within `GRACE`; all others were missed. So an agent
  that is a little late misses a due time only if the next one has come, too.
- A due time that has no local time, or is on an excluded date, is skipped, and is not counted among
  the newest.

At most `STEP + 1` due times are decided at a time, so that a decision stays small; the next window
begins where that ended. A window of more than twice `EACH` due times, such as a year of `every 1`,
would need too many records: its oldest due times share one record, with the first of them and the
instant up to which it stands for all. The rest, between `EACH` and twice as many, get one each.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from heapq import merge
from itertools import groupby, islice
from sys import maxsize
from zoneinfo import ZoneInfo

from synergy.schedule.definition import CatchUp, Definition, Times
from synergy.schedule.due import Due, dues, next_due
from synergy.schedule.zones import zone

STEP = 1_000
EACH = 10_000
GRACE = timedelta(seconds=60)
NO_SUCH_TIME = "no such local time"

_SECOND = timedelta(seconds=1)  # due times are whole seconds
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class DueDecision:
    """The decision about a due time: run, or skipped if there is a `reason`.

    With `until` it stands for all due times from `at` to `until`.
    """

    at: datetime
    reason: str = ""
    remark: str = ""
    in_turn: bool = False
    until: datetime | None = None

    @property
    def is_run(self) -> bool:
        return not self.reason


def decide(
    definition: Definition, lines: Sequence[Times], after: datetime, now: datetime
) -> list[DueDecision]:
    """Decides about the oldest due times of several lines in `(after, now]`, up to the end.

    An instant at which two lines are due is one due time.
    """
    local = zone(definition.zone)
    keep = definition.catchup_max if definition.catchup is CatchUp.ALL else 1
    until = by_end(definition, now)
    window, has_more = _window(definition, union(lines, local, after, until), keep)
    if has_more:
        each = max(EACH, keep)
        start = _start_of_newest(lines, local, window[0].at, until, each)
        if start is not None:
            reason = f"missed: more than {each} due times; stands for all up to {start:%FT%TZ}"
            return [DueDecision(at=window[0].at, reason=reason, until=start)]
    newest = [due.at for due in window if _may_run(due, definition.exclude)][-keep:]
    first = newest[0] if newest else now
    batch = window if len(window) <= STEP + 1 else window[:STEP]
    return [_decided(definition, due, first, now, in_turn=len(newest) > 1) for due in batch]


def by_end(definition: Definition, now: datetime) -> datetime:
    """Now, or the schedule's end if that is past: nothing is due after it."""
    return now if definition.end is None else min(now, definition.end)


def _window(definition: Definition, found: Iterator[Due], keep: int) -> tuple[list[Due], bool]:
    """The oldest due times, and whether there are more than `keep` later ones that may run.

    They are enough to know which of the first `STEP + 1` are among the `keep` newest.
    """
    window: list[Due] = []
    later = 0
    for due in found:
        window.append(due)
        later += len(window) > STEP + 1 and _may_run(due, definition.exclude)
        if later > keep or len(window) > STEP + keep + 2 * EACH:
            return window, True
    return window, False


def _may_run(due: Due, exclude: Collection[date]) -> bool:
    return not skip_reason(due, exclude)


def skip_reason(due: Due, exclude: Collection[date]) -> str:
    """Why a due time has no run: no local time, or an excluded date; "" if it may run."""
    if due.is_skipped:
        return NO_SUCH_TIME
    if due.local is None or due.local.date() not in exclude:
        return ""
    return f"{due.local:%Y-%m-%d} is an excluded date"


def _decided(
    definition: Definition, due: Due, first: datetime, now: datetime, *, in_turn: bool
) -> DueDecision:
    """The decision about a due time, if those from `first` on are the newest."""
    is_missed = definition.catchup is CatchUp.NONE and now - due.at > GRACE
    if reason := skip_reason(due, definition.exclude):
        return DueDecision(at=due.at, reason=reason, remark=due.remark)
    if due.at < first or is_missed:
        return DueDecision(at=due.at, reason=_missed(definition), remark=due.remark)
    return DueDecision(at=due.at, remark=due.remark, in_turn=in_turn)


def _missed(definition: Definition) -> str:
    match definition.catchup:
        case CatchUp.ALL:
            return f"missed: more than {definition.catchup_max} due times"
        case CatchUp.LATEST:
            return "missed: only the latest is run"
        case CatchUp.NONE:
            return "missed"


def union(
    lines: Sequence[Times], local: ZoneInfo, after: datetime, until: datetime
) -> Iterator[Due]:
    """The due times of several lines in `(after, until]`, each instant once.

    If two lines are due at an instant, and one of them is skipped there, the other one counts.
    """
    each = [dues(line.trigger, local, after, until, maxsize, line.jitter) for line in lines]
    ordered = merge(*each, key=lambda due: (due.at, due.is_skipped))
    return (next(same) for _, same in groupby(ordered, key=lambda due: due.at))


def _start_of_newest(
    lines: Sequence[Times], local: ZoneInfo, first: datetime, now: datetime, each: int
) -> datetime | None:
    """An instant after which there are `each` to twice `each` due times, up to now.

    None if there are fewer than twice `each` after `first`. The first guess assumes that they are
    evenly distributed, which is usual; after that, the interval is halved until an instant fits.
    """
    many = list(islice(union(lines, local, first, now), 2 * each))
    if len(many) < 2 * each:
        return None
    low, high = first, now
    middle = max(now - (many[-1].at - first) * 3 / 4, first)
    while True:
        middle = middle.replace(microsecond=0)
        count = sum(1 for _ in islice(union(lines, local, middle, now), 2 * each + 1))
        if each <= count <= 2 * each:
            return middle
        low, high = (middle, high) if count > each else (low, middle)
        middle = low + (high - low) / 2


def latest(
    line: Times, local: ZoneInfo, after: datetime, until: datetime, exclude: Collection[date] = ()
) -> datetime | None:
    """The newest due time of a line in `(after, until]` that may run; None if none may."""
    due = _newest(line, local, after, until)
    while due is not None and not _may_run(due, exclude):
        before = due.at if due.local is None else min(due.at, _midnight(due.local.date(), local))
        due = _newest(line, local, after, before - _SECOND)
    return due.at if due is not None else None


def _newest(line: Times, local: ZoneInfo, after: datetime, until: datetime) -> Due | None:
    due = _next(line, local, after)
    if due is None or due.at > until:
        return None
    low, high = due, until
    while high - low.at >= _SECOND:
        middle = low.at + (high - low.at) / 2
        due = _next(line, local, middle)
        if due is None or due.at > until:
            high = middle
        else:
            low = due
    return low


def next_any(line: Times, local: ZoneInfo, after: datetime) -> datetime | None:
    """The first due time of a line strictly later than `after`."""
    due = _next(line, local, after)
    return due.at if due is not None else None


def next_of(
    line: Times, local: ZoneInfo, after: datetime, exclude: Collection[date] = ()
) -> datetime | None:
    """The first due time of a line strictly later than `after` that may run."""
    due = _next(line, local, after)
    while due is not None and not _may_run(due, exclude):
        behind = due.at
        if due.local is not None:
            behind = max(behind, _midnight(due.local.date() + _DAY, local) - _SECOND)
        due = _next(line, local, behind)
    return due.at if due is not None else None


def _next(line: Times, local: ZoneInfo, after: datetime) -> Due | None:
    return next_due(line.trigger, local, after, line.jitter)


def _midnight(day: date, local: ZoneInfo) -> datetime:
    return datetime.combine(day, time(), local).astimezone(UTC)
