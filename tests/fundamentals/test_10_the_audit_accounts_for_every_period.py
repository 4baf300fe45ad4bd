"""The audit compares the calendar with the timetable: every closed period is accounted for."""

from __future__ import annotations


def test_every_period_is_accounted_for_when_the_work_is_done(system):
    system.write("visits", "2015051709", n=3)
    system.settle()
    audit = system.audit()
    assert audit.expected > 24
    assert audit.accounted == audit.expected
    assert audit.is_clean


def test_a_write_that_is_not_processed_yet_is_found(system):
    system.write("visits", "2015051709", n=3)
    system.settle()
    system.write("visits", "2015051709", n=4, key="another visitor")
    (found,) = system.audit().unexplained
    assert (found.process, found.timeperiod) == ("SiteHour", "2015051709")
