"""Loads and checks settings and context; every mistake is found at once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from synergy.config import classes, mx, settings_reader
from synergy.config.crontabs import FOLDER, crontab_files, read_crontabs
from synergy.config.duplicates import check_duplicates
from synergy.config.findings import Findings
from synergy.config.older_names import NAMES
from synergy.config.permissions import check_permissions
from synergy.config.pool import with_pool
from synergy.config.processes import check_classes, read_processes
from synergy.config.programs import check_programs
from synergy.config.project import project_folder
from synergy.config.secrets import known_secrets
from synergy.config.settings import Settings
from synergy.config.source import forget_imports, put_on_path, run_file, shown
from synergy.config.trees import read_trees
from synergy.config.weak_secrets import check_secrets
from synergy.engines import bus_engine, store_engine
from synergy.errors import ConfigurationError
from synergy.model.process import Deployment, FreerunProcess, Process
from synergy.program import LAUNCHER, PROGRAM
from synergy.runtime import masking


@dataclass(frozen=True, slots=True)
class Checked:
    """The outcome of a check; settings and deployment are sound only without mistakes."""

    settings: Settings
    deployment: Deployment
    mistakes: tuple[str, ...]
    warnings: tuple[str, ...]


def load_settings(project: Path | None = None, environ: Mapping[str, str] = os.environ) -> Settings:
    """The settings of a project, or of the one that is found.

    Raises ConfigurationError with all mistakes in them, or if there is no project.
    """
    findings = Findings()
    settings = _settings(project or project_folder(environ), environ, findings)
    findings.raise_mistakes()
    return settings


def check(project: Path, environ: Mapping[str, str], *, imports: bool = True) -> Checked:
    """Settings and deployment, with all mistakes; `imports` checks the classes of processes too."""
    findings = Findings()
    settings = _settings(project, environ, findings)
    if mistake := mx.users_mistake(settings.mx_users_file):
        findings.mistake("mx_users_file", mistake)
    _check_connections(settings, findings)
    deployment = _deployment(settings, project, findings)
    check_permissions(settings, _executed(settings, project, deployment), findings)
    if imports:
        check_classes(deployment.processes, findings)
        check_programs(deployment.processes.values(), settings, project, environ, findings)
    return Checked(settings, deployment, tuple(findings.mistakes), tuple(findings.warnings))


def read_again(project: Path, environ: Mapping[str, str], settings: Settings) -> Deployment:
    """The deployment that the context declares now, for a process that has read it before.

    Raises ConfigurationError with all mistakes; also for other settings of home, box, store or bus,
    which a running process cannot take over.
    """
    forget_imports([project, *python_path()])
    found = check(project, environ, imports=False)
    if found.mistakes:
        raise ConfigurationError(found.mistakes)
    for name in ("home", "box_id", "store", "bus"):
        if getattr(found.settings, name) != getattr(settings, name):
            step = f"{PROGRAM} supervisor restart takes it over"
            raise ConfigurationError([f"SYNERGY_{name.upper()} has changed: {step}"])
    return found.deployment


def _settings(project: Path, environ: Mapping[str, str], findings: Findings) -> Settings:
    """The settings, whose secrets this process masks from now on."""
    settings = settings_reader.read(project, environ, findings)
    masking.know(known_secrets(settings, environ))
    return settings


def _check_connections(settings: Settings, findings: Findings) -> None:
    """Warns about connections that others could read, change, or open with a guessed password."""
    for weakness in store_engine(settings.store).weaknesses(settings.store):
        findings.warning("SYNERGY_STORE", weakness)
    for weakness in bus_engine(settings.bus).weaknesses(settings.bus):
        findings.warning("SYNERGY_BUS", weakness)
    check_secrets(settings, findings)


def _executed(settings: Settings, project: Path, deployment: Deployment) -> list[Path]:
    """The files that are executed, as far as they are known without an import."""
    names = dict.fromkeys(("base", settings.env))
    files = [project / "settings" / f"{name}.py" for name in names]
    files += [_module_file(settings.context, project), project / LAUNCHER]
    with suppress(OSError):  # which is a mistake in the context
        files += crontab_files(crontab_folder(settings, project))
    files.append(project / "workers" / "__init__.py")
    for process in deployment.processes.values():
        if process.classname is not None:
            files += _files_of_import(classes.split(process.classname)[0], project)
    return files


def _files_of_import(module: str, project: Path) -> list[Path]:
    """The file of a module, and those of its packages, which may not exist."""
    file = _module_file(module, project)
    packages = list(file.parents)[: module.count(".") + 1]
    return [file, *(folder / "__init__.py" for folder in packages)]


def _deployment(settings: Settings, project: Path, findings: Findings) -> Deployment:
    put_on_path(project)
    path = _module_file(settings.context, project)
    names = run_file(path, project, findings)
    if names is None:
        return Deployment({}, {})
    where = shown(path, project)
    if names.get("mq_queue_context"):
        findings.warning(f"{where} mq_queue_context", NAMES["queue_context_entry"])
    check_duplicates(path, names, where, findings)
    crontabs = read_crontabs(crontab_folder(settings, project), findings)
    return read_context(names, settings, findings, where, path.parent, crontabs)


def read_context(
    names: Mapping[str, object],
    settings: Settings,
    findings: Findings,
    where: str,
    folder: Path,
    crontabs: Mapping[str, Mapping[str, object]] = MappingProxyType({}),
) -> Deployment:
    """The deployment of the three dictionaries of a context, and of crontabs.

    `where` names the context in findings; files that schedules name are relative to `folder`.
    """
    entries = _entries("process_context", names, where, findings)
    _add(crontabs.get("process_context", {}), entries, "process", findings)
    declared = read_processes(entries, settings, findings)
    trees = read_trees(_entries("timetable_context", names, where, findings), declared, findings)
    present = names if names.get("schedule_context") is not None else {"schedule_context": {}}
    entries = _entries("schedule_context", present, where, findings)
    _add(crontabs.get("schedule_context", {}), entries, "schedule", findings)
    schedules = _schedules(entries, declared, settings, findings, folder)
    sound = {name: process for name, process in declared.items() if process is not None}
    return Deployment(with_pool(sound, settings), trees, schedules)


def _add(
    imported: Mapping[str, object], entries: dict[str, object], kind: str, findings: Findings
) -> None:
    """Adds the entries of crontabs to those of the context."""
    for name in imported.keys() & entries.keys():
        findings.mistake(f"{kind} {name}", f"{FOLDER}/ has one of that name, too: rename it here")
    entries |= imported


def _schedules(
    entries: Mapping[str, object],
    declared: Mapping[str, Process | None],
    settings: Settings,
    findings: Findings,
    folder: Path,
) -> dict[str, Mapping[str, object]]:
    """The schedules.

    Every process runs this, so their reader is imported only if the context has schedules or
    free-run processes.
    """
    if not entries and not any(isinstance(each, FreerunProcess) for each in declared.values()):
        return {}
    from synergy.config.schedules import read_schedules

    return read_schedules(entries, declared, settings, findings, folder)


def python_path() -> list[Path]:
    """The folders of PYTHONPATH."""
    return [Path(folder) for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]


def crontab_folder(settings: Settings, project: Path) -> Path:
    """The folder of the crontabs that were imported, beside the context."""
    return _module_file(settings.context, project).parent / FOLDER


def _module_file(module: str, project: Path) -> Path:
    """The file of a module, in the project or in a folder of PYTHONPATH.

    If there is none, the path that it would have in the project.
    """
    expected = project.joinpath(*module.split(".")).with_suffix(".py")
    for folder in (project, *python_path()):
        base = folder.joinpath(*module.split("."))
        for path in (base / "__init__.py", base.with_suffix(".py")):
            if path.is_file():
                return path
    return expected


def _entries(
    name: str, names: Mapping[str, object], where: str, findings: Findings
) -> dict[str, object]:
    """One of the dictionaries of the context."""
    if name not in names:
        findings.mistake(where, f"{name} is missing: expected a dictionary")
        return {}
    found = names[name]
    if not isinstance(found, Mapping):
        findings.mistake(f"{where} {name}", f"expected a dictionary, not {type(found).__name__}")
        return {}
    for key in found:
        if not isinstance(key, str):
            findings.mistake(f"{where} {name}", f"expected texts as keys, not {key!r}")
    return {key: entry for key, entry in found.items() if isinstance(key, str)}
