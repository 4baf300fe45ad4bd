"""A scheduler on an upgraded store that an older version wrote."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from synergy.model.job import STATE_MASK, JobState
from synergy.names import TIMETABLE_START
from synergy.queries.timetable.causes import Kind
from synergy.storage.sqlite import SqliteStore
from tests.contract.older_stores import CASES, write_sqlite
from tests.deployments import DAILY, HOURLY, a_deployment, a_process
from tests.service.scheduler_harness import OPERATOR, SchedulerHarness

START, DAY_AFTER = "2015051700", datetime(2015, 5, 18, 1, tzinfo=UTC)
GIVEN_UP_HOUR, SKIPPED_HOUR, LATER_HOUR = "2015051700", "2015051702", "2015051718"


@pytest.fixture
def system(tmp_path: Path) -> Iterator[SchedulerHarness]:
    write_sqlite(tmp_path / "synergy.db")
    deployment = a_deployment(
        {
            "hours": [a_process("Hourly", HOURLY, source="visits", sink="hours")],
            "days": [a_process("Daily", DAILY, source="visits", sink="days")],
        }
    )
    with closing(SqliteStore.open(tmp_path / "synergy.db")) as store:
        store.facts.set(TIMETABLE_START, START)
        system = SchedulerHarness(deployment, START, DAY_AFTER, store)
        system.settle()
        yield system


def test_a_scheduler_keeps_jobs_that_an_upgrade_marked(
    system: SchedulerHarness,
) -> None:
    ended = (JobState.SKIPPED, JobState.GIVEN_UP)
    cases = [c for c in CASES if c.process == "Hourly" and c.timeperiod < "2015051800"]
    kept = [case for case in cases if case.after & STATE_MASK in ended]
    assert len(kept) > 10
    for case in kept:
        assert system.state("Hourly", case.timeperiod) == case.after & STATE_MASK, case.told
    assert system.state("Hourly", LATER_HOUR) is JobState.NOOP
    found = system.audit()
    given_up = [case for case in kept if case.after & STATE_MASK == JobState.GIVEN_UP]
    assert (found.failed, found.given_up) == (0, len(given_up) + 1)  # and a day
    assert not found.is_clean
    cause = system.why("Hourly", GIVEN_UP_HOUR)
    assert cause.kind is Kind.GIVEN_UP
    assert "failed 3 times; last: OSError: disk" in cause.text


def test_late_data_reprocesses_a_given_up_period_but_not_a_skipped_one(
    system: SchedulerHarness,
) -> None:
    for n in range(10):  # the journal says that these jobs stand for the first writes
        system.write("other", LATER_HOUR, n)
    for hour in (GIVEN_UP_HOUR, SKIPPED_HOUR):
        system.write("visits", hour, 1)
    system.advance(60)
    system.settle()
    assert system.state("Hourly", GIVEN_UP_HOUR) is JobState.PROCESSED
    assert system.state("Hourly", SKIPPED_HOUR) is JobState.SKIPPED
    assert system.audit().unseen == 1
    system.reprocess("Hourly", (SKIPPED_HOUR, SKIPPED_HOUR), OPERATOR, system.clock.now())
    system.settle()
    assert system.rows("hours") == {GIVEN_UP_HOUR: 1, SKIPPED_HOUR: 1}
