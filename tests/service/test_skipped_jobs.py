"""Jobs that an operator skipped."""

from __future__ import annotations

import pytest

from synergy.commands.bulk import BulkVerb
from synergy.model.job import JobState
from synergy.model.process import StateMachine
from tests.service.failed_jobs import (
    BAD,
    DAY,
    NOW,
    SKIPPED,
    a_system,
    an_open_hour,
    broken,
    settle,
)
from tests.service.scheduler_harness import copy_rows


def test_a_skip_holds_against_late_data_until_a_reprocess():
    system = an_open_hour()
    settle(system, copy_rows)
    system.act(BulkVerb.SKIP, "Day", "2015052000")
    assert system.state("Hour", NOW) is SKIPPED
    system.write("raw", NOW, 2, key="second")
    system.advance(20)
    settle(system, copy_rows)
    assert (system.state("Hour", NOW), system.state("Day", "2015052000")) == (SKIPPED, SKIPPED)
    assert system.audit().unseen == 1
    assert "a reprocess brings in" in system.why("Hour", NOW).text
    system.act(BulkVerb.REPROCESS, "Hour", NOW)
    system.advance(13 * 3600)
    settle(system, copy_rows)
    assert system.rows("hour")[NOW] == 3
    assert system.state("Day", "2015052000") is JobState.PROCESSED
    assert system.audit().unseen == 0


@pytest.mark.parametrize("machine", StateMachine)
def test_children_that_begin_later_under_a_skipped_parent_are_skipped_with_its_reason(machine):
    system = a_system(machine=machine)
    system.schedule()
    system.act(BulkVerb.SKIP, "Day", "2015052000")
    system.advance(2 * 3600)
    system.write("raw", "2015052013", 5)
    system.advance(3 * 3600)
    settle(system, copy_rows)
    assert system.state("Hour", "2015052013") is SKIPPED
    entry = next(
        e for e in system.store.journal.of_job("Hour", "2015052013") if e.event == "job.skipped"
    )
    assert entry.why == "Day 2015052000 is skipped: because"
    assert system.unit_states("Hour", "2015052013") == []


def test_late_data_for_a_finished_hour_goes_no_further_than_its_skipped_day():
    system = a_system()
    system.write("raw", BAD, 5)
    system.write("raw", "2015051801", 5)
    settle(system, broken)
    system.act(BulkVerb.SKIP, "Day", DAY)
    settle(system, copy_rows)
    system.act(BulkVerb.REPROCESS, "Hour", "2015051801")
    settle(system, copy_rows)
    assert system.state("Hour", "2015051704") is JobState.NOOP
    system.write("raw", "2015051704", 7)
    system.advance(30)
    settle(system, copy_rows)
    assert system.state("Hour", "2015051704") is JobState.PROCESSED
    assert system.state("Day", DAY) is SKIPPED
    assert system.generation("Day", DAY) == 1
