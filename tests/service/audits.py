"""Audits of a system whose result is kept in its store, as commands make them."""

from __future__ import annotations

from synergy.commands.audits import audited
from synergy.queries.reads import Reads
from tests.service.scheduler_harness import SchedulerHarness


def audit(system: SchedulerHarness) -> None:
    """Makes one, and stores its result."""
    reads = Reads(system.store, system.bus, system.deployment, system.clock)
    audited(system.store, reads.audit, system.clock, lambda _done, _total: None)
