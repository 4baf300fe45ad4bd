"""Asking for something of schedules: create, replace, remove, enable, disable; and of their runs.

Every change is a compare-and-set on the schedule's row, made again while others change it, in
one batch with its journal entry and with the end of the jobs that it drops. An agent decides
what follows from it; it is woken, but need not be running.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import datetime

from synergy.commands.jobs import TRIES, Actor
from synergy.commands.runs import RunCommands
from synergy.commands.schedule_rows import (
    Overtaken,
    Row,
    Seen,
    begun,
    dropped,
    off,
    overtaken_if,
    read_all,
    run_of,
    stopped,
    storable,
    superseded,
)
from synergy.commands.schedule_sync import sync_declared
from synergy.commands.schedule_versions import begun_again, first_versions
from synergy.errors import Refused
from synergy.lifecycle.moves import advance
from synergy.lifecycle.transitions import RunMove
from synergy.model.journal_event import JournalEvent
from synergy.model.schedule import (
    Run,
    RunChange,
    RunKind,
    RunState,
    Schedule,
    ScheduleChange,
    run_id,
)
from synergy.queries.schedules.redaction import kept
from synergy.schedule.definition import Definition, Once
from synergy.schedule.format.read import InvalidDefinition, Known, read, read_enabled
from synergy.schedule.progress.transitions import Made, once_key, once_keys

__all__ = ["ScheduleCommands", "sync_declared"]


class ScheduleCommands(RunCommands):
    """What may be asked of schedules and runs.

    With `dry_run` each action checks the same, and answers the same, but changes nothing.
    """

    def create(
        self, data: Mapping[str, object], actor: Actor, now: datetime, *,
        enable: bool = False, dry_run: bool = False,
    ) -> Schedule:  # fmt: skip
        """Stores a schedule; disabled, unless asked otherwise. See `create_all`."""
        return self.create_all([data], actor, now, enable=enable, dry_run=dry_run)[0]

    def create_all(
        self, items: Sequence[Mapping[str, object]], actor: Actor, now: datetime, *,
        enable: bool = False, dry_run: bool = False,
    ) -> list[Schedule]:  # fmt: skip
        """Stores schedules: all, or none if there is anything wrong with one of them.

        A one-off job is enabled unless it says otherwise; one without a name that was stored
        before is not stored again. Raises InvalidDefinition with all mistakes of all of them,
        and Refused for names that are taken.
        """
        definitions = read_all(items, self._store, self._deployment, self._networks, now)
        present = self._present(items, definitions)
        seen = Seen.by_now(self._store)
        versions = first_versions(self._store, definitions)
        rows = []
        with self._writing(dry_run=dry_run):
            for item, definition in zip(items, definitions, strict=True):
                if definition.name in present:
                    continue
                new = Schedule(
                    name=definition.name,
                    definition=storable(self._store, definition, dry_run=dry_run),
                    version=versions[definition.name],
                    created_at=now,
                    changed_at=now,
                )
                begins = enable or _begins(item, definition)
                life = new.version
                rows.append(begun(new, definition, now, seen, life=life) if begins else Row(new))
            if not dry_run and rows:
                self._create(rows, actor)
        stored = present | {row.schedule.name: row.schedule for row in rows}
        return [stored[definition.name] for definition in definitions]

    def _writing(self, *, dry_run: bool) -> AbstractContextManager[object]:
        """One batch for a schedule and its payload, which nobody refers to before that."""
        return nullcontext() if dry_run else self._store.batch()

    def _create(self, rows: Sequence[Row], actor: Actor) -> None:
        with self._store.batch() as batch:
            self._store.runs.create([run for row in rows for run in row.runs], actor.who)
            taken = self._store.schedules.create([row.schedule for row in rows], actor.who)
            if taken:
                raise Refused(_told_taken(taken))
            batch.after_commit(self._wake)

    def replace(
        self, name: str, data: Mapping[str, object], actor: Actor, now: datetime, *,
        dry_run: bool = False,
    ) -> Schedule:  # fmt: skip
        """Defines a schedule anew: version + 1, and what it had pending is dropped.

        Its runs are kept; if it is enabled, it begins anew. The same definition changes nothing.
        `***` means what is there now. Raises InvalidDefinition.
        """

        def edited(present: Schedule) -> Row:
            definition = self._edited(present, data, now)
            stored = storable(self._store, definition, dry_run=dry_run)
            if stored == present.definition:
                return Row(present)
            row = replace(present, definition=stored, version=present.version + 1, changed_at=now)
            if not present.is_enabled:
                return Row(row)
            seen = Seen.by_now(self._store)
            begins = begun_again(self._store, present, row, definition, now, seen)
            return replace(begins, gone=dropped(present, superseded(row.version), now))

        return self._change(
            name, edited, JournalEvent.SCHEDULE_CHANGED, actor, now, dry_run=dry_run
        )

    def _edited(self, present: Schedule, data: Mapping[str, object], now: datetime) -> Definition:
        sent = kept({"name": present.name, **data}, present.definition)
        assert isinstance(sent, Mapping)
        if sent["name"] != present.name:
            raise InvalidDefinition(
                [f"name: {present.name} cannot be renamed: its runs and events go by its name"]
            )
        (definition,) = read_all([sent], self._store, self._deployment, self._networks, now)
        return definition

    def remove(self, name: str, actor: Actor, now: datetime, *, dry_run: bool = False) -> Schedule:
        """Forgets a schedule; its runs are kept, and what it had pending is dropped.

        Raises Refused for one that `context.py` declares, because it would come back.
        """
        if name in self._deployment.schedules:
            raise Refused(
                f"{name} is declared in context.py and would come back: take it out there, or "
                f"launch.py schedule disable {name}"
            )
        for _ in range(TRIES):
            present = self.schedule(name)
            if dry_run:
                return present
            try:
                self._remove(present, actor, now)
            except Overtaken:
                continue
            return present
        raise Refused(f"{name} keeps changing; nothing was done: try again")

    def _remove(self, present: Schedule, actor: Actor, now: datetime) -> None:
        reason = "its schedule was removed"
        with self._store.batch() as batch:
            is_gone = self._store.schedules.remove(present, actor.why, actor.who, now)
            overtaken_if(not is_gone)
            self._store.runs.create(dropped(present, reason, now), actor.who)
            self._abort_pending(present.name, reason, actor, now)
            batch.after_commit(self._wake)

    def enable(self, name: str, actor: Actor, now: datetime, *, dry_run: bool = False) -> Schedule:
        """Lets a schedule begin, from zero; raises Refused for one that is enabled."""

        def enabled(present: Schedule) -> Row:
            if present.is_enabled:
                raise Refused(f"{name} is enabled already")
            definition = self._definition(present, "enabled")
            seen = Seen.by_now(self._store)
            begins = begun_again(self._store, present, present, definition, now, seen)
            # An agent that disabled it has left what was collected.
            return replace(begins, gone=dropped(present, off(present.reason), now))

        return self._change(
            name, enabled, JournalEvent.SCHEDULE_ENABLED, actor, now, dry_run=dry_run
        )

    def disable(self, name: str, actor: Actor, now: datetime, *, dry_run: bool = False) -> Schedule:
        """Stops a schedule, and drops what it has pending; what was launched runs to its end.

        Raises Refused for one that is disabled.
        """
        reason = actor.why or f"disabled by {actor.who}"

        def disabled(present: Schedule) -> Row:
            if not present.is_enabled:
                raise Refused(f"{name} is disabled already: {present.reason or 'it never began'}")
            return stopped(present, reason, now)

        return self._change(
            name, disabled, JournalEvent.SCHEDULE_DISABLED, actor, now, dry_run=dry_run
        )

    def cancel_job(self, name: str, actor: Actor, now: datetime, *, dry_run: bool = False) -> Run:
        """Cancels a one-off job that has not begun; returns its run, canceled.

        Raises Refused for what is no such job, or was disabled, or has run.
        """
        job = self.schedule(name)
        definition = read(job.definition, Known())  # its program may be gone
        if not isinstance(definition.trigger, Once):
            raise Refused(
                f"{name} is no one-off job: launch.py schedule disable {name}, or cancel a run"
            )
        run = self._run_of_job(job, definition)
        if run is not None:
            return self.cancel(run.id, actor, now, dry_run=dry_run)
        reason = actor.why or f"canceled by {actor.who}"
        canceled = _canceled(job, definition, definition.trigger.at, reason, now)

        def ended(present: Schedule) -> Row:
            if not present.is_enabled:
                raise Refused(f"{name} is disabled already, and does not run")
            return replace(stopped(present, reason, now), gone=(canceled,))

        self._change(name, ended, JournalEvent.SCHEDULE_DISABLED, actor, now, dry_run=dry_run)
        return canceled

    def _run_of_job(self, job: Schedule, definition: Definition) -> Run | None:
        """The run of a one-off job, if it has one; it may be that of the version before an edit."""
        keys = once_keys(definition, job.version)
        runs = self._store.runs.get([run_id(job.name, key) for key in keys])
        if runs or not job.progress.get("done"):
            return runs[0] if runs else None
        found, _ = self._store.runs.find(job.name)
        return next((run for run in found if run.kind is RunKind.DUE), None)

    def _change(
        self, name: str, make: Callable[[Schedule], Row], event: JournalEvent, actor: Actor,
        now: datetime, *, dry_run: bool,
    ) -> Schedule:  # fmt: skip
        """Changes a schedule, again while others change it; what it has pending is dropped."""
        for _ in range(TRIES):
            try:
                with self._writing(dry_run=dry_run):
                    present = self.schedule(name)
                    row = make(present)
                    if not dry_run and row.schedule is not present:
                        self._write(row, event, actor, now)
            except Overtaken:
                continue
            return row.schedule
        raise Refused(f"{name} keeps changing; nothing was done: try again")

    def _write(self, row: Row, event: JournalEvent, actor: Actor, now: datetime) -> None:
        change = ScheduleChange(row.schedule, event, actor.why, actor.who)
        with self._store.batch() as batch:
            self._store.runs.create(row.runs, actor.who)
            overtaken_if(self._store.schedules.change([change]))
            self._store.runs.create(row.gone, actor.who)
            begins = {run.id for run in row.runs}
            version = row.schedule.version if event == JournalEvent.SCHEDULE_CHANGED else None
            self._abort_pending(
                row.schedule.name, _why_dropped(event, row), actor, now,
                spares=lambda run: run.id in begins or run.version == version,
            )  # fmt: skip
            batch.after_commit(self._wake)

    def _abort_pending(
        self, name: str, reason: str, actor: Actor, now: datetime,
        *, spares: Callable[[Run], bool] = lambda _: False,
    ) -> None:  # fmt: skip
        """Drops the pending jobs of a schedule, but not those of what just begins.

        Of one that is launched meanwhile nothing is said.
        """
        pending = [
            run
            for state in (RunState.PENDING_CONSTRAINT, RunState.PENDING_LAUNCH)
            for page in self._pages(name, state)
            for run in page
            if not spares(run)
        ]
        aborted = [advance(run, RunMove.ABORT, now, reason) for run in pending]
        self._store.runs.change([RunChange(run, reason, actor.who) for run in aborted])

    def _present(
        self, items: Sequence[Mapping[str, object]], definitions: Sequence[Definition]
    ) -> dict[str, Schedule]:
        """Those of these jobs that are stored already; raises Refused for other names in use."""
        names = [definition.name for definition in definitions]
        present = {schedule.name: schedule for schedule in self._store.schedules.get(names)}
        made_up = {
            definition.name
            for item, definition in zip(items, definitions, strict=True)
            if item.get("name") is None and item.get("schedule_name") is None
        }
        taken = sorted(present.keys() - made_up)
        if taken:
            raise Refused(_told_taken(taken))
        return present


def _begins(data: Mapping[str, object], definition: Definition) -> bool:
    """Whether it is enabled when it is created, and nobody says more than the definition."""
    said = read_enabled(data)
    return isinstance(definition.trigger, Once) if said is None else said


def _canceled(
    job: Schedule, definition: Definition, at: datetime, reason: str, now: datetime
) -> Run:
    """The record of the run that a one-off job will not have."""
    key = once_key(at, job.version)
    made = Made(key=key, due_at=at, ended_by=RunMove.CANCEL, reason=reason, created_at=now)
    return run_of(job, definition, made, now)


def _told_taken(names: Sequence[str]) -> str:
    return (
        f"there {'is' if len(names) == 1 else 'are'} already {', '.join(names)}: nothing was "
        "added; launch.py schedule edit NAME FILE changes one"
    )


def _why_dropped(event: JournalEvent, row: Row) -> str:
    if event == JournalEvent.SCHEDULE_CHANGED:
        return superseded(row.schedule.version)
    # An agent that disabled it drops them later than a person.
    if event == JournalEvent.SCHEDULE_ENABLED:
        return "its schedule was disabled"
    return off(row.schedule.reason)
