"""The site tree: hours are processed here, coarser levels belong to another box."""

from dataclasses import replace

import context as suite

_HERE = ("Scheduler", "SiteHourlyAggregator", "SingleSessionWorker")
_ELSEWHERE = ("SiteDailyAggregator", "SiteMonthlyAggregator", "SiteYearlyAggregator")


def _with(name, **fields):
    entry = suite.process_context[name]
    return replace(entry, fields={**entry.fields, **fields})


process_context = {
    **{name: _with(name, instances=1) for name in _HERE},
    **{name: _with(name, present_on_boxes=["another-box"]) for name in _ELSEWHERE},
}
timetable_context = {"site": suite.timetable_context["site"]}
schedule_context: dict[str, object] = {}
