"""Commands about runs: launch one, backfill due times, launch failed ones again, cancel one.

An agent sends what was launched; a worker gets its unit at once. A failed run that was sent is
launched again under its own key, so that receivers can recognize it. The unit of a worker's run
cannot be started again; its retry is a new run for the same due time, at most one for each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime

from synergy.commands.backfill import BackfilledDue, planned
from synergy.commands.events import record_events
from synergy.commands.jobs import ATTEMPTS
from synergy.commands.run_launcher import RunLauncher, process_run_on_request, run_on_request
from synergy.commands.run_values import AS_DEFINED, RunValues
from synergy.commands.schedule_rows import Overtaken, overtaken_if
from synergy.delivery.definition_checks import known
from synergy.errors import Refused
from synergy.lifecycle.legal_moves import RunMove, UnitMove
from synergy.lifecycle.state_changes import advance, move_unit
from synergy.messaging.protocol import Bus
from synergy.model.actor import Actor
from synergy.model.process import Deployment, FreerunProcess
from synergy.model.schedule import Run, RunChange, RunState, Schedule
from synergy.model.unit_of_work import UnitOfWork, UnitState
from synergy.names import AGENT_TOPIC
from synergy.program import PROGRAM
from synergy.queries.schedules.event_effects import RecordedEvent
from synergy.queries.schedules.listing import own_schedules
from synergy.queries.schedules.lookup import refuse_unknown, stored_run, stored_schedule
from synergy.queries.schedules.run_successors import (
    launched_again,
    run_pages,
    successor_id,
    successors,
)
from synergy.schedule.check_context import InvalidDefinition
from synergy.schedule.definition import Definition, WorkerProgram
from synergy.schedule.format.read import read
from synergy.storage.protocol import Store


class RunCommands:
    """Changes runs; with `dry_run` each method checks and answers the same, but changes nothing."""

    def __init__(self, store: Store, bus: Bus, deployment: Deployment) -> None:
        self._store = store
        self._bus = bus
        self._deployment = deployment
        self._launcher = RunLauncher(store, bus, deployment)

    def schedule(self, name: str) -> Schedule:
        """A schedule as it is stored; raises NotFound."""
        return stored_schedule(self._store, name)

    def run(self, id_: str) -> Run:
        """A run as it is stored; raises NotFound."""
        return stored_run(self._store, id_)

    def record_event(
        self, item: Mapping[str, object], actor: Actor, now: datetime, *, dry_run: bool = False
    ) -> RecordedEvent:
        """Stores one event; see `record_events`."""
        return record_events(self._store, self._bus, [item], actor, now, dry_run=dry_run)[0]

    def trigger(
        self,
        name: str,
        actor: Actor,
        now: datetime,
        values: RunValues = AS_DEFINED,
        *,
        dry_run: bool = False,
    ) -> str:
        """Runs a schedule now, enabled or not, regardless of its constraints; returns the run's id.

        Two triggers are two runs. Raises InvalidDefinition for values that it cannot have, and
        Refused if its definition is not valid any more, or its process is switched off.
        """
        schedule = self.schedule(name)
        self._definition(schedule, "run")
        processes = known(self._deployment.processes)
        definition, payload = values.applied(schedule.definition, processes, self._store)
        run = run_on_request(schedule, definition, actor, now, values.remark)
        if isinstance(definition.program, WorkerProgram):
            self._launcher.refuse_if_off(definition.program.process)
        if not dry_run:
            self._launcher.launch_on_request(run, schedule, actor, now, payload)
        return run.id

    def backfill(
        self,
        name: str,
        start: datetime,
        end: datetime,
        actor: Actor,
        now: datetime,
        *,
        dry_run: bool = False,
    ) -> list[BackfilledDue]:
        """Makes runs for the due times in `[start, end)` that no run has done; see `planned`.

        Raises InvalidValue for a time that is not past or has too many due times, and Refused for
        a schedule that is disabled, has no repeated times, or whose process is switched off.
        """
        schedule = self.schedule(name)
        definition = self._definition(schedule, "run")
        if not schedule.is_enabled:
            raise Refused(
                f"{name} is disabled, so its runs would be dropped: "
                f"{PROGRAM} schedule enable {name}"
            )
        if isinstance(definition.program, WorkerProgram):
            self._launcher.refuse_if_off(definition.program.process)
        with nullcontext() if dry_run else self._store.batch() as batch:
            found = planned(self._store, schedule, definition, start, end, actor, now)
            runs = [one.made for one in found if one.made is not None]
            if batch is not None and runs:
                self._store.runs.create(runs, actor.who)
                batch.after_commit(self._wake)
        return [one.shown(dry_run=dry_run) for one in found]

    def trigger_process(
        self, process: FreerunProcess, actor: Actor, now: datetime, *, dry_run: bool = False
    ) -> Run:
        """Runs a process now, beside its other runs; returns the run, a new one each time.

        It counts as a run of the schedule of the process's own name, if there is one. Raises
        Refused while the process is switched off.
        """
        self._launcher.refuse_if_off(process.name)
        schedule = own_schedules(self._store, [process.name]).get(process.name)
        run = process_run_on_request(process, schedule, actor, now)
        if not dry_run:
            self._launcher.launch_on_request(run, schedule, actor, now)
        return run

    def retry(self, id_: str, actor: Actor, now: datetime, *, dry_run: bool = False) -> Run:
        """Launches a failed run again, with a fresh budget; returns the launched run.

        Raises Refused for a run in another state, for one that was launched again before, and for
        one whose process is gone or switched off.
        """
        run = self.run(id_)
        if run.state is not RunState.FAILED:
            raise Refused(f"run {id_} is {run.state.value}: only what has failed is launched again")
        again = self._again(run, actor, now)
        if again is None:
            raise Refused(f"run {id_} was launched again already, as {successor_id(run)}")
        if run.is_of_worker:
            self._launcher.refuse_if_off(run.program)
        if not dry_run and self._launcher.launch_again([(run, again)], actor, now):
            raise Refused(f"run {id_} was changed meanwhile; look again")
        return again

    def replay(
        self, schedule: str | None, actor: Actor, now: datetime, *, dry_run: bool = False
    ) -> list[Run]:
        """Launches all failed runs again, of one schedule or of all; returns those launched.

        Runs that were launched again before are left alone, and so are runs whose process is gone
        or switched off.
        """
        if schedule is not None:
            refuse_unknown(self._store, schedule)
        launched: list[Run] = []
        for page in run_pages(self._store, schedule, RunState.FAILED):
            pairs = self._again_all(page, actor, now)
            refused = [] if dry_run else self._launcher.launch_again(pairs, actor, now)
            not_launched = {run.id for run in refused}
            launched += [again for run, again in pairs if run.id not in not_launched]
        return launched

    def cancel(self, id_: str, actor: Actor, now: datetime, *, dry_run: bool = False) -> Run:
        """Cancels a run that waits, or that was launched and has not begun.

        Raises Refused for one that is being sent or carried out, or has ended.
        """
        for _ in range(ATTEMPTS):
            run = self.run(id_)
            unit = next(iter(self._store.units.get([id_])), None)
            _refuse_if_begun(run, unit)
            reason = actor.why or f"canceled by {actor.who}"
            canceled = advance(run, RunMove.CANCEL, now, reason)
            try:
                if not dry_run:
                    self._cancel(canceled, unit, actor, now)
            except Overtaken:
                continue
            return canceled
        raise Refused(f"run {id_} keeps changing; nothing was done: try again")

    def _cancel(self, canceled: Run, unit: UnitOfWork | None, actor: Actor, now: datetime) -> None:
        """Cancels the unit first: if a worker has just begun it, the run ends as the unit does."""
        with self._store.batch() as batch:
            if unit is not None and not unit.state.is_finished:
                move = move_unit(unit, UnitMove.CANCEL, canceled.reason, actor.who)
                overtaken_if(self._store.units.move([move], now))
            change = RunChange(canceled, canceled.reason, actor.who)
            overtaken_if(self._store.runs.change([change]))
            batch.after_commit(self._wake)

    def _again(self, run: Run, actor: Actor, now: datetime) -> Run | None:
        """The run that repeats a failed one; None if it was launched again before."""
        pairs = self._again_all([run], actor, now, with_off=True)
        return pairs[0][1] if pairs else None

    def _again_all(
        self, runs: Sequence[Run], actor: Actor, now: datetime, *, with_off: bool = False
    ) -> list[tuple[Run, Run]]:
        """The runs that were not launched again, with the runs that repeat them.

        Runs whose process is gone or switched off are left out without `with_off`.
        """
        repeated = successors(self._store, runs)
        remark = actor.remark("launched again")
        programs = {run.program for run in runs if run.is_of_worker}
        off = set() if with_off else {name for name in programs if self._launcher.why_off(name)}
        return [
            (run, launched_again(run, remark, now))
            for run in runs
            if successor_id(run) not in repeated and not (run.is_of_worker and run.program in off)
        ]

    def _definition(self, schedule: Schedule, what: str) -> Definition:
        """The schedule's definition; raises Refused if it is not valid any more."""
        try:
            return read(schedule.definition, known(self._deployment.processes))
        except InvalidDefinition as error:
            why = "; ".join(error.mistakes)
            raise Refused(f"{schedule.name} cannot be {what}: {why}") from None

    def _wake(self) -> None:
        self._bus.notify(AGENT_TOPIC)


def _refuse_if_begun(run: Run, unit: UnitOfWork | None) -> None:
    if run.state.is_finished:
        raise Refused(f"run {run.id} is {run.state.value}: it has ended")
    if run.owner is not None:
        raise Refused(f"run {run.id} is just being sent: wait for its answer")
    if unit is not None and unit.state is UnitState.IN_PROGRESS:
        raise Refused(
            f"run {run.id} is being worked on: {PROGRAM} unit cancel {unit.id} cancels it"
        )
    if unit is not None and unit.state.is_finished and unit.state is not UnitState.CANCELED:
        raise Refused(f"run {run.id} has ended as {unit.state.value}")
