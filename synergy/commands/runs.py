"""Asking for something of runs: launch one by hand, launch one again, cancel one.

What was launched is handed out by an agent, or, if a worker carries it out, at once. A run that
was sent, and failed, is launched again under its own key, so that receivers can tell. The unit
of a run that a worker carried out is finished for good; what is launched again is a run of its
own, for the same due time, and there is one such successor of each failed run.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from synergy.commands.events import take
from synergy.commands.jobs import TRIES, Actor
from synergy.commands.run_units import launch_worker
from synergy.commands.schedule_rows import Overtaken, destination, overtaken_if
from synergy.commands.schedule_versions import put_off
from synergy.delivery.addresses import IpNetwork
from synergy.delivery.definition_checks import known
from synergy.errors import MessagingUnavailable, NotFound, Refused
from synergy.lifecycle.moves import advance, move_unit
from synergy.lifecycle.transitions import RunMove, UnitMoveName
from synergy.messaging.protocol import Bus
from synergy.model.process import Deployment
from synergy.model.run_detail import RunDetail
from synergy.model.schedule import Run, RunChange, RunKind, RunState, Schedule, run_id
from synergy.model.switches import is_switched_on
from synergy.model.unit_of_work import UnitOfWork, UnitState
from synergy.names import AGENT_TOPIC
from synergy.queries.schedules.event_effects import Taken
from synergy.queries.schedules.near_names import no_schedule
from synergy.queries.schedules.retries import (
    PAGE,
    launched_again,
    successor_id,
    successors,
    why_again,
)
from synergy.schedule.definition import Definition, WorkerProgram
from synergy.schedule.format.read import InvalidDefinition, read
from synergy.schedule.run_request import request_of
from synergy.storage.protocol import Batch, Store


class RunCommands:
    """What may be asked of runs; see `ScheduleActions`."""

    def __init__(
        self,
        store: Store,
        bus: Bus,
        deployment: Deployment,
        networks: Sequence[IpNetwork] | None = None,
    ) -> None:
        """`networks` are those that webhooks may reach although private; None: not judged here."""
        self._networks = networks
        self._store = store
        self._bus = bus
        self._deployment = deployment

    def schedule(self, name: str) -> Schedule:
        """A schedule as it is stored; raises NotFound."""
        found = self._store.schedules.get([name])
        if not found:
            raise no_schedule(self._store, name)
        return found[0]

    def run(self, id_: str) -> Run:
        """A run as it is stored; raises NotFound."""
        found = self._store.runs.get([id_])
        if not found:
            raise NotFound("run", id_, "launch.py schedule runs shows which there are")
        return found[0]

    def tell(
        self, item: Mapping[str, object], actor: Actor, now: datetime, *, dry_run: bool = False
    ) -> Taken:
        """Takes one event; see `happenings.take`."""
        return take(self._store, self._bus, [item], actor, now, dry_run=dry_run)[0]

    def trigger(self, name: str, actor: Actor, now: datetime, *, dry_run: bool = False) -> str:
        """Runs a schedule now, enabled or not, whatever its constraints say; returns the run's id.

        Two triggers are two runs. Raises Refused if its program is gone, or switched off.
        """
        schedule = self.schedule(name)
        definition = self._definition(schedule, "run")
        run = _by_hand(schedule, definition, actor, now)
        if isinstance(definition.program, WorkerProgram):
            self._refuse_if_off(definition.program.process)
        if not dry_run:
            try:
                with self._store.batch() as batch:
                    self._store.runs.create([run], actor.who)
                    put_off(self._store, schedule, now)
                    self._hand_out([run], actor, now, batch)
            except MessagingUnavailable:
                if not self._store.runs.get([run.id]):
                    raise  # else it is launched, and told of later: to ask again would be a mistake
        return run.id

    def retry(self, id_: str, actor: Actor, now: datetime, *, dry_run: bool = False) -> Run:
        """Launches a failed run again, with a fresh budget; returns the run that is launched.

        Raises Refused for a run in another state.
        """
        run = self.run(id_)
        if run.state is not RunState.FAILED:
            raise Refused(f"run {id_} is {run.state.value}: only what has failed is launched again")
        again = self._again(run, actor, now)
        if again is None:
            raise Refused(f"run {id_} was launched again already, as {successor_id(run)}")
        if run.is_of_worker:
            self._refuse_if_off(run.program)
        if not dry_run and self._launch([(run, again)], actor, now):
            raise Refused(f"run {id_} was changed meanwhile; look again")
        return again

    def replay(
        self, schedule: str | None, actor: Actor, now: datetime, *, dry_run: bool = False
    ) -> list[Run]:
        """Launches all again that failed, of one schedule or of all; returns those launched.

        What was launched again before is left alone, and so are runs whose process is gone or
        switched off.
        """
        if schedule is not None:
            self.refuse_unknown(schedule)
        launched: list[Run] = []
        for page in self._pages(schedule, RunState.FAILED):
            pairs = self._again_all(page, actor, now)
            refused = [] if dry_run else self._launch(pairs, actor, now)
            gone = {run.id for run in refused}
            launched += [again for run, again in pairs if run.id not in gone]
        return launched

    def cancel(self, id_: str, actor: Actor, now: datetime, *, dry_run: bool = False) -> Run:
        """Cancels a run that waits, or that was launched and has not begun.

        Raises Refused for one that is just being sent or worked on, or has ended.
        """
        for _ in range(TRIES):
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
        """The unit first: a worker may just have begun; how it ends, the run ends."""
        with self._store.batch() as batch:
            if unit is not None and not unit.state.is_finished:
                move = move_unit(unit, UnitMoveName.CANCEL, canceled.reason, actor.who)
                overtaken_if(self._store.units.move([move], now))
            change = RunChange(canceled, canceled.reason, actor.who)
            overtaken_if(self._store.runs.change([change]))
            batch.after_commit(self._wake)

    # Launching again

    def _again(self, run: Run, actor: Actor, now: datetime) -> Run | None:
        """The run that takes up a failed one; None if there is one already."""
        pairs = self._again_all([run], actor, now, is_any=True)
        return pairs[0][1] if pairs else None

    def _again_all(
        self, runs: Sequence[Run], actor: Actor, now: datetime, *, is_any: bool = False
    ) -> list[tuple[Run, Run]]:
        taken_up = successors(self._store, runs)
        remark = _remark("launched again", actor)
        programs = {run.program for run in runs if run.is_of_worker}
        off = set() if is_any else {name for name in programs if self._why_off(name)}
        return [
            (run, launched_again(run, remark, now))
            for run in runs
            if successor_id(run) not in taken_up and not (run.is_of_worker and run.program in off)
        ]

    def _launch(self, pairs: Sequence[tuple[Run, Run]], actor: Actor, now: datetime) -> list[Run]:
        """Launches those on the right for those on the left; returns the left ones refused."""
        again = [run for before, run in pairs if run.id == before.id]
        new = [run for before, run in pairs if run.id != before.id]
        try:
            with self._store.batch() as batch:
                refused = self._store.runs.change(
                    [RunChange(run, why_again(run), actor.who) for run in again]
                )
                self._store.runs.create(new, actor.who)
                self._hand_out(new, actor, now, batch)
        except MessagingUnavailable:
            left = self._not_launched(pairs)
            if len(left) == len(pairs) > 0:
                raise
            return left  # the others are launched, and told of later
        gone = {change.run.id for change in refused}
        return [before for before, _ in pairs if before.id in gone]

    def _not_launched(self, pairs: Sequence[tuple[Run, Run]]) -> list[Run]:
        """Those on the left whose right one is not as it was to be written."""
        rows = {row.id: row for row in self._store.runs.get([run.id for _, run in pairs])}
        return [
            before
            for before, run in pairs
            if run.id not in rows or (run.id == before.id and rows[run.id].rev == before.rev)
        ]

    def _hand_out(self, runs: Sequence[Run], actor: Actor, now: datetime, batch: Batch) -> None:
        """Gives launched runs to their workers; the others an agent gives to who sends them."""
        by_process: dict[str, list[Run]] = {}
        for run in runs:
            if run.is_of_worker:
                by_process.setdefault(run.program, []).append(run)
        for name, some in by_process.items():
            process = self._deployment.freerun()[name]
            launch_worker(self._store, self._bus, some, process, now, actor.who, batch)
        batch.after_commit(self._wake)

    # Looking

    def _definition(self, schedule: Schedule, what: str) -> Definition:
        """What it is defined as; raises Refused if that makes no sense any more."""
        try:
            return read(schedule.definition, known(self._deployment.processes))
        except InvalidDefinition as error:
            why = "; ".join(error.mistakes)
            raise Refused(f"{schedule.name} cannot be {what}: {why}") from None

    def _pages(self, schedule: str | None, state: RunState) -> Iterator[list[Run]]:
        """All runs in a state; those of a page may leave it before the next one is asked for."""
        cursor: str | None = None
        while True:
            page, cursor = self._store.runs.find(schedule, state, PAGE, cursor)
            yield page
            if cursor is None:
                return

    def refuse_unknown(self, schedule: str) -> None:
        """Raises NotFound for a name that is no schedule's, and has no runs from before."""
        if not self._store.runs.find(schedule, limit=1)[0]:
            self.schedule(schedule)

    def _refuse_if_off(self, process: str) -> None:
        why = self._why_off(process)
        if why is not None:
            raise Refused(why)

    def _why_off(self, name: str) -> str | None:
        process = self._deployment.freerun().get(name)
        if process is None:
            return f"{name} is no free-run process any more"
        if not is_switched_on(process, self._store.controls.all().get(name)):
            return f"{name} is switched off: launch.py process on {name}"
        return None

    def _wake(self) -> None:
        self._bus.notify(AGENT_TOPIC)


def _by_hand(schedule: Schedule, definition: Definition, actor: Actor, now: datetime) -> Run:
    key = RunKind.TRIGGER.key(secrets.token_hex(8))
    run = Run(
        id=run_id(schedule.name, key),
        schedule=schedule.name,
        key=key,
        due_at=now,
        version=schedule.version,
        program=destination(definition.program),
        created_at=now,
        group=definition.group,
        priority=definition.priority,
        detail=RunDetail(cause={"remark": _remark("by hand", actor)}),
    )
    launched = advance(run, RunMove.LAUNCH, now)
    return replace(launched, request=request_of(run, definition))


def _remark(what: str, actor: Actor) -> str:
    return f"{what}, {actor.who}" + (f": {actor.why}" if actor.why else "")


def _refuse_if_begun(run: Run, unit: UnitOfWork | None) -> None:
    if run.state.is_finished:
        raise Refused(f"run {run.id} is {run.state.value}: it has ended")
    if run.owner is not None:
        raise Refused(f"run {run.id} is just being sent: wait for its answer")
    if unit is not None and unit.state is UnitState.IN_PROGRESS:
        raise Refused(
            f"run {run.id} is being worked on: launch.py unit cancel {unit.id} takes it away"
        )
    if unit is not None and unit.state.is_finished and unit.state is not UnitState.CANCELED:
        raise Refused(f"run {run.id} has ended as {unit.state.value}")
