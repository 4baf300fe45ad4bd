"""Reads the entries of `process_context` as processes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from synergy.config import classes, process_fields
from synergy.config.command_fields import command_fields
from synergy.config.context import Entry
from synergy.config.entry_points import pooled_class
from synergy.config.findings import Findings
from synergy.config.older_context import entry_fields
from synergy.config.settings import Settings
from synergy.errors import InvalidValue
from synergy.model.process import (
    POOLED,
    Blocking,
    BuiltIn,
    DaemonProcess,
    Deployment,
    FreerunProcess,
    LateData,
    ManagedProcess,
    OnFailure,
    Process,
    StateMachine,
    WorkingProcess,
)
from synergy.names import POOL
from synergy.schedule.format.field_reader import NO_TIME, FieldReader
from synergy.timeperiod import Qualifier, largest_grouping

MOST_INSTANCES = 256  # worker processes of one process on a box; each takes tens of megabytes
_PROVIDED = ("timeperiod", "start", "end", "attempt", "home")
_PROVIDED_TO_RUNS = (*_PROVIDED, "run", "state", "generation")


def read_processes(
    entries: Mapping[str, object], settings: Settings, findings: Findings
) -> dict[str, Process | None]:
    """The processes by name; None for one whose kind or qualifier is unknown."""
    processes: dict[str, Process | None] = {}
    for key, entry in entries.items():
        where = f"process {key}"
        match entry:
            case Entry("managed", values):
                processes[key] = _managed(key, entry_fields(where, values, findings), settings)
            case Entry("freerun", values):
                processes[key] = _freerun(key, entry_fields(where, values, findings), settings)
            case Entry("daemon", values):
                processes[key] = _daemon(key, entry_fields(where, values, findings), settings)
            case _:
                processes[key] = None
                kinds = ("managed", "freerun", "daemon")
                expected = " or ".join(f"{kind}_context_entry(...)" for kind in kinds)
                findings.mistake(where, f"expected {expected}")
    _check_sinks(processes, findings)
    return processes


def check_classes(processes: Mapping[str, Process], findings: Findings) -> None:
    """Imports the class of each process; mistakes are added to the findings.

    The built-in classes are not imported: that would take most of the time of a start.
    """
    pooled = Deployment(processes, {}).pooled()
    for name, process in processes.items():
        if process.classname is not None and process.classname not in list(BuiltIn):
            is_pooled = name in pooled and pooled[name].command is None
            try:
                (pooled_class if is_pooled else classes.resolve)(process.classname)
            except InvalidValue as error:
                findings.mistake(f"process {name}", f"classname: {error}")


def _common(key: str, fields: FieldReader, settings: Settings) -> dict[str, Any]:
    """The fields of all processes."""
    fields.required("process_name", "present_on_boxes")
    process_fields.check_name(key, "process_name", fields)
    if key == POOL:
        fields.mistake("process_name", f"{POOL} is the pool of each box: choose another name")
    return {
        "name": key,
        "classname": process_fields.classname(fields),
        "token": fields.text("token", key),
        "present_on_boxes": process_fields.present_on_boxes(fields),
        "arguments": process_fields.arguments(fields),
        "is_on": process_fields.is_on(fields, settings),
    }


def _working(
    key: str, fields: FieldReader, settings: Settings, kind: type[WorkingProcess]
) -> dict[str, Any]:
    """The fields of all processes with units of work; their defaults differ by kind."""
    is_freerun = kind is FreerunProcess
    provided, attempts = (_PROVIDED_TO_RUNS, 1) if is_freerun else (_PROVIDED, 3)
    common = _common(key, fields, settings)
    options = process_fields.option_arguments(fields)
    return {
        **common,
        "instances": _instances(fields, POOLED if is_freerun or fields.has("command") else 1),
        "command": process_fields.command(fields, provided, common["arguments"], options),
        "option_arguments": options,
        **command_fields(fields, settings.box_id, common["present_on_boxes"]),
        "max_attempts": fields.integer("max_attempts", attempts, low=1),
        "retry_backoff": process_fields.seconds(fields, "retry_backoff", 60.0, least=NO_TIME),
        "heartbeat_timeout": process_fields.seconds(fields, "heartbeat_timeout", 60.0),
        "resubmit_after": process_fields.seconds(fields, "resubmit_after", 3600.0),
        "life_support": process_fields.seconds(fields, "life_support", 48 * 3600.0),
        "timeout": process_fields.seconds(fields, "timeout", 0.0) or None,
    }


def _instances(fields: FieldReader, default: int) -> int:
    """The workers on each box, or POOLED."""
    given = fields.get("instances")
    if given == "pool":
        return POOLED
    if isinstance(given, str):
        expected = f"'pool' or a whole number, 1 to {MOST_INSTANCES}"
        fields.mistake("instances", f"expected {expected}, not {given!r}")
        return default
    return fields.integer("instances", default, low=1, high=MOST_INSTANCES)


def _daemon(key: str, fields: FieldReader, settings: Settings) -> DaemonProcess:
    fields.required("classname")
    instances = fields.integer("instances", 1, low=1, high=MOST_INSTANCES)
    process = DaemonProcess(**_common(key, fields, settings), instances=instances)
    fields.done()
    return process


def _freerun(key: str, fields: FieldReader, settings: Settings) -> FreerunProcess:
    has_trigger = fields.has("trigger_frequency")
    frequency = process_fields.trigger_frequency(fields, "") if has_trigger else None
    process = FreerunProcess(
        **_working(key, fields, settings, FreerunProcess),
        trigger_frequency=frequency or None,
        max_active=fields.integer("max_active", 1, low=1),
    )
    if fields.has("max_active") and not process.is_pooled:
        fields.mistake("max_active", "instances says how many runs take place at once: choose one")
    fields.done()
    return process


def _managed(key: str, fields: FieldReader, settings: Settings) -> ManagedProcess | None:
    fields.required("time_qualifier")
    working = _working(key, fields, settings, ManagedProcess)
    qualifier = fields.choice("time_qualifier", Qualifier.DAILY)
    grouping = fields.integer("time_grouping", 1, low=1, high=largest_grouping(qualifier))
    process = ManagedProcess(
        **working,
        qualifier=qualifier,
        source=fields.text("source") or None,
        sink=fields.text("sink") or None,
        state_machine=fields.choice("state_machine_name", StateMachine.DISCRETE),
        blocking=fields.choice("blocking_type", Blocking.NORMAL),
        trigger_frequency=process_fields.trigger_frequency(fields, "every 600"),
        time_grouping=grouping,
        also_reads=process_fields.also_reads(fields),
        settle=process_fields.seconds(fields, "settle", 300.0, least=NO_TIME),
        max_active=fields.integer("max_active", 8, low=1),
        late_data=fields.choice("late_data", LateData.REPROCESS),
        on_failure=fields.choice("on_failure", OnFailure.BLOCK),
        retry_failed=process_fields.retry_failed(fields),
        refresh=process_fields.refresh(fields),
    )
    if process.on_failure is OnFailure.SKIP and process.retry_failed is not None:
        fields.mistake("retry_failed", "nothing stays failed with on_failure='skip': choose one")
    fields.done()
    return process if fields.get("time_qualifier") == qualifier.value else None


def _check_sinks(processes: Mapping[str, Process | None], findings: Findings) -> None:
    """Reports collections with several writers, which would remove each other's rows."""
    writers: defaultdict[str, list[str]] = defaultdict(list)
    for name, process in processes.items():
        if isinstance(process, ManagedProcess) and process.sink:
            writers[process.sink].append(name)
    for sink, names in writers.items():
        if len(names) > 1:
            findings.mistake(f"sink {sink}", f"more than one process writes it: {', '.join(names)}")
