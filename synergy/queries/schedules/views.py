"""The frozen values of schedules and runs that command line, pages and metrics show.

States are words here. Secrets are hidden; see `redaction`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from synergy.model.schedule import Run, ScheduleVersion, is_for_worker
from synergy.queries.schedules.event_effects import causes
from synergy.queries.schedules.redaction import secrets_of, shown, without


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """A run, or a pending job.

    `waits` are the reasons why a pending one waits; `not_before` is the time of the next check or
    attempt. The job that collects the events of a schedule is a run too: `pending_trigger`, without
    an id.
    """

    id: str
    schedule: str
    key: str
    due_at: datetime
    state: str
    program: str
    group: str
    priority: int
    version: int
    attempt: int
    reason: str
    waits: tuple[str, ...]
    created_at: datetime
    not_before: datetime | None
    launched_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDetail(RunView):
    """A run with its request, its cause, and the answers that it got, oldest first.

    `again` is the id of the run that repeats it after it failed, "" if there is none.
    """

    again: str
    request: object
    cause: Mapping[str, object]
    events: tuple[str, ...]
    answers: tuple[Mapping[str, object], ...]

    @property
    def is_of_worker(self) -> bool:
        """Whether it was launched to be carried out by a worker."""
        return isinstance(self.request, Mapping) and is_for_worker(self.request)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleView:
    """A schedule in a list; `words` describe its trigger and its program.

    `next_due` is None for a schedule that is disabled, is not due by time, or cannot be read.
    `zone` is that of its trigger, "" if the definition cannot be read; `waiting` counts the runs
    that wait to be launched.
    """

    name: str
    words: str
    is_enabled: bool
    reason: str
    next_due: datetime | None
    zone: str
    waiting: int
    version: int
    origin: str
    created_at: datetime
    changed_at: datetime
    last_run: RunView | None


@dataclass(frozen=True, slots=True)
class TouchedSchedule:
    """A schedule as it is after a change.

    `next_due` is None for one that is disabled, or that is not due by time; `warnings` name what
    is valid but probably not intended, or why the definition cannot be read.
    """

    name: str
    version: int
    is_enabled: bool
    next_due: datetime | None
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LegView:
    """A leaf of a trigger: what it waits for, its progress (`how`), and since when."""

    path: str
    words: str
    is_met: bool
    how: str
    at: datetime | None


@dataclass(frozen=True, slots=True)
class VersionView:
    """A version of a schedule: when it was made, and by whom."""

    version: int
    at: datetime
    who: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleDetail(ScheduleView):
    """A schedule in detail, with its last runs, newest first, and its pending runs."""

    definition: Mapping[str, object]
    warnings: tuple[str, ...]
    legs: tuple[LegView, ...]
    pending: tuple[RunView, ...]
    runs: tuple[RunView, ...]
    versions: tuple[VersionView, ...]


@dataclass(frozen=True, slots=True)
class DueView:
    """A due time; `local` is None for one that is skipped, and `remark` says why."""

    at: datetime
    local: datetime | None
    remark: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """A definition in words, and when it is due.

    `dialects` describe its time triggers, `warnings` what is valid but probably not intended.
    `why_none` is the reason if there are no due times; `more` is whether there are later ones.
    `body` is what the first due time would send, None for a worker, and `unknown` the names in it
    that are not replaced.
    """

    name: str
    words: str
    zone: str
    dialects: tuple[str, ...]
    dues: tuple[DueView, ...]
    more: bool
    why_none: str
    warnings: tuple[str, ...]
    body: str | None
    unknown: tuple[str, ...]


def run_view(run: Run) -> RunView:
    """A run in a list."""
    return RunView(**_fields(run))


def run_detail(run: Run, again: str = "") -> RunDetail:
    """A run in detail, with the id of the run that repeats it."""
    secrets = secrets_of(run.request)  # some receivers send back what they were sent
    return RunDetail(
        **_fields(run),
        again=again,
        request=shown(run.request),
        cause=run.detail.cause,
        events=tuple(sorted(causes(run))),
        answers=tuple(
            redacted
            for answer in run.detail.answers
            if isinstance(redacted := without(secrets, answer), Mapping)
        ),
    )


def version_view(version: ScheduleVersion) -> VersionView:
    """A version without its definition."""
    return VersionView(version.version, version.at, version.who)


def _fields(run: Run) -> dict[str, Any]:
    """The fields of `RunView`; all but two are those of the run."""
    shown = {"state": run.state.value, "waits": run.detail.waits}
    return shown | {name: getattr(run, name) for name in RunView.__slots__ if name not in shown}
