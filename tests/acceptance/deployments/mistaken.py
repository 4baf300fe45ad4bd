"""A deployment with ten mistakes, each of another kind."""

from synergy.config.context import (
    daemon_context_entry,
    managed_context_entry,
    timetable_tree_entry,
)

WORKER = "workers.site_daily_aggregator.SiteDailyAggregator.start"


def a_process(name, **fields):
    return managed_context_entry(
        **{
            "process_name": name,
            "classname": WORKER,
            "time_qualifier": "daily",
            "present_on_boxes": [".*"],
            **fields,
        }
    )


process_context = {
    "Misspelt": a_process("Misspelt", sorce="site_hourly"),
    "Weekly": a_process("Weekly", time_qualifier="weekly"),
    "TooOften": a_process("TooOften", trigger_frequency="every 0"),
    "Grouped": a_process("Grouped", time_grouping=29),
    "Homeless": a_process("Homeless", present_on_boxes=["dev-["]),
    "Nowhere": a_process("Nowhere", classname="workers.site_daily_aggregator.SiteDaily.start"),
    "Commanded": a_process("Commanded", classname=None, command=["report", "${timeperoid}"]),
    "Treeless": a_process("Treeless"),
    "Daemon": daemon_context_entry(
        process_name="Daemon",
        classname="synergy.scheduler.scheduler.Scheduler.start",
        present_on_boxes=[".*"],
    ),
}
timetable_context = {
    "first": timetable_tree_entry(
        tree_name="first", enclosed_processes=["Misspelt", "Mispelt"], dependent_on=["second"]
    ),
    "second": timetable_tree_entry(
        tree_name="second", enclosed_processes=["TooOften"], dependent_on=["first"]
    ),
    "weekly": timetable_tree_entry(tree_name="weekly", enclosed_processes=["Weekly"]),
    "grouped": timetable_tree_entry(tree_name="grouped", enclosed_processes=["Grouped"]),
    "homeless": timetable_tree_entry(tree_name="homeless", enclosed_processes=["Homeless"]),
    "nowhere": timetable_tree_entry(tree_name="nowhere", enclosed_processes=["Nowhere"]),
    "commanded": timetable_tree_entry(tree_name="commanded", enclosed_processes=["Commanded"]),
}
schedule_context: dict[str, object] = {}
