"""Commands about schedules: create, replace, remove, enable, disable; and about their runs.

Every change is a compare-and-set on the schedule's row, repeated while others change it, in one
batch with its journal entry and with the end of the jobs that it drops. An agent decides what
follows; it is woken, but need not be running.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import datetime

from synergy.commands.drop_reasons import off, superseded
from synergy.commands.jobs import ATTEMPTS
from synergy.commands.one_off_jobs import canceled_run, run_of_job
from synergy.commands.runs import RunCommands
from synergy.commands.schedule_rows import (
    Overtaken,
    Row,
    Seen,
    begun,
    dropped,
    read_all,
    stopped,
    storable,
)
from synergy.commands.schedule_versions import begun_again, first_versions
from synergy.commands.schedule_writes import ScheduleWriter, names_in_use
from synergy.delivery.addresses import AddressRules
from synergy.errors import Refused
from synergy.messaging.protocol import Bus
from synergy.model.actor import Actor
from synergy.model.journal_event import JournalEvent
from synergy.model.process import Deployment
from synergy.model.schedule import Run, Schedule
from synergy.program import PROGRAM
from synergy.queries.schedules.redaction import kept
from synergy.schedule.check_context import InvalidDefinition, Known
from synergy.schedule.definition import Definition, Once
from synergy.schedule.format.read import read, read_enabled
from synergy.storage.protocol import Store


class ScheduleCommands(RunCommands):
    """Changes schedules and runs.

    With `dry_run` each method checks and answers the same, but changes nothing.
    """

    def __init__(
        self,
        store: Store,
        bus: Bus,
        deployment: Deployment,
        rules: AddressRules | None = None,
    ) -> None:
        """`rules` say where requests may be sent; None skips that check."""
        super().__init__(store, bus, deployment)
        self._rules = rules
        self._writer = ScheduleWriter(store, bus)

    def create(
        self,
        data: Mapping[str, object],
        actor: Actor,
        now: datetime,
        *,
        enable: bool = False,
        dry_run: bool = False,
    ) -> Schedule:
        """Stores a schedule, disabled without `enable`; see `create_all`."""
        return self.create_all([data], actor, now, enable=enable, dry_run=dry_run)[0]

    def create_all(
        self,
        items: Sequence[Mapping[str, object]],
        actor: Actor,
        now: datetime,
        *,
        enable: bool = False,
        dry_run: bool = False,
    ) -> list[Schedule]:
        """Stores schedules: all, or none if any of them is invalid.

        A one-off job is enabled unless its definition says otherwise; a job without a name that
        was stored before is not stored again. Raises InvalidDefinition with the mistakes of all
        of them, and Refused for names in use.
        """
        definitions = read_all(items, self._store, self._deployment, self._rules, now)
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
                if enable or _begins(item, definition):
                    rows.append(begun(new, definition, now, seen, life=new.version))
                else:
                    rows.append(Row(new))
            if not dry_run and rows:
                self._writer.create(rows, actor)
        stored = present | {row.schedule.name: row.schedule for row in rows}
        return [stored[definition.name] for definition in definitions]

    def _writing(self, *, dry_run: bool) -> AbstractContextManager[object]:
        """One batch for a schedule and its payload, which would be unused without the schedule."""
        return nullcontext() if dry_run else self._store.batch()

    def replace(
        self,
        name: str,
        data: Mapping[str, object],
        actor: Actor,
        now: datetime,
        *,
        dry_run: bool = False,
    ) -> Schedule:
        """Replaces a schedule's definition: version + 1, and pending jobs are dropped.

        Its runs are kept; if it is enabled, it begins anew. The same definition changes nothing.
        `***` stands for the present value. Raises InvalidDefinition.
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
        (definition,) = read_all([sent], self._store, self._deployment, self._rules, now)
        return definition

    def remove(self, name: str, actor: Actor, now: datetime, *, dry_run: bool = False) -> Schedule:
        """Removes a schedule; its runs are kept, and its pending jobs are dropped.

        Raises Refused for one that `context.py` declares, because it would come back.
        """
        if name in self._deployment.schedules:
            raise Refused(
                f"{name} is declared in context.py and would come back: take it out there, or "
                f"{PROGRAM} schedule disable {name}"
            )
        for _ in range(ATTEMPTS):
            present = self.schedule(name)
            if dry_run:
                return present
            try:
                self._writer.remove(present, actor, now)
            except Overtaken:
                continue
            return present
        raise Refused(f"{name} keeps changing; nothing was done: try again")

    def enable(self, name: str, actor: Actor, now: datetime, *, dry_run: bool = False) -> Schedule:
        """Enables a schedule, which begins anew; raises Refused if it is enabled already."""

        def enabled(present: Schedule) -> Row:
            if present.is_enabled:
                raise Refused(f"{name} is enabled already")
            definition = self._definition(present, "enabled")
            seen = Seen.by_now(self._store)
            begins = begun_again(self._store, present, present, definition, now, seen)
            # An agent that disabled it did not drop the events that were collected.
            return replace(begins, gone=dropped(present, off(present.reason), now))

        return self._change(
            name, enabled, JournalEvent.SCHEDULE_ENABLED, actor, now, dry_run=dry_run
        )

    def disable(self, name: str, actor: Actor, now: datetime, *, dry_run: bool = False) -> Schedule:
        """Disables a schedule and drops its pending jobs; launched runs continue.

        Raises Refused if it is disabled already.
        """
        reason = actor.why or f"disabled by {actor.who}"

        def disabled(present: Schedule) -> Row:
            if not present.is_enabled:
                raise Refused(
                    f"{name} is disabled already: {present.reason or 'it was never enabled'}"
                )
            return stopped(present, reason, now)

        return self._change(
            name, disabled, JournalEvent.SCHEDULE_DISABLED, actor, now, dry_run=dry_run
        )

    def cancel_job(self, name: str, actor: Actor, now: datetime, *, dry_run: bool = False) -> Run:
        """Cancels a one-off job that has not begun; returns its canceled run.

        Raises Refused for any other schedule, and for a job that was disabled or has run.
        """
        job = self.schedule(name)
        definition = read(job.definition, Known())  # its program may be gone
        if not isinstance(definition.trigger, Once):
            raise Refused(
                f"{name} is no one-off job: {PROGRAM} schedule disable {name}, or cancel a run"
            )
        run = run_of_job(self._store, job, definition)
        if run is not None:
            return self.cancel(run.id, actor, now, dry_run=dry_run)
        reason = actor.why or f"canceled by {actor.who}"
        canceled = canceled_run(job, definition, definition.trigger.at, reason, now)

        def ended(present: Schedule) -> Row:
            if not present.is_enabled:
                raise Refused(f"{name} is disabled already, and does not run")
            return replace(stopped(present, reason, now), gone=(canceled,))

        self._change(name, ended, JournalEvent.SCHEDULE_DISABLED, actor, now, dry_run=dry_run)
        return canceled

    def _change(
        self,
        name: str,
        make: Callable[[Schedule], Row],
        event: JournalEvent,
        actor: Actor,
        now: datetime,
        *,
        dry_run: bool,
    ) -> Schedule:
        """Changes a schedule, repeated while others change it; drops its pending jobs."""
        for _ in range(ATTEMPTS):
            try:
                with self._writing(dry_run=dry_run):
                    present = self.schedule(name)
                    row = make(present)
                    if not dry_run and row.schedule is not present:
                        self._writer.change(row, event, actor, now)
            except Overtaken:
                continue
            return row.schedule
        raise Refused(f"{name} keeps changing; nothing was done: try again")

    def _present(
        self, items: Sequence[Mapping[str, object]], definitions: Sequence[Definition]
    ) -> dict[str, Schedule]:
        """The unnamed ones of these jobs that are stored already.

        Raises Refused if a given name is in use.
        """
        names = [definition.name for definition in definitions]
        present = {schedule.name: schedule for schedule in self._store.schedules.get(names)}
        unnamed = {
            definition.name
            for item, definition in zip(items, definitions, strict=True)
            if item.get("name") is None and item.get("schedule_name") is None
        }
        in_use = sorted(present.keys() - unnamed)
        if in_use:
            raise names_in_use(in_use)
        return present


def _begins(data: Mapping[str, object], definition: Definition) -> bool:
    """Whether a created schedule is enabled according to its definition alone."""
    is_enabled = read_enabled(data)
    return isinstance(definition.trigger, Once) if is_enabled is None else is_enabled
