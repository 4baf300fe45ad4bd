"""Systems with an hour that has failed, or that fails while it is open."""

from __future__ import annotations

from synergy.model.job import JobState
from synergy.model.process import Blocking, StateMachine
from synergy.model.unit_of_work import UnitState
from tests.deployments import DAILY, HOURLY, MONTHLY, a_deployment, a_process
from tests.service.scheduler_harness import SchedulerHarness, copy_rows

BAD = "2015051705"
DAY, MONTH = "2015051700", "2015050000"
NOW = "2015052012"  # the hour that is open when a system begins
CANCELED, DONE = UnitState.CANCELED, UnitState.PROCESSED
FAILED, GIVEN_UP, SKIPPED = JobState.FAILED, JobState.GIVEN_UP, JobState.SKIPPED

PROCESSED = JobState.PROCESSED


def rounds(system, works, count=6):
    """Runs scheduler and workers in turn; `works` holds the work function of each process."""
    for _ in range(count):
        for process, work in works.items():
            system.new_workers()
            system.schedule()
            system.work(process, work=work)
    system.schedule()


def a_system(blocking=Blocking.CHILDREN, machine=StateMachine.DISCRETE, **hour):
    processes = [
        a_process("Month", MONTHLY, source="day", sink="month", blocking=blocking),
        a_process("Day", DAILY, source="hour", sink="day", blocking=blocking),
        a_process("Hour", HOURLY, source="raw", sink="hour", state_machine=machine,
                  **{"max_attempts": 1, **hour}),
    ]  # fmt: skip
    return SchedulerHarness(a_deployment({"site": processes}))


def broken(task):
    if task.timeperiod == BAD:
        raise OSError("no such disk")
    return copy_rows(task)


def fails(_task):
    raise OSError("no such disk")


def settle(system, work):
    system.new_workers()  # the present workers have another work function
    for _ in range(50):
        system.schedule()
        if not system.work("Hour", work=work) + system.work("Day", "Month"):
            return


def a_failed_hour(**fields):
    """A system whose hour BAD has failed, and whose hours before and after it are processed."""
    system = a_system(**fields)
    for hour in ("2015051704", BAD, "2015051706"):
        system.write("raw", hour, 5)
    settle(system, broken)
    return system


def an_open_hour(**fields):
    system = a_system(machine=StateMachine.CONTINUOUS, **fields)
    system.write("raw", NOW, 1)
    system.schedule()
    return system
