"""The queries of schedules, their runs and events that command line, pages and metrics share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial

from synergy.clock import Clock
from synergy.delivery.definition_checks import known
from synergy.model.process import Deployment
from synergy.model.schedule import Event, RunState, Schedule
from synergy.model.time_range import EVER, TimeRange
from synergy.queries.page import Page, searched
from synergy.queries.schedules.event_effects import Effects, RecordedEvent, effects
from synergy.queries.schedules.listing import failing, matching
from synergy.queries.schedules.lookup import refuse_unknown, stored_run, stored_schedule
from synergy.queries.schedules.next_due import next_due, why_over
from synergy.queries.schedules.pending import (
    MOST_PENDING,
    UNCHECKED,
    pending_page,
    pending_runs,
    progress_of,
    read_stored,
)
from synergy.queries.schedules.preview import preview
from synergy.queries.schedules.redaction import shown
from synergy.queries.schedules.run_successors import failed_page, failed_runs, successors
from synergy.queries.schedules.trigger_progress import legs_of
from synergy.queries.schedules.viewers import (
    preview_for_viewers,
    run_for_viewers,
    schedule_for_viewers,
)
from synergy.queries.schedules.views import (
    LegView,
    Preview,
    RunDetail,
    RunView,
    ScheduleDetail,
    ScheduleView,
    TouchedSchedule,
    run_detail,
    run_view,
    version_view,
)
from synergy.queries.schedules.why import ScheduleWhy, WhySchedule
from synergy.schedule.definition import Definition
from synergy.schedule.format.read import read, warnings
from synergy.schedule.format.summary import summarize
from synergy.storage.protocol import StoreView

LAST_RUNS = 10  # the runs that are shown with a schedule

_EVER = datetime.max.replace(tzinfo=UTC)


class ScheduleReads:
    """The schedules of a deployment, with their runs and events.

    `for_viewers`: requests are masked, see `viewers`.
    """

    def __init__(
        self, store: StoreView, deployment: Deployment, clock: Clock, *, for_viewers: bool = False
    ) -> None:
        self._store = store
        self._deployment = deployment
        self._clock = clock
        self._for_viewers = for_viewers

    def list_schedules(
        self,
        limit: int = 100,
        cursor: str | None = None,
        prefix: str = "",
        is_enabled: bool | None = None,
        program: str = "",
    ) -> Page[ScheduleView]:
        """A page of schedules by name; see `matching`."""
        found, following = matching(self._store, limit, cursor, prefix, is_enabled, program)
        return Page(tuple(map(self._view, found)), following)

    def count(self) -> int:
        return self._store.schedules.count()

    def ahead(self, limit: int = 5) -> list[ScheduleView]:
        """The schedules that are due next by time, the earliest first."""
        found = self._store.schedules.due(_EVER, limit)
        return [view for view in map(self._view, found) if view.next_due is not None]

    def failing(self, limit: int = 20) -> list[ScheduleView]:
        """The schedules whose last ended run failed, the latest failure first."""
        return [self._view(schedule) for schedule in failing(self._store, limit)]

    def show_schedule(self, name: str) -> ScheduleDetail:
        """A schedule in detail; raises NotFound."""
        schedule = stored_schedule(self._store, name)
        definition, mistakes = read_stored(schedule)
        legs: tuple[LegView, ...] = ()
        remarks = _remarks(definition, mistakes)
        if definition is not None:
            progress, now = progress_of(schedule), self._clock.now()
            legs = legs_of(definition, progress, now)
            remarks += why_over(definition, progress, now)
        runs, _ = self._store.runs.find(name, limit=LAST_RUNS)
        definition_shown = shown(schedule.definition)
        assert isinstance(definition_shown, Mapping)
        view = self._view(schedule)
        detail = ScheduleDetail(
            **{field: getattr(view, field) for field in ScheduleView.__slots__},
            definition=definition_shown,
            warnings=remarks,
            legs=legs,
            pending=self.pending_page(schedule.name, MOST_PENDING).items,
            runs=tuple(map(run_view, runs)),
            versions=tuple(map(version_view, self._store.schedules.versions(name))),
        )
        return schedule_for_viewers(detail) if self._for_viewers else detail

    def why(self, name: str) -> ScheduleWhy:
        """What a schedule waits for, or why events started nothing; raises NotFound."""
        schedule = stored_schedule(self._store, name)
        return WhySchedule(self._store, self._deployment, schedule, self._clock.now()).ask()

    def runs(
        self,
        schedule: str | None = None,
        state: RunState | None = None,
        limit: int = 100,
        cursor: str | None = None,
        within: TimeRange = EVER,
    ) -> Page[RunView]:
        """A page of runs; a schedule that was removed may still have some. Raises NotFound."""
        found, following = self._store.runs.find(schedule, state, limit, cursor, within)
        if schedule is not None and not found:
            refuse_unknown(self._store, schedule)
        return Page(tuple(map(run_view, found)), following)

    def run(self, id_: str) -> RunDetail:
        """One run; raises NotFound."""
        found = stored_run(self._store, id_)
        detail = run_detail(found, next(iter(successors(self._store, [found])), ""))
        return run_for_viewers(detail) if self._for_viewers else detail

    def pending(self, name: str | None = None) -> list[RunView]:
        """The runs that wait; of one schedule also the job that collects its events."""
        if name is not None:
            return list(self.pending_page(name, MOST_PENDING).items)
        return [run_view(run) for run in pending_runs(self._store, None)]

    def pending_page(self, name: str, limit: int, cursor: str | None = None) -> Page[RunView]:
        """A page of the runs of a schedule that wait to be launched.

        First those that no constraint holds back, then those that one does, and at last the job
        that collects events. Raises NotFound, and InvalidValue for an invalid cursor.
        """
        schedule = stored_schedule(self._store, name)
        return pending_page(self._store, schedule, self._clock.now(), limit, cursor)

    def dead_page(
        self,
        limit: int,
        cursor: str | None = None,
        schedule: str | None = None,
        within: TimeRange = EVER,
    ) -> Page[RunView]:
        """A page of failed runs, of a schedule or of all, newest first.

        Runs that were launched again are left out; a page with a next one may have fewer than
        `limit`. Raises InvalidValue for an invalid cursor.
        """
        found, following = failed_page(self._store, schedule, limit, cursor, within)
        return Page(tuple(map(run_view, found)), following)

    def dead(self, limit: int = 100) -> list[RunView]:
        """Failed runs that were not launched again, newest first."""
        return [run_view(run) for run in failed_runs(self._store, limit=limit)]

    def preview(
        self,
        what: str | Mapping[str, object],
        start: datetime | None = None,
        end: datetime | None = None,
        limit: int = 10,
    ) -> Preview:
        """The due times of a stored schedule, or of a definition; see `preview`.

        Raises NotFound, or InvalidDefinition with all mistakes.
        """
        now, progress = self._clock.now(), None
        if isinstance(what, str):
            stored = stored_schedule(self._store, what)
            definition, added_at = read(stored.definition, UNCHECKED), None
            progress = progress_of(stored)
        else:
            definition, added_at = read(what, known(self._deployment.processes)), now
        begin = now if start is None else start
        seen = preview(definition, self._store.payloads, begin, end, limit, added_at, progress)
        return preview_for_viewers(seen) if self._for_viewers else seen

    def effects_of(
        self, recorded: Sequence[RecordedEvent], wait: Callable[[float], object]
    ) -> Effects:
        """The effects of events that were just recorded; see `event_effects.effects`."""
        return effects(self._store, recorded, wait)

    def events(
        self,
        limit: int = 100,
        cursor: str | None = None,
        type_: str = "",
        text: str = "",
        within: TimeRange = EVER,
    ) -> Page[Event]:
        """A page of events, newest first; of a type, and with a text in resource or id, if given.

        Neither has an index; see `searched`.
        """
        read, words = partial(self._store.events.find, within=within), text.lower()

        def is_wanted(event: Event) -> bool:
            names = (event.resource.lower(), event.id.lower())
            return type_ in ("", event.type) and any(words in name for name in names)

        if type_ or text:
            return searched(read, is_wanted, limit, cursor)
        found, following = read(limit, cursor)
        return Page(tuple(found), following)

    def _view(self, schedule: Schedule) -> ScheduleView:
        definition, mistakes = read_stored(schedule)
        last, _ = self._store.runs.find(schedule.name, limit=1)
        return ScheduleView(
            name=schedule.name,
            words=f"cannot be read: {mistakes[0]}" if definition is None else summarize(definition),
            is_enabled=schedule.is_enabled,
            reason=schedule.reason,
            next_due=next_due(schedule, definition),
            zone="" if definition is None else definition.zone,
            waiting=len(pending_runs(self._store, schedule.name)),
            version=schedule.version,
            origin=schedule.origin.value,
            created_at=schedule.created_at,
            changed_at=schedule.changed_at,
            last_run=run_view(last[0]) if last else None,
        )


def touched_schedule(schedule: Schedule) -> TouchedSchedule:
    """A schedule after a change; its definition may be invalid by now."""
    definition, mistakes = read_stored(schedule)
    return TouchedSchedule(
        name=schedule.name,
        version=schedule.version,
        is_enabled=schedule.is_enabled,
        next_due=next_due(schedule, definition),
        warnings=_remarks(definition, mistakes),
    )


def _remarks(definition: Definition | None, mistakes: Sequence[str]) -> tuple[str, ...]:
    return tuple(mistakes if definition is None else warnings(definition))
