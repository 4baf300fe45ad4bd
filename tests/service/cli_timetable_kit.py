"""Processes and periods of the illustration, and an hour that fails."""

from __future__ import annotations

HOUR, DAY, MONTH = "SiteHourlyAggregator", "SiteDailyAggregator", "SiteMonthlyAggregator"


PERIOD = "2015051801"


def failing(deployed):
    """Has the hour of PERIOD fail at all its attempts."""

    def fail(_task):
        raise OSError("no such disk")

    deployed.write("single_session", PERIOD, 5)
    for wait in (0, 61, 121):
        deployed.advance(wait)
        deployed.work(HOUR, work=fail)
    deployed.advance(1)
    deployed.new_workers()
