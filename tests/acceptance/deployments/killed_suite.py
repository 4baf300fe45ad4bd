"""The trees `site` and `client` (days only), with a daily aggregator that a test can hold."""

from synergy.config.context import timetable_tree_entry
from tests.acceptance.deployments import gated_suite

_LEFT_OUT = (  # processes that do not contribute to the figures
    "MX",
    "Agent",
    "ClientMonthlyAggregator",
    "ClientYearlyAggregator",
    "AlertDailyWorker",
    "YearlyReportExporter",
)

process_context = {
    name: entry for name, entry in gated_suite.process_context.items() if name not in _LEFT_OUT
}
timetable_context = {
    "site": gated_suite.timetable_context["site"],
    "client": timetable_tree_entry(
        tree_name="client", enclosed_processes=["ClientDailyAggregator"], dependent_on=["site"]
    ),
}
schedule_context = gated_suite.schedule_context
