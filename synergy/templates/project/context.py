"""The deployment: its processes, when they run, and what they depend on."""

from synergy.config.context import (
    QUALIFIER_DAILY,
    QUALIFIER_HOURLY,
    STATE_MACHINE_CONTINUOUS,
    daemon_context_entry,
    freerun_context_entry,
    managed_context_entry,
    timetable_tree_entry,
)

EVERY_BOX = [".*"]  # patterns of the ids of boxes

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
    # Runs on request, or by a schedule: it brings the rows that the timetable works on.
    "OrderImport": freerun_context_entry(
        process_name="OrderImport",
        classname="workers.order_import.OrderImport.start",
        arguments={"file": "data/orders.csv"},
        present_on_boxes=EVERY_BOX,
    ),
    # One job for each hour, and one for each day; open periods are brought up to date.
    "SalesHourly": managed_context_entry(
        process_name="SalesHourly",
        classname="workers.sales.Sales.start",
        time_qualifier=QUALIFIER_HOURLY,
        source="orders",
        sink="sales_hourly",
        state_machine_name=STATE_MACHINE_CONTINUOUS,
        trigger_frequency="every 60",
        present_on_boxes=EVERY_BOX,
    ),
    "SalesDaily": managed_context_entry(
        process_name="SalesDaily",
        classname="workers.sales.Sales.start",
        time_qualifier=QUALIFIER_DAILY,
        source="sales_hourly",
        sink="sales_daily",
        state_machine_name=STATE_MACHINE_CONTINUOUS,
        trigger_frequency="every 60",
        present_on_boxes=EVERY_BOX,
    ),
}

timetable_context = {
    "sales": timetable_tree_entry(
        tree_name="sales",
        enclosed_processes=["SalesDaily", "SalesHourly"],  # a day waits for its hours
    ),
}
