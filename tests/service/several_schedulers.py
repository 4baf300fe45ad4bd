"""Several schedulers of one system that run in turns."""

from __future__ import annotations

from collections.abc import Callable

from synergy.model.process import Blocking
from synergy.scheduler.scheduler import Scheduler
from tests.deployments import DAILY, HOURLY, a_deployment, a_process
from tests.service.scheduler_harness import SchedulerHarness

STEP = 2.0  # seconds between two turns


SOON = 120.0  # seconds within which the trees of a lost scheduler get another leader


TREES = ("one", "two", "three", "four", "after")


HOUR = "2015051701"


def five_trees() -> SchedulerHarness:
    """Four trees of an hourly process, and a daily one that depends on the first."""
    trees = {
        name: [
            a_process(f"{name}-day", DAILY, source=f"{name}-hours", sink=f"{name}-days"),
            a_process(f"{name}-hour", HOURLY, source=name, sink=f"{name}-hours"),
        ]
        for name in TREES[:4]
    }
    after = a_process(
        "after-day", DAILY, source="one-days", sink="after", blocking=Blocking.DEPENDENCIES
    )
    return SchedulerHarness(a_deployment({**trees, "after": [after]}, {"after": ("one",)}))


class SchedulerGroup:
    """Schedulers of one system that run in turns."""

    def __init__(self, system: SchedulerHarness, number: int) -> None:
        self.system = system
        self.all = [system.scheduler]
        self.all += [system.a_scheduler(f"scheduler-{n}") for n in range(2, number + 1)]
        self.paused: set[Scheduler] = set()

    def turn(self) -> None:
        """Runs the schedulers that are not paused until none has anything to do at this instant."""
        for _ in range(1000):
            live = [one for one in self.all if one not in self.paused]
            if min(one.run_once() for one in live) > 0:
                return
        raise AssertionError("the schedulers never come to rest")

    def pass_time(self, seconds: float) -> None:
        while seconds > 0:
            self.system.clock.advance(min(STEP, seconds))
            seconds -= STEP
            self.turn()
            self.system.work()
            self.turn()

    def until(self, what: Callable[[], bool], seconds: float = SOON) -> None:
        self.turn()
        while not what():
            assert seconds > 0, [sorted(one.leads) for one in self.all]
            self.pass_time(STEP)
            seconds -= STEP

    def are_shared(self) -> bool:
        """Whether each tree is led by exactly one scheduler that is not paused."""
        led = sorted(tree for one in self.all if one not in self.paused for tree in one.leads)
        return led == sorted(TREES)

    def leader(self, tree: str) -> Scheduler:
        (found,) = (one for one in self.all if tree in one.leads and one not in self.paused)
        return found
