"""The system of the tests of a followed timetable."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from synergy.names import TIMETABLE_START
from tests.deployments import DAILY, HOURLY, a_deployment, a_process
from tests.service.follower.kit import DAY, HOUR
from tests.service.scheduler_harness import SchedulerHarness


@pytest.fixture
def system() -> SchedulerHarness:
    """A tree of hours and days that begins on 17 May; now is noon of the 18th."""
    day, hour = a_process(DAY, DAILY), a_process(HOUR, HOURLY)
    system = SchedulerHarness(
        a_deployment({"site": [day, hour]}), now=datetime(2015, 5, 18, 12, 0, tzinfo=UTC)
    )
    system.store.facts.set(TIMETABLE_START, "2015051700")
    return system
