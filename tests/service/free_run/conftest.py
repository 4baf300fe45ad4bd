"""The system of the tests of free runs."""

from __future__ import annotations

import pytest

from tests.service.free_runs import a_free_process, a_system
from tests.service.scheduler_harness import SchedulerHarness


@pytest.fixture
def system() -> SchedulerHarness:
    """A free-run process with arguments beside a tree of one process."""
    return a_system(a_free_process(arguments={"site": "a", "days": 7}))
