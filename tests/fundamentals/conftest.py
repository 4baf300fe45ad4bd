"""The system of all lessons: a site's days are made from its hours, a client's days from those.

Everything runs in this thread: the store is in memory, the clock moves only when a test advances
it, and workers work only when a test calls them. The timetable begins on 17 May 2015 at midnight,
UTC; it is noon of 18 May.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from synergy.model.process import Blocking
from tests.deployments import DAILY, HOURLY, a_deployment, a_process
from tests.service.scheduler_harness import SchedulerHarness

DEPLOYMENT = a_deployment(
    {
        "site": [
            a_process("SiteDay", DAILY, source="hours", sink="days", blocking=Blocking.CHILDREN),
            a_process("SiteHour", HOURLY, source="visits", sink="hours", max_attempts=2),
        ],
        "client": [
            a_process(
                "ClientDay", DAILY, source="days", sink="clients", blocking=Blocking.DEPENDENCIES
            )
        ],
    },
    {"client": ("site",)},
)


@pytest.fixture
def system() -> Iterator[SchedulerHarness]:
    made = SchedulerHarness(DEPLOYMENT, now=datetime(2015, 5, 18, 12, tzinfo=UTC))
    yield made
    made.close()
