"""The suite, with a daily aggregator that a test can hold during its work."""

from dataclasses import replace

import context as suite

DAILY = suite.PROCESS_SITE_DAILY
CLASS = "tests.acceptance.deployments.gates.GatedDailyAggregator.start"

_daily = suite.process_context[DAILY]
process_context = {
    **suite.process_context,
    DAILY: replace(_daily, fields={**_daily.fields, "classname": CLASS}),
}
timetable_context = suite.timetable_context
schedule_context = suite.schedule_context
