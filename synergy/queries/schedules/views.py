"""What is seen of schedules and their runs: frozen values for command line, pages and metrics.

States are words here. Passwords, tokens and the like are hidden; see `secrecy`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from synergy.model.schedule import Run, ScheduleVersion
from synergy.queries.schedules.event_effects import causes
from synergy.queries.schedules.redaction import secrets_of, shown, without


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """A run, or a pending job.

    `waits` says what holds a pending one back; `not_before` when it is looked at, or sent, again.
    The job that collects events for a schedule is shown as one too: `pending_trigger`, without
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
    """All that is known of a run: what it sent, why, and what it was answered, oldest first.

    `again` is the run that took it up after it had failed, "" if none did.
    """

    again: str
    request: object
    cause: Mapping[str, object]
    events: tuple[str, ...]
    answers: tuple[Mapping[str, object], ...]


@dataclass(frozen=True, slots=True)
class RunPage:
    """Runs, newest first, and the cursor of the next page or None."""

    items: tuple[RunView, ...]
    next: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleView:
    """A schedule in a list; `words` say what triggers it and what it does.

    `next_due` is when time alone next makes it due; None for one that only waits for events.
    `zone` is the trigger's, "" where the definition cannot be read; `waiting` so many runs wait
    to be launched.
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

    `next_due` is None for one that is not enabled, or that waits for more than the time;
    `warnings` name what is allowed, but probably not meant, or why it cannot be read.
    """

    name: str
    version: int
    is_enabled: bool
    next_due: datetime | None
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LegView:
    """A leaf of a trigger: what it waits for, how far that is (`how`), and since when."""

    path: str
    words: str
    is_met: bool
    how: str
    at: datetime | None


@dataclass(frozen=True, slots=True)
class VersionView:
    """From when on a schedule had this version, and who made it."""

    version: int
    at: datetime
    who: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleDetail(ScheduleView):
    """All that is known of a schedule; its last runs, newest first, and what it has pending."""

    definition: Mapping[str, object]
    warnings: tuple[str, ...]
    legs: tuple[LegView, ...]
    pending: tuple[RunView, ...]
    runs: tuple[RunView, ...]
    versions: tuple[VersionView, ...]


@dataclass(frozen=True, slots=True)
class SchedulePage:
    """Schedules by name, and the cursor of the next page or None."""

    items: tuple[ScheduleView, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class DueView:
    """A due time; `local` is None for one that is skipped, and `remark` says why."""

    at: datetime
    local: datetime | None
    remark: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """How a definition is understood, and when it is due.

    `dialects` are its time triggers as they were understood, `warnings` what is allowed but
    probably not meant. `why_none` says why there are no due times; `more` whether there are
    later ones than these. `body` is what the first of them would send, None for a worker, and
    `unknown` the names in it that stay as they are.
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
    """A run by itself, and the id of the one that took it up."""
    secrets = secrets_of(run.request)  # some receivers send back what they were sent
    return RunDetail(
        **_fields(run),
        again=again,
        request=shown(run.request),
        cause=run.detail.cause,
        events=tuple(sorted(causes(run))),
        answers=tuple(
            told
            for answer in run.detail.answers
            if isinstance(told := without(secrets, answer), Mapping)
        ),
    )


def version_view(version: ScheduleVersion) -> VersionView:
    """A version without its definition."""
    return VersionView(version.version, version.at, version.who)


def _fields(run: Run) -> dict[str, Any]:
    return {
        "id": run.id,
        "schedule": run.schedule,
        "key": run.key,
        "due_at": run.due_at,
        "state": run.state.value,
        "program": run.program,
        "group": run.group,
        "priority": run.priority,
        "version": run.version,
        "attempt": run.attempt,
        "reason": run.reason,
        "waits": run.detail.waits,
        "created_at": run.created_at,
        "not_before": run.not_before,
        "launched_at": run.launched_at,
        "finished_at": run.finished_at,
    }
