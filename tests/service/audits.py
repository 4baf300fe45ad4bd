"""Audits of a world whose result is kept in its store, as commands make them."""

from __future__ import annotations

from synergy.commands.audits import audited
from synergy.queries.reads import Reads
from tests.service.scheduler_harness import SchedulerHarness


def audit(world: SchedulerHarness) -> None:
    """Makes one, and stores its result."""
    reads = Reads(world.store, world.bus, world.deployment, world.clock)
    audited(world.store, reads.audit, world.clock, lambda _done, _total: None)
