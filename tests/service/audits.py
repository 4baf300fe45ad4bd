"""Audits a system and stores the result, as commands do."""

from __future__ import annotations

import pytest

from synergy.commands.audits import audited
from synergy.queries.reads import Reads
from tests.service.scheduler_harness import SchedulerHarness


def audit(system: SchedulerHarness) -> None:
    """Audits the system and stores the result."""
    reads = Reads(system.store, system.bus, system.deployment, system.clock)
    audited(system.store, reads.audit, system.clock, lambda _done, _total: None, pytest.fail)
