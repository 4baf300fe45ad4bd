"""The functions and constants for `context.py`.

`context.py` declares the deployment: the values of its dictionaries `process_context`,
`timetable_context` and `schedule_context` are created by these functions. They store their
arguments unchecked; `config.loader` checks all of them at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
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

Data = dict[str, Any]
Duration = str | float  # '60s', '5m', '48h', '7d', or seconds


@dataclass(frozen=True)
class Entry:
    """The kind of an entry and its fields, unchecked."""

    kind: str
    fields: dict[str, Any]


@dataclass(frozen=True)
class Argument:
    """An argument with its default value, and whether a value may begin with `-`."""

    default: Any
    allow_option: bool


def argument(default: Any, *, allow_option: bool = False) -> Argument:
    """The default value of an argument, and what its values may be in a command.

    `arguments={"offset": argument(-1, allow_option=True)}`. A value that begins with `-` at the
    beginning of an item would be an option of the program. It is refused without `allow_option`.
    """
    return Argument(default, allow_option)


def managed_context_entry(**fields: Any) -> Entry:
    """A process of the timetable: one job for each period of its qualifier.

    Required: `process_name`, `time_qualifier`, `present_on_boxes` (regular expressions, one of
    which must match the whole box id), and one of

    - `classname`: `package.module.Class.method` of a Python worker
    - `command`: a program and its arguments as a list of texts, which may contain `${timeperiod}`,
      `${start}`, `${end}`, `${attempt}`, `${home}` and the names of `arguments`; `$$` is one `$`.
      It gets the usual variables (PATH, HOME, LANG, ...), those that
      `environment=["AWS_PROFILE", ...]` names, and those that `variables={"MODE": "full"}` sets;
      `cwd`, `user` and `stdin` say where, as which user and with which input it runs

    Optional, with defaults; durations are texts such as '60s', '5m', '48h', '7d', or seconds:

    - `token=<process_name>`: a short name for pages
    - `source=None`, `sink=None`: the collections that are read and written
    - `state_machine_name='discrete'`, or 'continuous'
    - `blocking_type='normal'`, or 'dependencies', 'children'
    - `trigger_frequency='every 600'`, or 'at [D-]HH:MM, ...', 'cron M H DOM MON DOW'
    - `time_grouping=1`: the number of periods of one run
    - `also_reads=[]`: earlier periods of the source that a job also reads, as distances: [-7]
    - `arguments={}`: passed to the worker; values or, for commands, `argument(...)`
    - `settle='5m'`: the wait after the end of a period
    - `max_active=8`: periods in progress at a time; 1 is strictly in order
    - `instances=1`: worker processes per box; 'pool', the default with a `command`: it has none of
      its own, and the pool of the box carries out its units
    - `max_attempts=3`, `retry_backoff='1m'` (doubling, capped at 1 h)
    - `heartbeat_timeout='60s'`, `resubmit_after='1h'`, `life_support='48h'`
    - `timeout=None`: the longest duration of an attempt
    - `on_failure='block'`, or 'skip': the effect of a period whose last attempt failed
    - `retry_failed=None`: the time after which a failed period is retried automatically
    - `refresh='10s'`: the time between two interim runs of an open period, or 'trigger' for one at
      each tick of `trigger_frequency`; continuous processes only
    - `late_data='reprocess'`, or 'mark', 'ignore'
    - `is_on=True`; or `'demo_stream'`: the value of that setting
    """
    return Entry("managed", fields)


def daemon_context_entry(**fields: Any) -> Entry:
    """A process that always runs.

    Required: `process_name`, `classname`, `present_on_boxes`. Optional, as for a managed
    process: `token`, `arguments`, `instances`, `is_on`.
    """
    return Entry("daemon", fields)


def freerun_context_entry(**fields: Any) -> Entry:
    """A process without a timetable, which runs by schedule or when it is triggered.

    Required: `process_name`, `present_on_boxes`, and `classname` or `command` as for a managed
    process. In a command `${run}` is the id of the run, and `${timeperiod}` (as `${start}` and
    `${end}`) its due time as `YYYYMMDDHHmmSS`, or the period that triggered it; `${state}` is
    the final state of that period, and `${generation}` its generation; both are empty if no period
    triggered the run.

    With a `trigger_frequency` ('every 60', 'at [D-]HH:MM, ...', 'cron M H DOM MON DOW', in UTC)
    it has a schedule of the same name. Optional, as for a managed process: `token`, `arguments`,
    `environment`, `variables`, `cwd`, `user`, `stdin`, `retry_backoff`, `heartbeat_timeout`,
    `resubmit_after`, `life_support`, `timeout`, `is_on`, and with other defaults

    - `instances='pool'`: the pool of the box carries out its runs; or the number of its own workers
    - `max_active=1`: its runs at a time on a box, in the pool
    - `max_attempts=1`: a failed run is not retried
    """
    return Entry("freerun", fields)


def timetable_tree_entry(**fields: Any) -> Entry:
    """A tree of managed processes of falling granularity.

    Required: `tree_name`, `enclosed_processes` (from coarse to fine). Optional:
    `dependent_on=[]` (names of trees), `mx_name=<tree_name>` and `mx_page=''` (the group
    of its page).
    """
    return Entry("tree", fields)


def schedule_context_entry(**fields: Any) -> Entry:
    """A schedule: a program, its trigger, and its run constraints.

    The fields are those of schedule files (`docs/schedule-files.md`), with `schedule_name` for
    `name` and `from_` for `from`. Required: `schedule_name`; `process` or `target`; `trigger`,
    `cron`, `when` or `dependencies`. The functions below create the parts:

        schedule_context_entry(
            schedule_name="nightly",
            process="ReportExporter",
            trigger=all_of(cron("0 2 * * *"), timetable("SiteDailyAggregator")),
            constraints=[concurrency(1), time_window("22:00", "06:00", "Europe/Berlin")],
        )
    """
    return Entry("schedule", fields)


# Triggers of schedules


def every(seconds: int) -> Data:
    """Due at intervals of so many seconds."""
    return {"every": seconds}


def at(times: str) -> Data:
    """Due at times such as '02:30' or '5-18:00, 12:00', in the schedule's zone; 0 is Monday."""
    return {"at": times}


def cron(*lines: str) -> Data:
    """Due at the times of the cron lines, in the schedule's zone."""
    return {"cron": lines[0] if len(lines) == 1 else list(lines)}


def interval(start: str | datetime, **fields: Any) -> Data:
    """Due at the start and at intervals after it: `interval(start, hours=36)`.

    The fields are `weeks`, `days`, `hours`, `minutes`, `seconds`, `end` and `jitter`.
    """
    return {"interval": {"start": start, **fields}}


def calendar_interval(start: str | date, **fields: Any) -> Data:
    """Due at a time of day, every so many months or days: `calendar_interval(start, weeks=2)`.

    The fields are `years` and `months`, or `weeks` and `days`; `day='last'`, `time`, `end` and
    `jitter`.
    """
    return {"calendar_interval": {"start": start, **fields}}


def once(instant: str | datetime) -> Data:
    """Due once; without an offset it is UTC."""
    return {"once": instant}


def elapsed(duration: Duration) -> Data:
    """Due when this time has passed since the last run."""
    return {"elapsed": duration}


def partition(dataset: str, n: int = 1) -> Data:
    """Met by `n` new partitions of a dataset."""
    return {"partition": {"dataset": dataset, "n": n}}


def program(process: str, *statuses: str) -> Data:
    """Met when a run or job of the process ended with one of these statuses, default processed."""
    return {"program": {"process": process, "statuses": list(statuses) or ["processed"]}}


def timetable(
    process: str, statuses: Sequence[str] = ("processed",), generations: str = "all"
) -> Data:
    """Met when a period of the process ended with one of these statuses.

    With `generations='first'` a period that was started over does not count again.
    """
    ended = {"statuses": statuses, "generations": generations}
    return {"timetable": {"process": process, **ended}}


def event(type: str, resource: str, life: Duration) -> Data:
    """Met by an event FILE, TABLE or TIME BASED for the time `life`; with 0 only at its arrival."""
    return {"event": {"type": type, "resource": resource, "life": life}}


def all_of(*legs: Data | str) -> Data:
    """Met when all triggers are met, in any order."""
    return {"all_of": list(legs)}


def any_of(*legs: Data | str) -> Data:
    """Met when one of the triggers is met."""
    return {"any_of": list(legs)}


# Run constraints of schedules; `when_unmet` is 'wait' or 'abort'


def concurrency(n: int, scope: str = "program", when_unmet: str = "abort") -> Data:
    """Fewer than `n` active runs of the program, or of the schedule's 'group'."""
    return {"concurrency": {"n": n, "scope": scope, "when_unmet": when_unmet}}


def delay(duration: Duration) -> Data:
    """At least `duration` after the trigger of the run."""
    return {"delay": duration}


def time_window(start: str, end: str, zone: str | None = None, when_unmet: str = "wait") -> Data:
    """From 'HH:MM' until 'HH:MM', in this zone or that of the schedule."""
    window = {"start": start, "end": end, "zone": zone, "when_unmet": when_unmet}
    return {"time_window": window}


def since_last_run(duration: Duration, when_unmet: str = "abort") -> Data:
    """No active run, and none that succeeded within this time."""
    return {"since_last_run": {"duration": duration, "when_unmet": when_unmet}}


def at_most(n: int, per: Duration, when_unmet: str = "wait") -> Data:
    """Fewer than `n` launches within the last 'minute', 'hour', 'day', 'week' or duration."""
    return {"at_most": {"n": n, "per": per, "when_unmet": when_unmet}}


def load(max: float, of: str = "box", when_unmet: str = "wait") -> Data:
    """At most this load: of the box, per core, or of the process's 'queue', in messages."""
    return {"load": {"max": max, "of": of, "when_unmet": when_unmet}}


# Programs of schedules


def webhook(target: str, payload: object = "", **more: Any) -> Data:
    """Fields of an entry for a request to a URL, to be unpacked with `**`."""
    return {"target": target, "payload": payload, **more}
