"""Launches runs on request: a new run of a schedule or a process, or failed runs again."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from synergy.commands.run_units import launch_worker
from synergy.commands.schedule_rows import run_of
from synergy.commands.schedule_versions import postpone
from synergy.errors import MessagingUnavailable, Refused
from synergy.lifecycle.legal_moves import RunMove
from synergy.lifecycle.state_changes import advance
from synergy.messaging.protocol import Bus
from synergy.model.actor import Actor
from synergy.model.process import Deployment, FreerunProcess
from synergy.model.run_detail import RunDetail
from synergy.model.schedule import Run, RunChange, RunKind, Schedule, run_id
from synergy.model.switches import is_switched_on
from synergy.names import AGENT_TOPIC
from synergy.program import PROGRAM
from synergy.queries.schedules.run_successors import why_again
from synergy.schedule.definition import Definition
from synergy.schedule.progress.state import Made
from synergy.schedule.run_request import request_of
from synergy.storage.protocol import Batch, Store


class RunLauncher:
    """Stores launched runs, and creates units for those of workers; an agent sends the others."""

    def __init__(self, store: Store, bus: Bus, deployment: Deployment) -> None:
        self._store = store
        self._bus = bus
        self._deployment = deployment

    def launch_on_request(
        self,
        run: Run,
        schedule: Schedule | None,
        actor: Actor,
        now: datetime,
        payload: bytes | None = None,
    ) -> None:
        """Launches a run of `run_on_request` or `process_run_on_request`.

        `payload` is one that the run refers to, and that is not stored yet.
        """
        try:
            with self._store.batch() as batch:
                if payload is not None:
                    self._store.payloads.put(payload)
                self._store.runs.create([run], actor.who)
                if schedule is not None:
                    postpone(self._store, schedule, now)
                self._hand_out([run], actor, now, batch)
        except MessagingUnavailable:
            if not self._store.runs.get([run.id]):
                raise
            # It is launched, and its message is sent again later: a second request would be wrong.

    def launch_again(
        self, pairs: Sequence[tuple[Run, Run]], actor: Actor, now: datetime
    ) -> list[Run]:
        """Launches runs again, given as pairs (failed, again); returns the refused failed ones."""
        same = [run for failed, run in pairs if run.id == failed.id]
        new = [run for failed, run in pairs if run.id != failed.id]
        try:
            with self._store.batch() as batch:
                refused = self._store.runs.change(
                    [RunChange(run, why_again(run), actor.who) for run in same]
                )
                self._store.runs.create(new, actor.who)
                self._hand_out(new, actor, now, batch)
        except MessagingUnavailable:
            left = self._not_launched(pairs)
            if len(left) == len(pairs) > 0:
                raise
            return left  # the others are launched; the collector repeats their messages
        ids = {change.run.id for change in refused}
        return [failed for failed, _ in pairs if failed.id in ids]

    def _not_launched(self, pairs: Sequence[tuple[Run, Run]]) -> list[Run]:
        """The failed runs of the pairs whose launch was not written."""
        rows = {row.id: row for row in self._store.runs.get([run.id for _, run in pairs])}
        return [
            failed
            for failed, run in pairs
            if run.id not in rows or (run.id == failed.id and rows[run.id].rev == failed.rev)
        ]

    def _hand_out(self, runs: Sequence[Run], actor: Actor, now: datetime, batch: Batch) -> None:
        batch.after_commit(partial(self._bus.notify, AGENT_TOPIC))
        by_process: dict[str, list[Run]] = {}
        for run in runs:
            if run.is_of_worker:
                by_process.setdefault(run.program, []).append(run)
        for name, some in by_process.items():
            process = self._deployment.freerun()[name]
            launch_worker(self._store, self._bus, some, process, now, actor.who, batch)

    def refuse_if_off(self, process: str) -> None:
        """Raises Refused for a process that is gone or switched off."""
        why = self.why_off(process)
        if why is not None:
            raise Refused(why)

    def why_off(self, name: str) -> str | None:
        """Why a free-run process cannot run: it is gone or switched off; None if it can."""
        process = self._deployment.freerun().get(name)
        if process is None:
            return f"{name} is no free-run process any more"
        if not is_switched_on(process, self._store.controls.all().get(name)):
            return f"{name} is switched off: {PROGRAM} process on {name}"
        return None


def run_on_request(
    schedule: Schedule, definition: Definition, actor: Actor, now: datetime, what: str = "by hand"
) -> Run:
    """A new run of a schedule, launched now; `what` is said about it in its cause."""
    cause = {"remark": actor.remark(what)}
    made = Made(key=_key(), due_at=now, created_at=now, cause=cause)
    run = run_of(schedule, definition, made, now)
    return replace(advance(run, RunMove.LAUNCH, now), request=request_of(run, definition))


def process_run_on_request(
    process: FreerunProcess, schedule: Schedule | None, actor: Actor, now: datetime
) -> Run:
    """A new run of a process, launched now; it counts as one of the schedule, if there is one."""
    name = "" if schedule is None else schedule.name
    definition = schedule.definition if schedule is not None else {}
    key = _key()
    run = Run(
        id=run_id(name, key),
        schedule=name,
        key=key,
        due_at=now,
        version=0 if schedule is None else schedule.version,
        program=process.name,
        created_at=now,
        group=str(definition.get("group", "")),
        request={"process": process.name, "arguments": definition.get("arguments", {})},
        detail=RunDetail(cause={"remark": actor.remark("by hand")}),
    )
    return advance(run, RunMove.LAUNCH, now)


def _key() -> str:
    return RunKind.TRIGGER.key(secrets.token_hex(8))
