"""Synchronizes the stored schedules with `schedule_context`.

A missing schedule is created, enabled. A schedule that was not edited since follows its
declaration; an edited one is left alone (policy `create`) or made as declared (`sync`). A schedule
that is no longer declared, or whose process is gone, is disabled with the reason, and enabled when
it is declared again. A schedule that an operator disabled stays disabled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from synergy.commands.drop_reasons import superseded
from synergy.commands.schedule_rows import (
    Overtaken,
    Row,
    Seen,
    begun,
    dropped,
    overtaken_if,
    stopped,
    storable,
)
from synergy.commands.schedule_versions import begun_again, first_versions
from synergy.model.journal_event import JournalEvent
from synergy.model.process import Deployment
from synergy.model.schedule import Origin, Schedule, ScheduleChange
from synergy.schedule.check_context import Known
from synergy.schedule.definition import Definition
from synergy.schedule.format.read import read
from synergy.storage.protocol import Store

WHO = "context.py"
SYNC = "sync"  # the policy that makes the declaration the truth
NO_LONGER_DECLARED = "no longer declared in context.py"

_PAGE = 1000
_GONE = "its program is gone: "
_UNCHECKED = Known()  # declarations were checked when they were loaded


def sync_declared(store: Store, deployment: Deployment, policy: str, now: datetime) -> list[str]:
    """Synchronizes once; returns the changes in words. Rows that others change are left."""
    sync = _Sync(store, deployment, policy, now)
    return [*sync.declare(), *sync.retire()]


def kept_by_hand(store: Store, names: Sequence[str]) -> list[str]:
    """The schedules among these that are not as `context.py` last made them, by name.

    Unless the policy is `sync`, a change of their declaration has no effect.
    """
    return sorted(found.name for found in store.schedules.get(names) if _is_edited(store, found))


def _is_edited(store: Store, present: Schedule) -> bool:
    """Whether the definition differs from the last one of this module."""
    versions = store.schedules.versions(present.name)  # newest first
    ours = next((version for version in versions if version.who == WHO), None)
    return ours is None or ours.definition != present.definition


class _Sync:
    def __init__(self, store: Store, deployment: Deployment, policy: str, now: datetime) -> None:
        self._store = store
        self._deployment = deployment
        self._programs = deployment.freerun()
        self._policy = policy
        self._now = now
        self._seen = Seen.by_now(store)

    def declare(self) -> list[str]:
        """Creates missing schedules, and changes the others to follow their declarations."""
        declared = self._deployment.schedules
        present = {s.name: s for s in self._store.schedules.get(list(declared))}
        changes = self._create([name for name in declared if name not in present])
        for name, schedule in present.items():
            changes += self._follow(schedule, read(declared[name], _UNCHECKED))
        return changes

    def retire(self) -> list[str]:
        """Disables schedules without a declaration or a program."""
        changes = []
        for schedule in self._all():
            reason = self._why_retired(schedule) if schedule.is_enabled else ""
            if reason:
                row = stopped(schedule, reason, self._now)
                changes += self._write(row, JournalEvent.SCHEDULE_DISABLED, reason)
        return changes

    def _create(self, names: list[str]) -> list[str]:
        definitions = [read(self._deployment.schedules[name], _UNCHECKED) for name in names]
        versions = first_versions(self._store, definitions)
        rows = [self._new(new, versions[new.name]) for new in definitions]
        if not rows:
            return []
        with self._store.batch():
            self._store.runs.create([run for row in rows for run in row.runs], WHO)
            taken = set(self._store.schedules.create([row.schedule for row in rows], WHO))
        return [f"{name}: created" for name in names if name not in taken]

    def _new(self, definition: Definition, version: int) -> Row:
        schedule = Schedule(
            name=definition.name,
            definition=storable(self._store, definition),
            version=version,
            origin=Origin.CONTEXT,
            created_at=self._now,
            changed_at=self._now,
        )
        return begun(schedule, definition, self._now, self._seen, life=version)

    def _follow(self, present: Schedule, definition: Definition) -> list[str]:
        stored = storable(self._store, definition)
        is_other = stored != present.definition
        if is_other and not self._may_follow(present):
            return []
        is_back = not present.is_enabled and present.reason.startswith((NO_LONGER_DECLARED, _GONE))
        if not is_other and not is_back:
            return []
        row = replace(
            present,
            definition=stored,
            version=present.version + is_other,
            origin=Origin.CONTEXT,
            changed_at=self._now,
        )
        if not present.is_enabled and not is_back:
            return self._write(Row(row), JournalEvent.SCHEDULE_CHANGED, "as declared")
        begins = begun_again(self._store, present, row, definition, self._now, self._seen)
        begins = replace(begins, gone=dropped(present, superseded(row.version), self._now))
        event = JournalEvent.SCHEDULE_ENABLED if is_back else JournalEvent.SCHEDULE_CHANGED
        return self._write(begins, event, "as declared")

    def _may_follow(self, present: Schedule) -> bool:
        return self._policy == SYNC or not _is_edited(self._store, present)

    def _why_retired(self, schedule: Schedule) -> str:
        if schedule.process is not None and schedule.process not in self._programs:
            return f"{_GONE}{schedule.process}"
        if schedule.origin is not Origin.CONTEXT or schedule.name in self._deployment.schedules:
            return ""
        return NO_LONGER_DECLARED if self._may_follow(schedule) else ""

    def _write(self, row: Row, event: JournalEvent, why: str) -> list[str]:
        change = ScheduleChange(row.schedule, event, why, WHO)
        try:
            with self._store.batch():
                self._store.runs.create(row.runs, WHO)
                overtaken_if(self._store.schedules.change([change]))
                self._store.runs.create(row.gone, WHO)
        except Overtaken:
            return []
        return [f"{row.schedule.name}: {event.partition('.')[2]}, {why}"]

    def _all(self) -> Iterator[Schedule]:
        cursor: str | None = None
        while True:
            page, cursor = self._store.schedules.find(_PAGE, cursor)
            yield from page
            if cursor is None:
                return
