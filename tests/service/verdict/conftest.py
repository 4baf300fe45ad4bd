"""The system of the tests of the verdict."""

from __future__ import annotations

import pytest

from tests.service.scheduler_harness import SchedulerHarness
from tests.service.verdict.kit import a_system


@pytest.fixture
def system() -> SchedulerHarness:
    """Hours under days, without history."""
    return a_system()
