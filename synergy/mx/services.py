"""The services that handlers of MX use: queries, commands, logs.

MX reads the store, not the memory of a scheduler, so any number of MX processes may run.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated, cast

from fastapi import Depends, Request
from prometheus_client import CollectorRegistry

from synergy.audit_log.files import AuditLog
from synergy.clock import Clock
from synergy.commands.audits import store_audit
from synergy.commands.bulk import Bulk
from synergy.commands.idempotency import KeptAnswers
from synergy.commands.maintenance import Maintenance
from synergy.commands.operations import Operations
from synergy.commands.processes import ProcessCommands
from synergy.commands.schedules import ScheduleCommands
from synergy.commands.timetable import TimetableCommands
from synergy.commands.units import UnitCommands
from synergy.delivery.addresses import AddressRules
from synergy.model.process import Deployment
from synergy.mx.access import Person, Role
from synergy.mx.background_audit import BackgroundAudit
from synergy.mx.request_metrics import Traffic
from synergy.mx.stream import Stream
from synergy.queries.health.readiness import Health
from synergy.queries.health.verdict import Verdict
from synergy.queries.logs.files import LogFiles
from synergy.queries.metrics.activity import Activity
from synergy.queries.metrics.agents import AgentMetrics
from synergy.queries.metrics.deployment import DeploymentMetrics
from synergy.queries.reads import Reads
from synergy.queries.schedules.reads import ScheduleReads
from synergy.queries.timetable.follower import TimetableFollower
from synergy.runtime.workplace import Workplace


@dataclass(frozen=True, slots=True)
class Services:
    """Queries and commands of an open deployment; may be used by several threads.

    `home` is the folder with the logs of `box`, the box of this MX.
    """

    reads: Reads
    audits: BackgroundAudit
    bulk: Bulk
    timetable_commands: TimetableCommands
    unit_commands: UnitCommands
    operations: Operations
    kept_answers: KeptAnswers
    maintenance: Maintenance
    health: Health
    activity: Activity
    stream: Stream
    traffic: Traffic
    metrics: CollectorRegistry
    schedules: ScheduleReads  # without what only operators may see
    full_schedules: ScheduleReads
    schedule_commands: ScheduleCommands
    process_commands: ProcessCommands
    logs: LogFiles
    audit_log: AuditLog
    deployment: Deployment
    clock: Clock
    home: Path
    box: str

    @staticmethod
    def at(place: Workplace) -> Services:
        """The services of a workplace. The workplace owns store and bus, and closes them."""
        store, bus, deployment, clock = place.store, place.bus, place.deployment, place.clock
        rules = AddressRules(place.webhook_networks, place.webhook_plaintext)
        following = TimetableFollower(store, deployment, clock)
        bulk = Bulk(store, bus, deployment, following.timetable)
        reads = Reads(store, bus, deployment, clock, following.timetable)
        stream, activity = Stream(reads, clock), Activity(store, deployment, clock)
        audits = BackgroundAudit(reads.audit, clock, partial(store_audit, store))
        registry = CollectorRegistry()
        of_deployment = DeploymentMetrics(reads, audits.standing, deployment, clock)
        for collector in (of_deployment, AgentMetrics(store), activity):
            registry.register(collector)
        return Services(
            reads=reads,
            audits=audits,
            bulk=bulk,
            timetable_commands=TimetableCommands(store, bus, deployment),
            unit_commands=UnitCommands(store, bus, deployment),
            operations=Operations(store, bulk, clock, place.owner, place.retention.operations),
            kept_answers=KeptAnswers(store, place.owner, place.retention.answers),
            maintenance=Maintenance(store, bus, deployment),
            health=Health(store, bus, deployment, clock),
            activity=activity,
            stream=stream,
            traffic=Traffic(registry, lambda: stream.listeners),
            metrics=registry,
            schedules=ScheduleReads(store, deployment, clock, for_viewers=True),
            full_schedules=ScheduleReads(store, deployment, clock),
            schedule_commands=ScheduleCommands(store, bus, deployment, rules),
            process_commands=ProcessCommands(store, bus, deployment),
            logs=LogFiles(place.home, deployment),
            audit_log=AuditLog(place.home, clock),
            deployment=deployment,
            clock=clock,
            home=place.home,
            box=place.box,
        )

    def verdict(self) -> Verdict:
        """The verdict on the deployment. Starts an audit in the background if one is due."""
        return self.reads.verdict(is_auditing=self.audits.standing().is_running)

    def schedules_for(self, person: Person) -> ScheduleReads:
        """The queries of schedules with what the person may see of requests."""
        return self.full_schedules if person.role.may(Role.OPERATOR) else self.schedules

    @property
    def now(self) -> datetime:
        return self.clock.now()


async def _services(request: Request) -> Services:
    return cast(Services, request.app.state.services)


ServicesDep = Annotated[Services, Depends(_services)]
"""The services, as an argument of a handler."""
