"""Reads the entries of `schedule_context` as definitions in canonical form."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from synergy.config.context import Entry
from synergy.config.findings import Findings
from synergy.config.settings import Settings
from synergy.errors import InvalidValue
from synergy.model.process import BuiltIn, FreerunProcess, Process
from synergy.schedule import trigger
from synergy.schedule.check_context import InvalidDefinition, Known
from synergy.schedule.definition import Definition, DeliveryProgram, Times, WorkerProgram
from synergy.schedule.format.read import read, warnings
from synergy.schedule.format.write import write

_NAMES = ("schedule_name", "name")


def read_schedules(
    entries: Mapping[str, object],
    processes: Mapping[str, Process | None],
    settings: Settings,
    findings: Findings,
    folder: Path = Path(),
) -> dict[str, Mapping[str, object]]:
    """The valid schedules by name, with those of free-run processes.

    Names of calendar files are relative to `folder`.
    """
    schedules: dict[str, Mapping[str, object]] = {}
    known = _known(processes) if entries else Known()
    for key, entry in entries.items():
        match entry:
            case Entry("schedule", values):
                dated = _with_calendars(key, values, folder, findings)
                definition = _read(key, dated, known, findings)
                if definition is not None:
                    _check_target(key, definition, settings, findings)
                    schedules[key] = write(definition)
            case _:
                findings.mistake(f"schedule {key}", "expected schedule_context_entry(...)")
    for name, process in processes.items():
        if isinstance(process, FreerunProcess) and process.trigger_frequency is not None:
            if name in entries:
                findings.mistake(
                    f"process {name}",
                    "trigger_frequency: schedule_context has a schedule of that name, too: "
                    "give one of them",
                )
            else:
                schedules[name] = write(_of_process(name, process.trigger_frequency))
    if schedules and not _has_agent(processes):
        what = f"no process runs {BuiltIn.AGENT}: nothing will be triggered"
        findings.warning("schedule_context", what)
    return schedules


def _known(processes: Mapping[str, Process | None]) -> Known:
    """What definitions may refer to; imported on demand: every command reads the context."""
    from synergy.delivery.definition_checks import known

    return known(processes)


def _with_calendars(
    key: str, values: Mapping[str, object], folder: Path, findings: Findings
) -> Mapping[str, object]:
    """The fields, with the dates of calendar files; a file that cannot be read is left out."""
    from synergy.config.calendar_files import with_dates

    try:
        return with_dates(values, folder)
    except InvalidValue as error:
        findings.mistake(f"schedule {key}", str(error))
        return {**values, "exclude": None}


def _read(
    key: str, values: Mapping[str, object], known: Known, findings: Findings
) -> Definition | None:
    where = f"schedule {key}"
    given = [name for name in _NAMES if values.get(name) is not None]
    if not given:
        findings.mistake(where, "schedule_name is missing")
    for name in given:
        if values[name] != key:
            what = f"{values[name]!r} differs from the key {key!r} of its entry"
            findings.mistake(where, f"{name}: {what}")
    if values.get("enabled") is False:
        what = "a declared schedule starts enabled: omit it, and disable the schedule later"
        findings.mistake(where, f"enabled: {what}")
    data = {"from" if name == "from_" else name: value for name, value in values.items()}
    try:
        definition = read({**data, "schedule_name": None, "name": key}, known)
    except InvalidDefinition as error:
        for mistake in error.mistakes:
            findings.mistake(where, mistake)
        return None
    for warning in warnings(definition):
        findings.warning(where, warning)
    return definition


def _check_target(key: str, definition: Definition, settings: Settings, findings: Findings) -> None:
    """Warns about a target that this box may not send to; another box may have other settings."""
    if not isinstance(definition.program, DeliveryProgram):
        return
    from synergy.delivery.addresses import AddressRules
    from synergy.delivery.definition_checks import refusal

    rules = AddressRules(settings.webhook_networks, settings.webhook_plaintext)
    if why := refusal(definition.program.target, rules):
        findings.warning(f"schedule {key}", f"target: {why}")


def _of_process(name: str, frequency: str) -> Definition:
    """The schedule of a free-run process that has a trigger."""
    return Definition(
        name=name, program=WorkerProgram(name), trigger=Times(trigger.parse(frequency))
    )


def _has_agent(processes: Mapping[str, Process | None]) -> bool:
    return any(p is not None and p.classname == BuiltIn.AGENT for p in processes.values())
