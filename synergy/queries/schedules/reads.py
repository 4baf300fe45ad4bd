"""Looking at schedules, their runs and events. Nothing here changes anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from synergy.clock import Clock
from synergy.delivery.definition_checks import known
from synergy.errors import NotFound
from synergy.model.cursor import no_cursor
from synergy.model.process import Deployment
from synergy.model.schedule import Event, Run, RunKind, RunState, Schedule
from synergy.queries.schedules.event_effects import Effects, RecordedEvent, effects
from synergy.queries.schedules.legs import BY_TIME, legs_of, missing
from synergy.queries.schedules.listing import failing, matching
from synergy.queries.schedules.near_names import no_schedule
from synergy.queries.schedules.preview import preview
from synergy.queries.schedules.redaction import shown
from synergy.queries.schedules.retries import failed_page, failed_runs, successors
from synergy.queries.schedules.views import (
    LegView,
    Preview,
    RunDetail,
    RunPage,
    RunView,
    ScheduleDetail,
    SchedulePage,
    ScheduleView,
    TouchedSchedule,
    run_detail,
    run_view,
    version_view,
)
from synergy.schedule.definition import Definition, leaves
from synergy.schedule.format.read import InvalidDefinition, Known, read, warnings, words
from synergy.schedule.progress.state import ProgressState
from synergy.storage.protocol import StoreView

LAST_RUNS = 10  # shown with a schedule
MOST_PENDING = 1000
PENDING_TRIGGER = "pending_trigger"
_WAITING = (RunState.PENDING_LAUNCH, RunState.PENDING_CONSTRAINT)

_EVER = datetime.max.replace(tzinfo=UTC)
_UNCHECKED = Known()  # it was checked when it was stored; its program may be gone by now


class ScheduleReads:
    """What may be seen of schedules."""

    def __init__(self, store: StoreView, deployment: Deployment, clock: Clock) -> None:
        self._store = store
        self._deployment = deployment
        self._clock = clock

    def list_schedules(
        self,
        limit: int = 100,
        cursor: str | None = None,
        prefix: str = "",
        is_enabled: bool | None = None,
    ) -> SchedulePage:
        """A page by name, of those whose name begins so; `is_enabled` None is either."""
        found, following = matching(self._store, limit, cursor, prefix, is_enabled)
        return SchedulePage(tuple(map(self._view, found)), following)

    def count(self) -> int:
        """How many there are."""
        return self._store.schedules.count()

    def ahead(self, limit: int = 5) -> list[ScheduleView]:
        """Those that are looked at next for their time, the earliest first."""
        found = self._store.schedules.due(_EVER, limit)
        return [view for view in map(self._view, found) if view.next_due is not None]

    def failing(self, limit: int = 20) -> list[ScheduleView]:
        """Those whose last run that ended has failed, the latest failure first."""
        return [self._view(schedule) for schedule in failing(self._store, limit)]

    def show_schedule(self, name: str) -> ScheduleDetail:
        """All that is known of one; raises NotFound."""
        schedule = self._schedule(name)
        definition, mistakes = _read(schedule)
        legs: tuple[LegView, ...] = ()
        if definition is not None:
            legs = legs_of(definition, _progress(schedule), self._clock.now())
        runs, _ = self._store.runs.find(name, limit=LAST_RUNS)
        definition_shown = shown(schedule.definition)
        assert isinstance(definition_shown, Mapping)
        view = self._view(schedule)
        return ScheduleDetail(
            **{field: getattr(view, field) for field in ScheduleView.__slots__},
            definition=definition_shown,
            warnings=_remarks(definition, mistakes),
            legs=legs,
            pending=self.pending_page(schedule.name, MOST_PENDING).items,
            runs=tuple(map(run_view, runs)),
            versions=tuple(map(version_view, self._store.schedules.versions(name))),
        )

    def runs(
        self,
        schedule: str | None = None,
        state: RunState | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> RunPage:
        """A page of runs; a schedule that was removed may still have some. Raises NotFound."""
        found, following = self._store.runs.find(schedule, state, limit, cursor)
        if schedule is not None and not found:
            self._refuse_unknown(schedule)
        return RunPage(tuple(map(run_view, found)), following)

    def run(self, id_: str) -> RunDetail:
        """One run; raises NotFound."""
        found = self._store.runs.get([id_])
        if not found:
            raise NotFound("run", id_, "launch.py schedule runs shows which there are")
        return run_detail(found[0], next(iter(successors(self._store, found)), ""))

    def pending(self, name: str | None = None) -> list[RunView]:
        """What waits to be launched, of one schedule with the job that collects its events."""
        if name is not None:
            return list(self.pending_page(name, MOST_PENDING).items)
        return [run_view(run) for run in self._pending_runs(None)]

    def pending_page(self, name: str, limit: int, cursor: str | None = None) -> RunPage:
        """A page of what waits to be launched of a schedule.

        First what will be as soon as it can, then what a constraint holds, and at last the job
        that collects its events. Raises NotFound, and InvalidValue for what is no cursor.
        """
        schedule = self._schedule(name)
        stage, place = _waiting_at(cursor)
        items: list[RunView] = []
        while len(items) < limit and stage < len(_WAITING):
            left = limit - len(items)
            found, place = self._store.runs.find(name, _WAITING[stage], left, place)
            items += map(run_view, found)
            stage += place is None
        collecting = _collecting(schedule, self._clock.now())
        if stage < len(_WAITING) or (collecting is not None and len(items) == limit):
            return RunPage(tuple(items), f"{stage}.{place or ''}")
        return RunPage((*items, *([collecting] if collecting is not None else ())), None)

    def dead_page(
        self, limit: int, cursor: str | None = None, schedule: str | None = None
    ) -> RunPage:
        """A page of the runs, of a schedule or of all, that have failed for good, newest first.

        Those that were launched again are none of them. It may have fewer than `limit` and a next
        one. Raises InvalidValue for what is no cursor.
        """
        found, following = failed_page(self._store, schedule, limit, cursor)
        return RunPage(tuple(map(run_view, found)), following)

    def dead(self, limit: int = 100) -> list[RunView]:
        """Runs that have failed and were not launched again, newest first."""
        return [run_view(run) for run in failed_runs(self._store, limit=limit)]

    def preview(
        self,
        what: str | Mapping[str, object],
        start: datetime | None = None,
        end: datetime | None = None,
        limit: int = 10,
    ) -> Preview:
        """When a stored schedule, or one that is only written, is due; see `preview`.

        Raises NotFound, or InvalidDefinition with all mistakes.
        """
        now = self._clock.now()
        if isinstance(what, str):
            definition, added_at = read(self._schedule(what).definition, _UNCHECKED), None
        else:
            definition, added_at = read(what, known(self._deployment.processes)), now
        begin = now if start is None else start
        return preview(definition, self._store.payloads, begin, end, limit, added_at)

    def came_of(self, taken: Sequence[RecordedEvent], wait: Callable[[float], object]) -> Effects:
        """What events did that were just taken; see `happenings.effects`."""
        return effects(self._store, taken, wait)

    def events(self, limit: int = 100, cursor: str | None = None) -> tuple[list[Event], str | None]:
        """A page of events, newest first, and the cursor of the next page or None."""
        return self._store.events.find(limit, cursor)

    def _schedule(self, name: str) -> Schedule:
        found = self._store.schedules.get([name])
        if not found:
            raise no_schedule(self._store, name)
        return found[0]

    def _refuse_unknown(self, name: str) -> None:
        if not self._store.runs.find(name, limit=1)[0]:
            self._schedule(name)

    def _view(self, schedule: Schedule) -> ScheduleView:
        definition, mistakes = _read(schedule)
        last, _ = self._store.runs.find(schedule.name, limit=1)
        return ScheduleView(
            name=schedule.name,
            words=f"cannot be read: {mistakes[0]}" if definition is None else words(definition),
            is_enabled=schedule.is_enabled,
            reason=schedule.reason,
            next_due=_next_due(schedule, definition),
            zone="" if definition is None else definition.zone,
            waiting=len(self._pending_runs(schedule.name)),
            version=schedule.version,
            origin=schedule.origin.value,
            created_at=schedule.created_at,
            changed_at=schedule.changed_at,
            last_run=run_view(last[0]) if last else None,
        )

    def _pending_runs(self, schedule: str | None) -> list[Run]:
        return [
            run
            for state in _WAITING
            for run in self._store.runs.find(schedule, state, MOST_PENDING)[0]
        ]


def _waiting_at(cursor: str | None) -> tuple[int, str | None]:
    """Where a page of what waits begins: among which of `_WAITING`, and after which of them."""
    text = "0." if cursor is None else cursor
    stage, dot, place = text.partition(".")
    if not dot or stage not in map(str, range(len(_WAITING) + 1)):
        raise no_cursor(text)
    return int(stage), place or None


def touched_schedule(schedule: Schedule) -> TouchedSchedule:
    """What a change left; may be of one that cannot be read any more."""
    definition, mistakes = _read(schedule)
    return TouchedSchedule(
        name=schedule.name,
        version=schedule.version,
        is_enabled=schedule.is_enabled,
        next_due=_next_due(schedule, definition),
        warnings=_remarks(definition, mistakes),
    )


def _read(schedule: Schedule) -> tuple[Definition | None, Sequence[str]]:
    """What a schedule is defined as; None and why not, of one that an agent will disable."""
    try:
        return read(schedule.definition, _UNCHECKED), ()
    except InvalidDefinition as error:
        return None, error.mistakes


def _remarks(definition: Definition | None, mistakes: Sequence[str]) -> tuple[str, ...]:
    return tuple(mistakes if definition is None else warnings(definition))


def _progress(schedule: Schedule) -> ProgressState | None:
    """None for one that is disabled, or was never enabled, or whose memory is no such thing."""
    if not schedule.is_enabled or not schedule.progress:
        return None
    try:
        return ProgressState.from_json(schedule.progress)
    except (KeyError, TypeError, ValueError):
        return None


def _next_due(schedule: Schedule, definition: Definition | None) -> datetime | None:
    """When it is looked at next, if that is for its time and not for the end of a wait."""
    if definition is None:
        return None
    by_time = any(isinstance(leaf, BY_TIME) for _, leaf in leaves(definition.trigger))
    return schedule.wake_at if by_time else None


def _collecting(schedule: Schedule, now: datetime) -> RunView | None:
    """The job in `pending_trigger`, as a run that has no id yet."""
    progress = _progress(schedule)
    definition, _ = _read(schedule)
    if progress is None or progress.collecting is None or definition is None:
        return None
    legs = {leg.path: leg for leg in legs_of(definition, progress, now)}
    return RunView(
        id="",
        schedule=schedule.name,
        key=RunKind.EVENTS.key(progress.collecting.number),
        due_at=progress.collecting.since,
        state=PENDING_TRIGGER,
        program=str(schedule.definition.get("process") or "delivery"),
        group=definition.group,
        priority=definition.priority,
        version=schedule.version,
        attempt=0,
        reason="",
        waits=tuple(missing(definition.trigger, legs)),
        created_at=progress.collecting.since,
        not_before=progress.collecting.since + definition.timeout,
        launched_at=None,
        finished_at=None,
    )
