"""From the entries of `process_context` to processes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TypedDict

from synergy.config import classes
from synergy.config.context import Entry
from synergy.config.findings import Findings
from synergy.config.settings import Settings
from synergy.errors import InvalidValue
from synergy.model.process import (
    Blocking,
    DaemonProcess,
    FreerunProcess,
    LateData,
    ManagedProcess,
    OnFailure,
    Process,
    StateMachine,
)
from synergy.schedule import trigger
from synergy.schedule.format.field_reader import NO_TIME, SHORTEST, FieldReader
from synergy.timeperiod import Qualifier, largest_grouping

_PLACEHOLDER = re.compile(r"\$\{([^}]*)\}?")
_PROVIDED = ("timeperiod", "start", "end", "attempt", "home")
BY_TRIGGER = "trigger"  # for `refresh`: interim runs come with the trigger
REFRESH = 10.0  # seconds between two interim runs, where the process says nothing
_PROVIDED_TO_RUNS = (*_PROVIDED, "run", "state", "generation")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", re.ASCII)
BUILT_IN = frozenset(
    {
        "synergy.agent.agent.Agent.start",
        "synergy.mx.server.MX.start",
        "synergy.scheduler.scheduler.Scheduler.start",
    }
)
"""The classes of daemons that come with Synergy."""


def read_processes(
    entries: Mapping[str, object], settings: Settings, findings: Findings
) -> dict[str, Process | None]:
    """The processes by name; None for one of which not even the kind or qualifier is known."""
    processes: dict[str, Process | None] = {}
    for key, entry in entries.items():
        where = f"process {key}"
        match entry:
            case Entry("managed", values):
                processes[key] = _managed(key, findings.fields(where, values), settings)
            case Entry("freerun", values):
                processes[key] = _freerun(key, findings.fields(where, values), settings)
            case Entry("daemon", values):
                processes[key] = _daemon(key, findings.fields(where, values), settings)
            case _:
                processes[key] = None
                kinds = ("managed", "freerun", "daemon")
                expected = " or ".join(f"{kind}_context_entry(...)" for kind in kinds)
                findings.mistake(where, f"expected {expected}")
    _check_sinks(processes, findings)
    return processes


def check_classes(processes: Mapping[str, Process], findings: Findings) -> None:
    """Imports the class of each process; whatever is wrong with it goes into the findings.

    Those that come with Synergy are there: to import them takes longer than all else at a start.
    """
    for name, process in processes.items():
        if process.classname is not None and process.classname not in BUILT_IN:
            try:
                classes.resolve(process.classname)
            except InvalidValue as error:
                findings.mistake(f"process {name}", f"classname: {error}")


class _Common(TypedDict):
    """The fields that all processes have."""

    name: str
    classname: str | None
    token: str
    present_on_boxes: tuple[str, ...]
    instances: int
    arguments: Mapping[str, object]
    is_on: bool


def _common(key: str, fields: FieldReader, settings: Settings) -> _Common:
    fields.required("process_name", "present_on_boxes")
    check_name(key, "process_name", fields)
    return _Common(
        name=key,
        classname=_classname(fields),
        token=fields.text("token", key),
        present_on_boxes=_patterns(fields),
        instances=fields.integer("instances", 1, low=1),
        arguments=_arguments(fields),
        is_on=_is_on(fields, settings),
    )


class _Working(_Common):
    """The fields that all processes with units of work have."""

    command: tuple[str, ...] | None
    max_attempts: int
    retry_backoff: float
    heartbeat_timeout: float
    resubmit_after: float
    life_support: float
    timeout: float | None


def _working(
    key: str, fields: FieldReader, settings: Settings, provided: Sequence[str], attempts: int
) -> _Working:
    """`provided` are the names that a command may hold, `attempts` how many there usually are."""
    common = _common(key, fields, settings)
    return _Working(
        **common,
        command=_command(fields, (*provided, *common["arguments"])),
        max_attempts=fields.integer("max_attempts", attempts, low=1),
        retry_backoff=_seconds(fields, "retry_backoff", 60.0, least=NO_TIME),
        heartbeat_timeout=_seconds(fields, "heartbeat_timeout", 60.0),
        resubmit_after=_seconds(fields, "resubmit_after", 3600.0),
        life_support=_seconds(fields, "life_support", 48 * 3600.0),
        timeout=_seconds(fields, "timeout", 0.0) or None,
    )


def _daemon(key: str, fields: FieldReader, settings: Settings) -> DaemonProcess:
    fields.required("classname")
    process = DaemonProcess(**_common(key, fields, settings))
    fields.done()
    return process


def _freerun(key: str, fields: FieldReader, settings: Settings) -> FreerunProcess:
    frequency = _trigger(fields, "") if fields.has("trigger_frequency") else None
    process = FreerunProcess(
        **_working(key, fields, settings, _PROVIDED_TO_RUNS, 1),
        trigger_frequency=frequency or None,
    )
    fields.done()
    return process


def _managed(key: str, fields: FieldReader, settings: Settings) -> ManagedProcess | None:
    fields.required("time_qualifier")
    working = _working(key, fields, settings, _PROVIDED, 3)
    qualifier = fields.choice("time_qualifier", Qualifier.DAILY)
    grouping = fields.integer("time_grouping", 1, low=1, high=largest_grouping(qualifier))
    process = ManagedProcess(
        **working,
        qualifier=qualifier,
        source=fields.text("source") or None,
        sink=fields.text("sink") or None,
        state_machine=fields.choice("state_machine_name", StateMachine.DISCRETE),
        blocking=fields.choice("blocking_type", Blocking.NORMAL),
        trigger_frequency=_trigger(fields, "every 600"),
        time_grouping=grouping,
        also_reads=_also_reads(fields),
        settle=_seconds(fields, "settle", 300.0, least=NO_TIME),
        max_active=fields.integer("max_active", 8, low=1),
        late_data=fields.choice("late_data", LateData.REPROCESS),
        on_failure=fields.choice("on_failure", OnFailure.BLOCK),
        retry_failed=_retry_failed(fields),
        refresh=_refresh(fields),
    )
    if process.on_failure is OnFailure.SKIP and process.retry_failed is not None:
        fields.mistake("retry_failed", "nothing stays failed with on_failure='skip': choose one")
    fields.done()
    return process if fields.get("time_qualifier") == qualifier.value else None


def _retry_failed(fields: FieldReader) -> float | None:
    """None where a failed period is not tried again by itself."""
    return _seconds(fields, "retry_failed", 0.0) if fields.has("retry_failed") else None


def _refresh(fields: FieldReader) -> float | None:
    """None where interim runs come with the trigger."""
    value = fields.get("refresh")
    if value == BY_TRIGGER:
        return None
    if isinstance(value, str) and not value[:1].isdigit():
        fields.mistake("refresh", f"expected a duration such as '60s' or 'trigger', not {value!r}")
        return REFRESH
    return _seconds(fields, "refresh", REFRESH)


def _also_reads(fields: FieldReader) -> tuple[int, ...]:
    """Distances to earlier periods; whole numbers below 0."""
    value = fields.get("also_reads")
    if value is None:
        return ()
    if not isinstance(value, list | tuple) or not all(
        isinstance(item, int) and not isinstance(item, bool) and -1000 <= item < 0 for item in value
    ):
        fields.mistake(
            "also_reads", f"expected a list of whole numbers, -1000 to -1, not {value!r}"
        )
        return ()
    return tuple(sorted(set(value)))


def _seconds(fields: FieldReader, name: str, default: float, least: timedelta = SHORTEST) -> float:
    return fields.duration(name, timedelta(seconds=default), least=least).total_seconds()


def _arguments(fields: FieldReader) -> dict[str, object]:
    found = fields.get("arguments")
    if found is None:
        return {}
    if not isinstance(found, Mapping) or not all(isinstance(key, str) for key in found):
        fields.mistake("arguments", f"expected a dictionary with texts as keys, not {found!r}")
        return {}
    return dict(found)


def check_name(key: str, field: str, fields: FieldReader) -> None:
    """The name that an entry gives itself must be the one that it is filed under."""
    if not _NAME.fullmatch(key):
        fields.mistake(field, "expected letters, digits and . _ - only, at most 100")
    name = fields.text(field, key)
    if name != key:
        fields.mistake(field, f"{name!r} differs from the key {key!r} that it is filed under")


def _classname(fields: FieldReader) -> str | None:
    path = fields.text("classname")
    if not path:
        return None
    try:
        classes.split(path)
    except InvalidValue as error:
        fields.mistake("classname", str(error))
        return None
    return path


def _command(fields: FieldReader, known: Sequence[str]) -> tuple[str, ...] | None:
    """The command, in which these names may stand, or `classname`: one of them must be given."""
    if fields.has("command") == fields.has("classname"):
        both = fields.has("command")
        fields.location.mistake(
            "expected classname or command, " + ("not both" if both else "and there is neither"),
        )
    if not fields.has("command"):
        return None
    command = fields.strings("command")
    if not command:
        fields.mistake("command", "expected a program and its arguments, as a list of texts")
    for name in (name for item in command for name in _PLACEHOLDER.findall(item)):
        if name not in known:
            expected = ", ".join(f"${{{word}}}" for word in known)
            fields.mistake("command", f"unknown ${{{name}}}: expected one of {expected}")
    return command


def _is_on(fields: FieldReader, settings: Settings) -> bool:
    """True, False, or the name of the setting that says so."""
    value = fields.get("is_on")
    if value == "demo_stream":
        return settings.demo_stream
    if isinstance(value, str):
        fields.mistake("is_on", f"expected True, False or 'demo_stream', not {value!r}")
        return False
    return fields.flag("is_on", default=True)


def _patterns(fields: FieldReader) -> tuple[str, ...]:
    patterns = fields.strings("present_on_boxes")
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            fields.mistake("present_on_boxes", f"{pattern!r} is no regular expression: {error}")
    return patterns


def _trigger(fields: FieldReader, default: str) -> str:
    """The trigger in its canonical form."""
    text = fields.text("trigger_frequency", default)
    if not text:
        return default
    try:
        return str(trigger.parse(text))
    except InvalidValue as error:
        fields.mistake("trigger_frequency", str(error))
        return default


def _check_sinks(processes: Mapping[str, Process | None], findings: Findings) -> None:
    """Each collection has one writer; two would remove each other's rows."""
    writers: defaultdict[str, list[str]] = defaultdict(list)
    for name, process in processes.items():
        if isinstance(process, ManagedProcess) and process.sink:
            writers[process.sink].append(name)
    for sink, names in writers.items():
        if len(names) > 1:
            findings.mistake(f"sink {sink}", f"more than one process writes it: {', '.join(names)}")
