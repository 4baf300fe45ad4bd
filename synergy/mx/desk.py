"""What the handlers of MX work with: one place to look, one place to ask.

MX reads the store, not the memory of any scheduler, so it runs alone, twice, or not at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, cast

from fastapi import Depends, Request

from synergy.clock import Clock
from synergy.insight.actions import Actions
from synergy.insight.answering import Answering
from synergy.insight.bulk import Bulk
from synergy.insight.following import Following
from synergy.insight.health import Health
from synergy.insight.log_files import LogFiles
from synergy.insight.operations import Operations
from synergy.insight.process_actions import ProcessActions
from synergy.insight.reads import Reads
from synergy.insight.schedule_reads import ScheduleReads
from synergy.insight.schedules import ScheduleActions
from synergy.insight.upkeep import Upkeep
from synergy.model.process import Deployment
from synergy.mx.stream import Stream
from synergy.mx.traffic import Traffic
from synergy.runtime.workplace import Workplace


@dataclass(frozen=True, slots=True)
class Desk:
    """An open deployment, as MX sees it. All of it may be used by several threads.

    `home` is the folder that holds the logs of this box.
    """

    reads: Reads
    actions: Actions
    bulk: Bulk
    operations: Operations
    answering: Answering
    upkeep: Upkeep
    health: Health
    traffic: Traffic
    stream: Stream
    schedules: ScheduleReads
    schedule_actions: ScheduleActions
    process_actions: ProcessActions
    logs: LogFiles
    deployment: Deployment
    clock: Clock
    home: Path
    box: str

    @staticmethod
    def at(place: Workplace) -> Desk:
        """A desk at a workplace; store and bus stay the workplace's, which closes them."""
        store, bus, deployment, clock = place.store, place.bus, place.deployment, place.clock
        following = Following(store, deployment, clock)
        bulk = Bulk(store, bus, deployment, following.timetable)
        reads = Reads(store, bus, deployment, clock, following.timetable)
        return Desk(
            reads=reads,
            actions=Actions(store, bus, deployment),
            bulk=bulk,
            operations=Operations(store, bulk, clock, place.owner),
            answering=Answering(store, place.owner),
            upkeep=Upkeep(store, bus, deployment),
            health=Health(store, bus, deployment, clock),
            traffic=Traffic(),
            stream=Stream(reads, clock),
            schedules=ScheduleReads(store, deployment, clock),
            schedule_actions=ScheduleActions(store, bus, deployment, place.webhook_networks),
            process_actions=ProcessActions(store, bus, deployment),
            logs=LogFiles(place.home, deployment),
            deployment=deployment,
            clock=clock,
            home=place.home,
            box=place.box,
        )

    @property
    def now(self) -> datetime:
        return self.clock.now()


async def _desk(request: Request) -> Desk:
    return cast(Desk, request.app.state.desk)


AtDesk = Annotated[Desk, Depends(_desk)]
"""The desk, as an argument of a handler."""
