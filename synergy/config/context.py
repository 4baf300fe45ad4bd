"""The names that `context.py` is written with.

`context.py` declares the deployment in plain Python: `process_context`, `timetable_context`
and `schedule_context` are dictionaries whose values the functions here make. They only keep
what they are given; `config.loader` checks all of it at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

QUALIFIER_HOURLY = "hourly"
QUALIFIER_DAILY = "daily"
QUALIFIER_MONTHLY = "monthly"
QUALIFIER_YEARLY = "yearly"

STATE_MACHINE_DISCRETE = "discrete"
STATE_MACHINE_CONTINUOUS = "continuous"

BLOCKING_NORMAL = "normal"
BLOCKING_DEPENDENCIES = "dependencies"
BLOCKING_CHILDREN = "children"


@dataclass(frozen=True)
class Entry:
    """What was written, unchecked: the kind of entry and its fields."""

    kind: str
    fields: dict[str, Any]


def managed_context_entry(**fields: Any) -> Entry:
    """A process of the timetable: one job for each period of its qualifier.

    Required: `process_name`, `time_qualifier`, `present_on_boxes` (regular expressions, one of
    which must match the whole box id), and one of

    - `classname`: `package.module.Class.method` of a Python worker
    - `command`: a program and its arguments as a list of texts, which may hold `${timeperiod}`,
      `${start}`, `${end}`, `${attempt}`, `${home}` and the names of `arguments`

    Optional, with defaults; durations are texts such as '60s', '5m', '48h', '7d', or seconds:

    - `token=<process_name>`: a short word for pages
    - `source=None`, `sink=None`: the collections that are read and written
    - `state_machine_name='discrete'`, or 'continuous'
    - `blocking_type='normal'`, or 'dependencies', 'children'
    - `trigger_frequency='every 600'`, or 'at [D-]HH:MM, ...', 'cron M H DOM MON DOW'
    - `time_grouping=1`: one run for so many periods
    - `also_reads=[]`: earlier periods of the source that a job reads too, as distances: [-7]
    - `arguments={}`: given to the worker
    - `settle='5m'`: wait after a period ends
    - `max_active=8`: periods in flight; 1 is strictly in order
    - `instances=1`: worker processes per box
    - `max_attempts=3`, `retry_backoff='1m'` (doubling, capped at 1 h)
    - `heartbeat_timeout='60s'`, `resubmit_after='1h'`, `life_support='48h'`
    - `late_data='reprocess'`, or 'mark', 'ignore'
    - `is_on=True`; or `'demo_stream'`: on where that setting is
    """
    return Entry("managed", fields)


def daemon_context_entry(**fields: Any) -> Entry:
    """A process that always runs.

    Required: `process_name`, `classname`, `present_on_boxes`. Optional, as for a managed
    process: `token`, `arguments`, `instances`, `is_on`.
    """
    return Entry("daemon", fields)


def timetable_tree_entry(**fields: Any) -> Entry:
    """A tree of managed processes of falling granularity.

    Required: `tree_name`, `enclosed_processes` (from coarse to fine). Optional:
    `dependent_on=[]` (names of trees), `mx_name=<tree_name>` and `mx_page=''` (where pages
    show it).
    """
    return Entry("tree", fields)
