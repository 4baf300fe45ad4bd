"""Two trees: a site of four levels, and a client that depends on it."""

from __future__ import annotations

from synergy.model.process import Blocking, StateMachine
from tests.deployments import DAILY, HOURLY, MONTHLY, YEARLY, a_deployment, a_process
from tests.service.scheduler_harness import SchedulerHarness

CONTINUOUS, DISCRETE = StateMachine.CONTINUOUS, StateMachine.DISCRETE


def site_and_client(machine: StateMachine) -> SchedulerHarness:
    """A harness with both trees; the client's process waits for the site's."""
    trees = {"site": site(machine), "client": client(blocking=Blocking.DEPENDENCIES)}
    return SchedulerHarness(a_deployment(trees, {"client": ("site",)}))


def site(machine=DISCRETE, blocking=Blocking.NORMAL, **fields):
    return [
        a_process("Year", YEARLY, source="month", sink="year", state_machine=machine,
                  blocking=blocking, **fields),
        a_process("Month", MONTHLY, source="day", sink="month", state_machine=machine,
                  blocking=blocking, **fields),
        a_process("Day", DAILY, source="hour", sink="day", state_machine=machine,
                  blocking=blocking, **fields),
        a_process("Hour", HOURLY, source="raw", sink="hour", state_machine=machine, **fields),
    ]  # fmt: skip


def client(**fields):
    return [
        a_process("ClientDay", DAILY, source="day", sink="client", **fields),
    ]
