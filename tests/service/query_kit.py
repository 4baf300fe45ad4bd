"""A site of hours and days with a daemon, and queries of it."""

from __future__ import annotations

from synergy.model.process import DaemonProcess, Deployment
from synergy.queries.reads import Reads
from tests.deployments import DAILY, HOURLY, a_deployment, a_process
from tests.service.scheduler_harness import SchedulerHarness

EVENTS = DaemonProcess(
    name="Events", classname="x.Y.start", token="e", present_on_boxes=(".*",), instances=2
)


def a_site(**hourly) -> Deployment:
    return a_deployment(
        {
            "site": [
                a_process("Day", DAILY, source="hour", sink="day", trigger_frequency="every 600"),
                a_process("Hour", HOURLY, source="raw", sink="hour", **hourly),
            ]
        }
    )


def a_watched_site() -> SchedulerHarness:
    """A system of the site with its daemon."""
    declared = a_site()
    return SchedulerHarness(Deployment({**declared.processes, "Events": EVENTS}, declared.trees))


def reads_of(system: SchedulerHarness) -> Reads:
    return Reads(system.store, system.bus, system.deployment, system.clock)
