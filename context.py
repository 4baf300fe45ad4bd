"""The deployment: its processes, when they run, and what they depend on.

This is the illustration suite: generated or ingested visits become sessions, and sessions become
statistics of sites and clients, and alerts. `docs/context.md` explains every field.
"""
# ruff: noqa: ERA001 - the examples at the end are to be uncommented

import sys

from synergy.config.context import (
    BLOCKING_CHILDREN,
    BLOCKING_DEPENDENCIES,
    BLOCKING_NORMAL,
    QUALIFIER_DAILY,
    QUALIFIER_HOURLY,
    QUALIFIER_MONTHLY,
    QUALIFIER_YEARLY,
    STATE_MACHINE_CONTINUOUS,
    STATE_MACHINE_DISCRETE,
    daemon_context_entry,
    managed_context_entry,
    timetable_tree_entry,
)

PROCESS_SCHEDULER = "Scheduler"
PROCESS_AGENT = "Agent"
PROCESS_MX = "MX"
PROCESS_SINGLE_SESSION = "SingleSessionWorker"
PROCESS_EVENT_STREAM = "EventStreamGenerator"
PROCESS_SITE_HOURLY = "SiteHourlyAggregator"
PROCESS_SITE_DAILY = "SiteDailyAggregator"
PROCESS_SITE_MONTHLY = "SiteMonthlyAggregator"
PROCESS_SITE_YEARLY = "SiteYearlyAggregator"
PROCESS_CLIENT_DAILY = "ClientDailyAggregator"
PROCESS_CLIENT_MONTHLY = "ClientMonthlyAggregator"
PROCESS_CLIENT_YEARLY = "ClientYearlyAggregator"
PROCESS_ALERT_DAILY = "AlertDailyWorker"
PROCESS_YEARLY_REPORT = "YearlyReportExporter"

TREE_SITE_VERTICAL = "site"
TREE_CLIENT_VERTICAL = "client"
TREE_ALERT_HORIZONTAL = "alert"
TREE_REPORT_HORIZONTAL = "report"

COLLECTION_SINGLE_SESSION = "single_session"
COLLECTION_SITE_HOURLY = "site_hourly"
COLLECTION_SITE_DAILY = "site_daily"
COLLECTION_SITE_MONTHLY = "site_monthly"
COLLECTION_SITE_YEARLY = "site_yearly"
COLLECTION_CLIENT_DAILY = "client_daily"
COLLECTION_CLIENT_MONTHLY = "client_monthly"
COLLECTION_CLIENT_YEARLY = "client_yearly"
COLLECTION_ALERT_DAILY = "alert_daily"

EVERY_BOX = [".*"]
CLIENTS = {  # the owner of each site; other sites belong to `unassigned`
    "semicomplete.com": "semicomplete",
    "example.com": "example",
    "shop.example.com": "example",
}

process_context = {
    PROCESS_SCHEDULER: daemon_context_entry(
        process_name=PROCESS_SCHEDULER,
        classname="synergy.scheduler.scheduler.Scheduler.start",
        token="scheduler",
        present_on_boxes=EVERY_BOX,
    ),
    PROCESS_AGENT: daemon_context_entry(
        process_name=PROCESS_AGENT,
        classname="synergy.agent.agent.Agent.start",
        token="agent",
        present_on_boxes=EVERY_BOX,
    ),
    PROCESS_MX: daemon_context_entry(
        process_name=PROCESS_MX,
        classname="synergy.mx.server.MX.start",
        token="mx",
        present_on_boxes=EVERY_BOX,
    ),
    PROCESS_SINGLE_SESSION: daemon_context_entry(
        process_name=PROCESS_SINGLE_SESSION,
        classname="workers.single_session_worker.SingleSessionWorker.start",
        token="session",
        instances=2,
        present_on_boxes=EVERY_BOX,
    ),
    PROCESS_EVENT_STREAM: daemon_context_entry(
        process_name=PROCESS_EVENT_STREAM,
        classname="workers.event_stream_generator.EventStreamGenerator.start",
        token="stream",
        arguments={"queue": PROCESS_SINGLE_SESSION},
        is_on="demo_stream",
        present_on_boxes=EVERY_BOX,
    ),
    # Sites: processed while their periods are open, so that today's numbers are available today.
    PROCESS_SITE_HOURLY: managed_context_entry(
        process_name=PROCESS_SITE_HOURLY,
        classname="workers.site_hourly_aggregator.SiteHourlyAggregator.start",
        token="site",
        time_qualifier=QUALIFIER_HOURLY,
        source=COLLECTION_SINGLE_SESSION,
        sink=COLLECTION_SITE_HOURLY,
        state_machine_name=STATE_MACHINE_CONTINUOUS,
        blocking_type=BLOCKING_NORMAL,
        trigger_frequency="every 60",
        max_active=24,
        present_on_boxes=EVERY_BOX,
    ),
    PROCESS_SITE_DAILY: managed_context_entry(
        process_name=PROCESS_SITE_DAILY,
        classname="workers.site_daily_aggregator.SiteDailyAggregator.start",
        token="site",
        time_qualifier=QUALIFIER_DAILY,
        source=COLLECTION_SITE_HOURLY,
        sink=COLLECTION_SITE_DAILY,
        state_machine_name=STATE_MACHINE_CONTINUOUS,
        blocking_type=BLOCKING_NORMAL,
        trigger_frequency="every 60",
        present_on_boxes=EVERY_BOX,
    ),
    PROCESS_SITE_MONTHLY: managed_context_entry(
        process_name=PROCESS_SITE_MONTHLY,
        classname="workers.site_monthly_aggregator.SiteMonthlyAggregator.start",
        token="site",
        time_qualifier=QUALIFIER_MONTHLY,
        source=COLLECTION_SITE_DAILY,
        sink=COLLECTION_SITE_MONTHLY,
        state_machine_name=STATE_MACHINE_CONTINUOUS,
        blocking_type=BLOCKING_NORMAL,
        trigger_frequency="every 60",
        present_on_boxes=EVERY_BOX,
    ),
    PROCESS_SITE_YEARLY: managed_context_entry(
        process_name=PROCESS_SITE_YEARLY,
        classname="workers.site_yearly_aggregator.SiteYearlyAggregator.start",
        token="site",
        time_qualifier=QUALIFIER_YEARLY,
        source=COLLECTION_SITE_MONTHLY,
        sink=COLLECTION_SITE_YEARLY,
        state_machine_name=STATE_MACHINE_CONTINUOUS,
        blocking_type=BLOCKING_NORMAL,
        trigger_frequency="every 60",
        present_on_boxes=EVERY_BOX,
    ),
    # Clients and alerts: processed once, when the period of the sites is finished.
    PROCESS_CLIENT_DAILY: managed_context_entry(
        process_name=PROCESS_CLIENT_DAILY,
        classname="workers.client_daily_aggregator.ClientDailyAggregator.start",
        token="client",
        time_qualifier=QUALIFIER_DAILY,
        source=COLLECTION_SITE_DAILY,
        sink=COLLECTION_CLIENT_DAILY,
        arguments={"clients": CLIENTS},
        state_machine_name=STATE_MACHINE_DISCRETE,
        blocking_type=BLOCKING_DEPENDENCIES,
        trigger_frequency="every 60",
        present_on_boxes=EVERY_BOX,
    ),
    PROCESS_CLIENT_MONTHLY: managed_context_entry(
        process_name=PROCESS_CLIENT_MONTHLY,
        classname="workers.client_monthly_aggregator.ClientMonthlyAggregator.start",
        token="client",
        time_qualifier=QUALIFIER_MONTHLY,
        source=COLLECTION_CLIENT_DAILY,
        sink=COLLECTION_CLIENT_MONTHLY,
        state_machine_name=STATE_MACHINE_DISCRETE,
        blocking_type=BLOCKING_CHILDREN,
        trigger_frequency="every 300",
        present_on_boxes=EVERY_BOX,
    ),
    PROCESS_CLIENT_YEARLY: managed_context_entry(
        process_name=PROCESS_CLIENT_YEARLY,
        classname="workers.client_yearly_aggregator.ClientYearlyAggregator.start",
        token="client",
        time_qualifier=QUALIFIER_YEARLY,
        source=COLLECTION_CLIENT_MONTHLY,
        sink=COLLECTION_CLIENT_YEARLY,
        state_machine_name=STATE_MACHINE_DISCRETE,
        blocking_type=BLOCKING_CHILDREN,
        trigger_frequency="every 300",
        present_on_boxes=EVERY_BOX,
    ),
    PROCESS_ALERT_DAILY: managed_context_entry(
        process_name=PROCESS_ALERT_DAILY,
        classname="workers.alert_daily_worker.AlertDailyWorker.start",
        token="alert",
        time_qualifier=QUALIFIER_DAILY,
        source=COLLECTION_SITE_DAILY,
        sink=COLLECTION_ALERT_DAILY,
        also_reads=[-7],
        state_machine_name=STATE_MACHINE_DISCRETE,
        blocking_type=BLOCKING_DEPENDENCIES,
        trigger_frequency="every 60",
        present_on_boxes=EVERY_BOX,
    ),
    # A program instead of a Python worker. Each unit of work starts it as a process of its own.
    PROCESS_YEARLY_REPORT: managed_context_entry(
        process_name=PROCESS_YEARLY_REPORT,
        command=[
            *[sys.executable, "-m", "synergy", "report"],
            *[COLLECTION_SITE_YEARLY, "--from", "${start}", "--to", "${end}"],
            *["--csv", "${home}/reports/site_yearly-${timeperiod}.csv"],
        ],
        environment=["SYNERGY_STORE", "SYNERGY_STORE_FILE"],  # which store it reads
        token="report",
        time_qualifier=QUALIFIER_YEARLY,
        state_machine_name=STATE_MACHINE_DISCRETE,
        blocking_type=BLOCKING_DEPENDENCIES,
        trigger_frequency="every 300",
        max_active=2,
        present_on_boxes=EVERY_BOX,
    ),
}

timetable_context = {
    TREE_SITE_VERTICAL: timetable_tree_entry(
        tree_name=TREE_SITE_VERTICAL,
        enclosed_processes=[
            PROCESS_SITE_YEARLY,
            PROCESS_SITE_MONTHLY,
            PROCESS_SITE_DAILY,
            PROCESS_SITE_HOURLY,
        ],
        dependent_on=[],
        mx_name="site",
        mx_page="traffic",
    ),
    TREE_CLIENT_VERTICAL: timetable_tree_entry(
        tree_name=TREE_CLIENT_VERTICAL,
        enclosed_processes=[PROCESS_CLIENT_YEARLY, PROCESS_CLIENT_MONTHLY, PROCESS_CLIENT_DAILY],
        dependent_on=[TREE_SITE_VERTICAL],
        mx_name="client",
        mx_page="traffic",
    ),
    TREE_ALERT_HORIZONTAL: timetable_tree_entry(
        tree_name=TREE_ALERT_HORIZONTAL,
        enclosed_processes=[PROCESS_ALERT_DAILY],
        dependent_on=[TREE_SITE_VERTICAL],
        mx_name="alert",
        mx_page="traffic",
    ),
    TREE_REPORT_HORIZONTAL: timetable_tree_entry(
        tree_name=TREE_REPORT_HORIZONTAL,
        enclosed_processes=[PROCESS_YEARLY_REPORT],
        dependent_on=[TREE_SITE_VERTICAL],
        mx_name="report",
        mx_page="reports",
    ),
}

# Schedules: an example of each kind, to be uncommented. They need `all_of`, `cron`, `event`,
# `schedule_context_entry` and `webhook`, and the program at the end `freerun_context_entry`, from
# `synergy.config.context`. `docs/schedule-files.md` explains every field.
schedule_context: dict[str, object] = {
    # After `event emit TIME_BASED cron`, if a file arrived below `/dir/path/` within the last
    # 3600 seconds. An event with lifetime 0 counts only at the moment of its arrival.
    # "after-files": schedule_context_entry(
    #     schedule_name="after-files",
    #     process="Importer",
    #     trigger=all_of(event("FILE", "/dir/path/", 3600), event("TIME BASED", "cron", 0)),
    # ),
    #
    # The same, as a list of dependencies.
    # "after-files-again": schedule_context_entry(
    #     schedule_name="after-files-again",
    #     process="Importer",
    #     dependencies=[
    #         {"type": "FILE", "resourceId": "/dir/path/", "lifeDuration": "3600"},
    #         {"type": "TIME_BASED_CRON", "resourceId": "cron", "lifeDuration": "0"},
    #     ],
    # ),
    #
    # Every night at 02:30 in Berlin.
    # "nightly": schedule_context_entry(
    #     schedule_name="nightly",
    #     process="Importer",
    #     trigger=cron("30 2 * * *"),
    #     zone="Europe/Berlin",
    # ),
    #
    # A webhook instead of a program.
    # "daily-numbers": schedule_context_entry(
    #     schedule_name="daily-numbers",
    #     trigger=cron("0 9 * * 1-5"),
    #     **webhook("https://example.com/hook", {"day": "${yesterdaysDate}"}),
    # ),
}

# The program that they run; its place is in `process_context`:
# "Importer": freerun_context_entry(
#     process_name="Importer",
#     command=["/opt/import/run.sh", "--folder", "/dir/path", "--due", "${timeperiod}"],
#     present_on_boxes=EVERY_BOX,
# ),
