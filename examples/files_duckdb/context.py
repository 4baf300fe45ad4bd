"""Hourly files become Parquet, and the Parquet of a day becomes its totals."""

from synergy.config.context import (
    BLOCKING_CHILDREN,
    QUALIFIER_DAILY,
    QUALIFIER_HOURLY,
    daemon_context_entry,
    managed_context_entry,
    timetable_tree_entry,
)

EVERY_BOX = [".*"]

process_context = {
    "Scheduler": daemon_context_entry(
        process_name="Scheduler",
        classname="synergy.scheduler.scheduler.Scheduler.start",
        present_on_boxes=EVERY_BOX,
    ),
    "Agent": daemon_context_entry(
        process_name="Agent",
        classname="synergy.agent.agent.Agent.start",
        present_on_boxes=EVERY_BOX,
    ),
    "MX": daemon_context_entry(
        process_name="MX",
        classname="synergy.mx.server.MX.start",
        present_on_boxes=EVERY_BOX,
    ),
    # An hour whose file is missing has failed, and holds its day back; it is tried again by itself.
    "SalesHourly": managed_context_entry(
        process_name="SalesHourly",
        classname="workers.sales_hourly.SalesHourly.start",
        time_qualifier=QUALIFIER_HOURLY,
        source="file:inbox",  # outside the store
        sink="sales_hourly",
        trigger_frequency="every 60",
        max_attempts=1,
        retry_failed="10m",
        present_on_boxes=EVERY_BOX,
    ),
    "SalesDaily": managed_context_entry(
        process_name="SalesDaily",
        classname="workers.sales_daily.SalesDaily.start",
        time_qualifier=QUALIFIER_DAILY,
        source="sales_hourly",  # other rows of an hour start its day over
        sink="sales_daily",
        blocking_type=BLOCKING_CHILDREN,
        trigger_frequency="every 60",
        present_on_boxes=EVERY_BOX,
    ),
}

timetable_context = {
    "sales": timetable_tree_entry(
        tree_name="sales", enclosed_processes=["SalesDaily", "SalesHourly"]
    ),
}
