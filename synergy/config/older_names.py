"""What stands for the names of Synergy 1 and 2 today.

Each entry completes a finding: it says what to write instead. The whole story is in
`docs/howto/from-synergy.md`.
"""

from __future__ import annotations

from synergy.program import PROGRAM

GUIDE = "docs/howto/from-synergy.md says what stands for it"

_FUNCTIONS = "import this function from synergy.config.context"
_NO_QUEUES = "leave it out: each process has a queue of its own name"
_NO_FILES = "leave it out: pid files and logs/<process>.log lie in SYNERGY_HOME"

MODULES = {
    "synergy.db.model.daemon_process_entry": _FUNCTIONS,
    "synergy.db.model.freerun_process_entry": _FUNCTIONS,
    "synergy.db.model.managed_process_entry": _FUNCTIONS,
    "synergy.db.model.timetable_tree_entry": _FUNCTIONS,
    "synergy.db.model.process_context_entry": (
        "import managed_context_entry, freerun_context_entry and daemon_context_entry "
        "from synergy.config.context"
    ),
    "synergy.db.model.timetable_context_entry": (
        "import timetable_tree_entry from synergy.config.context"
    ),
    "synergy.db.model.queue_context_entry": _NO_QUEUES,
    "synergy.system.time_qualifier": "import QUALIFIER_... from synergy.config.context",
    "synergy.scheduler.scheduler_constants": (
        "import STATE_MACHINE_... and BLOCKING_... from synergy.config.context; names of "
        "processes, tokens and collections are texts of your own"
    ),
    "synergy.supervisor.supervisor_constants": (
        f"leave it out: the supervisor is not declared, {PROGRAM} supervisor start runs it"
    ),
    "synergy.workers.worker_constants": "leave it out: nothing stands for it",
    "synergy.workers": "derive the worker from synergy.worker.Worker",
    "synergy.conf": "a worker gets what it needs with its task",
    "synergy.system.time_helper": "use synergy.timeperiod.Qualifier",
    "synergy.db": GUIDE,
    "synergy.mq": GUIDE,
    "synergy.system": GUIDE,
    "odm": "rows and documents are plain dictionaries: leave it out",
    "flow": "Synergy has no flows: declare each step as a process",
}
"""Modules, and packages with all in them."""

_TREE = "write timetable_tree_entry(...)"
_CONTINUOUS = "write STATE_MACHINE_CONTINUOUS: it recomputes a period whose source has grown"
_DISCRETE = "write STATE_MACHINE_DISCRETE"
_FREERUN = "write freerun_context_entry(...): it needs no state machine, qualifier and type"
_BY_FUNCTION = "leave it out: the function of the entry says its kind"

NAMES = {
    "_process_context_entry": (
        "write managed_context_entry(...), freerun_context_entry(...) or daemon_context_entry(...)"
    ),
    "_managed_context_entry": "write managed_context_entry(...)",
    "_freerun_context_entry": "write freerun_context_entry(...)",
    "_daemon_context_entry": "write daemon_context_entry(...)",
    "_timetable_context_entry": _TREE,
    "timetable_context_entry": _TREE,
    "_queue_context_entry": _NO_QUEUES,
    "queue_context_entry": _NO_QUEUES,
    "STATE_MACHINE_RECOMPUTING": _CONTINUOUS,
    "STATE_MACHINE_SIMPLE_DISCRETE": _DISCRETE,
    "STATE_MACHINE_FREERUN": _FREERUN,
    "PIPELINE_CONTINUOUS": _CONTINUOUS,
    "PIPELINE_DISCRETE": _DISCRETE,
    "PIPELINE_SIMPLIFIED_DISCRETE": _DISCRETE,
    "QUALIFIER_REAL_TIME": "write daemon_context_entry(...), which has no qualifier",
    "QUALIFIER_BY_SCHEDULE": _FREERUN,
    "TYPE_MANAGED": _BY_FUNCTION,
    "TYPE_FREERUN": _BY_FUNCTION,
    "TYPE_DAEMON": _BY_FUNCTION,
    "TYPE_GARBAGE_COLLECTOR": "leave the process out: the Scheduler collects garbage itself",
    "TYPE_BLOCKING_DEPENDENCIES": "write blocking_type=BLOCKING_DEPENDENCIES",
    "TYPE_BLOCKING_CHILDREN": "write blocking_type=BLOCKING_CHILDREN",
    "EXCHANGE_MANAGED_WORKER": _NO_QUEUES,
    "EXCHANGE_FREERUN_WORKER": _NO_QUEUES,
    "EXCHANGE_UTILS": _NO_QUEUES,
    "ROUTING_IRRELEVANT": _NO_QUEUES,
    "ENVIRONMENT": (
        "SYNERGY_ENV selects the settings, and SYNERGY_CONTEXT the context of an environment"
    ),
}
"""Names that a context imports."""

FIELDS = {
    "queue": _NO_QUEUES,
    "routing": _NO_QUEUES,
    "exchange": _NO_QUEUES,
    "pid_file": _NO_FILES,
    "log_file": _NO_FILES,
    "process_type": _BY_FUNCTION,
    "run_on_active_timeperiod": (
        "leave it out: STATE_MACHINE_CONTINUOUS works on open periods, STATE_MACHINE_DISCRETE not"
    ),
    "entry_name": "leave it out: one process with several schedules has several entries",
    "description": "leave it out: a comment, or `properties` of a schedule, describes",
    "tree_classname": "leave it out: enclosed_processes, from coarse to fine, are the levels",
}
"""Fields of entries."""

VALUES = {
    "recomputing": ("continuous", _CONTINUOUS),
    "simple_discrete": ("discrete", _DISCRETE),
    "simplified_discrete": ("discrete", _DISCRETE),
    "freerun": ("discrete", _FREERUN),
    "blocking_normal": ("normal", "write BLOCKING_NORMAL of synergy.config.context"),
    "blocking_dependencies": (
        "dependencies",
        "write BLOCKING_DEPENDENCIES of synergy.config.context",
    ),
    "blocking_children": ("children", "write BLOCKING_CHILDREN of synergy.config.context"),
    "_hourly": ("hourly", "write QUALIFIER_HOURLY of synergy.config.context"),
    "_daily": ("daily", "write QUALIFIER_DAILY of synergy.config.context"),
    "_monthly": ("monthly", "write QUALIFIER_MONTHLY of synergy.config.context"),
    "_yearly": ("yearly", "write QUALIFIER_YEARLY of synergy.config.context"),
    "_real_time": ("daily", NAMES["QUALIFIER_REAL_TIME"]),
    "_by_schedule": ("daily", _FREERUN),
}
"""Values of fields: the one that the check goes on with, and the advice."""

VALUED = ("state_machine_name", "blocking_type", "time_qualifier")

CLASSES = {
    "synergy.scheduler.synergy_scheduler.Scheduler.start": (
        "write synergy.scheduler.scheduler.Scheduler.start"
    ),
    "synergy.mx.synergy_mx.MX.start": "write synergy.mx.server.MX.start",
    "synergy.supervisor.synergy_supervisor.Supervisor.start": (
        f"leave the process out: {PROGRAM} supervisor start runs the supervisor"
    ),
    "synergy.workers.garbage_collector_worker.GarbageCollectorWorker.start": (
        NAMES["TYPE_GARBAGE_COLLECTOR"]
    ),
    "synergy.workers.bash_driver.BashDriver.start": (
        "leave the process out: write freerun_context_entry(command=[...]) for each script"
    ),
}
"""Class paths of processes."""

_STORE = "write STORE = 'mongodb://HOST:PORT/DATABASE'"
_BUS = (
    "write BUS = 'amqp://HOST:PORT/VHOST', with user and password before HOST; or nothing: "
    "messages are kept in the store"
)
_HOME = "write HOME: logs and pid files lie in this folder"
_UNNEEDED = "leave it out: nothing stands for it"
_MX = f"write {{}}; with another host than 127.0.0.1 MX needs users: {PROGRAM} user add"

SETTINGS = {
    "ds_type": _STORE,
    "mongo_db_name": _STORE,
    "mongodb_host_list": _STORE,
    "mq_host": _BUS,
    "mq_port": _BUS,
    "mq_user_id": _BUS,
    "mq_password": _BUS,
    "mq_vhost": _BUS,
    "mx_host": _MX.format("MX_HOST"),
    "mx_port": "write MX_PORT",
    "synergy_start_timeperiod": "write START_TIMEPERIOD = 'YYYYMMDDHH'",
    "config_file": "write BOX_ID, or set SYNERGY_BOX_ID on each box",
    "log_directory": _HOME,
    "pid_directory": _HOME,
    "process_cwd": _HOME,
    "db_log_ttl_days": "write RETENTION = 'units=365d'",
    "gc_life_support_hours": "write life_support='48h' in the entries of processes",
    "gc_resubmit_after_hours": "write resubmit_after='1h' in the entries of processes",
    "gc_release_lag_minutes": "write retry_backoff='1m' in the entries of processes",
    "gc_run_interval": "leave it out: the collector runs every minute",
    "bash_runnable_count": "write instances=5 in the entries of commands",
}
"""Settings; those that are not listed have no counterpart."""


def module_advice(name: str) -> str:
    """What to import instead of a module; "" for modules that older versions did not have."""
    parts = name.split(".")
    prefixes = (".".join(parts[:number]) for number in range(len(parts), 0, -1))
    found = next((MODULES[prefix] for prefix in prefixes if prefix in MODULES), "")
    return found or (GUIDE if name.startswith("synergy.") else "")


def setting_advice(name: str) -> str:
    """What to write instead of an item of the older `settings` dictionary."""
    return SETTINGS.get(name, _UNNEEDED)
