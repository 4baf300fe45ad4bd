"""A followed timetable, moves of its hours, and a count of what is read."""

from __future__ import annotations

from synergy.model.job import JobChange, JobState
from synergy.queries.timetable.follower import TimetableFollower
from synergy.timeperiod import Qualifier
from synergy.timetable.timetable import Timetable
from tests.deployments import HOURLY
from tests.service.scheduler_harness import SchedulerHarness

HOUR, DAY = "SiteHourly", "SiteDaily"


FIRST = Qualifier.HOURLY.parse("2015051700")


def following_of(system: SchedulerHarness, store=None) -> TimetableFollower:
    return TimetableFollower(store or system.store, system.deployment, system.clock)


def move(system, first, last, after, *, before=JobState.EMBRYO, generation=1, **fields) -> None:
    """Moves hours, numbered from the timetable's start."""
    refused = system.store.jobs.move(
        [
            JobChange(
                HOUR, HOURLY, FIRST + first, FIRST + last, before, after, generation, "", "test",
                **fields,
            )
        ],
        system.clock.now(),
    )  # fmt: skip
    assert not refused


def content(timetable: Timetable):
    """The states of all jobs of a timetable, for comparison."""
    return timetable.start, {
        name: (
            place.level.start,
            bytes(place.level.states),
            {at: n for at, n in place.level.generations.items() if place.level.holds(at)},
            place.level.frontier,
            list(place.level.counts),
        )
        for name, place in timetable.places.items()
    }


class ReadCounter:
    """Counts how often rows of jobs are read, and of which processes."""

    def __init__(self, system: SchedulerHarness) -> None:
        self.reads: list[list[str] | None] = []
        load = system.store.jobs.load

        def counted(processes=None):
            self.reads.append(processes)
            return load(processes)

        system.store.jobs.load = counted
