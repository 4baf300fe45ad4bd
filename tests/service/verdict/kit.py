"""A system of hours under days, and the verdict on it."""

from __future__ import annotations

from datetime import UTC, datetime

from synergy.model.box import ObservedProcess
from synergy.model.process import Blocking
from synergy.model.unit_of_work import Hint
from synergy.queries.reads import Reads
from synergy.worker.outcome import Processed
from tests.deployments import DAILY, HOURLY, a_deployment, a_process
from tests.service.audits import audit
from tests.service.scheduler_harness import SchedulerHarness

NOON = datetime(2015, 5, 17, 12, 0, tzinfo=UTC)


BAD = "2015051705"


def a_system(now=NOON, hour=None, **fields):
    """Hours under days, from midnight of 17 May 2015 on."""
    processes = [
        a_process("Days", DAILY, blocking=Blocking.CHILDREN),
        a_process("Hours", HOURLY, max_attempts=3, retry_backoff=1.0, **(hour or {})),
    ]
    return SchedulerHarness(
        a_deployment({"site": processes}), start="2015051700", now=now, **fields
    )


def done(_task):
    return Processed({"rows": 1})


def fails_at(*periods):
    def work(task):
        if task.timeperiod in periods:
            raise OSError("no such host")
        return Processed({"rows": 1})

    return work


def settle(system, work=done):
    """Runs until nothing is left to do, with all attempts of failing work."""
    for name in system.deployment.managed():
        system.runner(name, work)
    system.settle()
    for _ in range(1 if work is done else 5):
        system.advance(61)
        system.settle()
    system.clock.advance(300)  # the deployment no longer counts as new
    system.settle()


def look(system, **options):
    reads = Reads(system.store, system.bus, system.deployment, system.clock)
    audit(system)
    return reads.verdict(**options)


def kinds(found):
    return [(one.kind.value, one.first.process, one.count) for one in found.findings]


def commands(finding):
    return [help_.command for help_ in finding.helps]


def _hint(unit):
    return Hint(unit.id, unit.attempt)


def report(system, *states, **fields):
    now = system.clock.now()
    values = {"since": now, **fields}
    seen = [ObservedProcess("b", "Hours", n, s, **values) for n, s in enumerate(states, 1)]
    system.store.boxes.report("b", seen, now)
