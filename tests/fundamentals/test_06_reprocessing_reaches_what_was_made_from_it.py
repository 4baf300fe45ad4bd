"""Starting a job over also starts over all jobs made from its result: the cascade."""

from __future__ import annotations

import pytest

from synergy.commands.bulk import BulkRequest, BulkVerb, Range
from synergy.model.job import JobState

HOUR = BulkRequest(BulkVerb.REPROCESS, (Range("SiteHour", "2015051709", "2015051709"),))
CASCADE = {("SiteHour", "2015051709"), ("SiteDay", "2015051700"), ("ClientDay", "2015051700")}


@pytest.fixture
def finished(system):
    system.write("visits", "2015051709", n=3)
    system.settle()
    return system


def test_the_preview_shows_exactly_the_cascade(finished):
    preview = finished.bulk.preview(HOUR)
    assert {(job.process, job.timeperiod) for job in preview.first} == CASCADE
    assert finished.state("SiteHour", "2015051709") is JobState.PROCESSED


def test_every_job_of_the_cascade_is_done_again_in_a_new_generation(finished):
    finished.act(BulkVerb.REPROCESS, "SiteHour", "2015051709")
    assert {finished.state(*job) for job in CASCADE} == {JobState.EMBRYO}
    finished.settle()
    assert {finished.state(*job) for job in CASCADE} == {JobState.PROCESSED}
    assert {finished.generation(*job) for job in CASCADE} == {2}
