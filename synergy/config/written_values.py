"""The values of settings as they are written, in settings files and in the environment.

A setting that may hold a secret can be given as `<NAME>_FILE`, the path of a file with its value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from synergy.config import stores
from synergy.config.findings import Findings
from synergy.config.older_names import SETTINGS, setting_advice
from synergy.config.permissions import check_secret_file
from synergy.config.secrets import content_of, secrets_in
from synergy.config.settings import NAMES, PREFIX, SECRET
from synergy.config.source import run_file
from synergy.errors import InvalidValue
from synergy.schedule.format.literals import suggestion

# Variables with the prefix that are not settings: those of the supervisor for its processes, of
# command workers for their programs, of the program and its launcher, and of tests.
_INTERNAL = re.compile(
    r"SYNERGY_(RUN|READY_FD|UNIT|TIMEPERIOD|GENERATION|ATTEMPT|IDEMPOTENCY_KEY|NO_VENV|PROGRAM|PROJECT|TEST_.*)"
)
DEFAULT_ENVIRONMENT = "dev"
_FILES = {f"{name}_file": name for name in SECRET}


@dataclass(frozen=True, slots=True)
class WrittenValue:
    """A value and its source (`SYNERGY_STORE`, `settings/dev.py STORE`).

    `file` is the file that holds the value; None for the environment. With `is_path` the value is
    the path of a file that holds the setting's value.
    """

    value: object
    where: str
    file: Path | None = None
    is_path: bool = False


def written_values(
    project: Path, environ: Mapping[str, str], findings: Findings
) -> tuple[str, dict[str, WrittenValue]]:
    """The name of the environment, and the value of each setting that is given.

    The settings file of the environment overrides `base.py`, and variables override both.
    """
    if (project / "settings.py").is_file():
        findings.warning("settings.py", "it is not read: settings are in the folder settings")
    env = environ.get("SYNERGY_ENV") or DEFAULT_ENVIRONMENT
    values: dict[str, WrittenValue] = {}
    for name in _files(project, environ, findings):
        values |= _from_file(project, name, findings)
    values |= _from_environ(environ, findings)
    for name in SECRET:
        if name in values:
            values[name] = _resolved(values[name], project, findings)
            _check_readers(name, values[name], findings)
    return env, values


def _files(project: Path, environ: Mapping[str, str], findings: Findings) -> list[str]:
    """The names of the settings files to be read; only one that SYNERGY_ENV names has to exist."""
    there = {path.stem for path in (project / "settings").glob("*.py")} - {"__init__"}
    files = ["base"] if "base" in there else []
    env = environ.get("SYNERGY_ENV") or DEFAULT_ENVIRONMENT
    choices = there - {"base"}
    if env in choices:
        files.append(env)
    elif environ.get("SYNERGY_ENV"):
        hint = suggestion(env, choices)
        if hint.startswith("did"):
            hint += f" settings/ has {', '.join(sorted(choices))}"
        findings.mistake("SYNERGY_ENV", f"no settings for {env!r}: {hint}")
    return files


def _from_file(project: Path, name: str, findings: Findings) -> dict[str, WrittenValue]:
    path = project / "settings" / f"{name}.py"
    where = f"settings/{name}.py"
    found = run_file(path, project, findings) or {}
    _refuse_older(found.get("settings"), where, findings)
    values = {
        key.lower(): WrittenValue(value, f"{where} {key}", path)
        for key, value in found.items()
        if key.isupper() and _is_known(key.lower(), where, findings)
    }
    return _by_setting(values, findings)


def _refuse_older(settings: object, where: str, findings: Findings) -> None:
    """Reports the items of the dictionary `settings`, which held all settings in older versions."""
    for name in settings if isinstance(settings, Mapping) else ():
        findings.mistake(f"{where} settings", f"{name!s:.60}: {setting_advice(str(name))}")


def _from_environ(environ: Mapping[str, str], findings: Findings) -> dict[str, WrittenValue]:
    """The values of the environment; empty variables are ignored."""
    values = {}
    for key, value in sorted(environ.items()):
        if not key.startswith(PREFIX) or key == "SYNERGY_ENV" or _INTERNAL.fullmatch(key):
            if key.upper().startswith(PREFIX) and not key.startswith(PREFIX):
                meant = key.upper()
                findings.warning(key, f"is ignored: variables are in upper case, such as {meant}")
            continue
        name = key.removeprefix(PREFIX).lower()
        if _is_known(name, key, findings) and value:
            values[name] = WrittenValue(value, key)
    return _by_setting(values, findings)


def _is_known(name: str, where: str, findings: Findings) -> bool:
    known = (*NAMES, *_FILES)
    if name in SETTINGS and name not in known:
        findings.mistake(where, f"{name} is of an older version: {SETTINGS[name]}")
    elif name not in known:
        findings.mistake(where, f"unknown setting {name}: {suggestion(name, (*known, 'env'))}")
    return name in known


def _by_setting(values: Mapping[str, WrittenValue], findings: Findings) -> dict[str, WrittenValue]:
    """The values by setting; a setting that is given both as value and as file is a mistake."""
    found = {name: value for name, value in values.items() if name not in _FILES}
    for name in values.keys() & _FILES:
        path, setting = values[name], _FILES[name]
        if not path.value:
            continue
        if setting in found and found[setting].value:
            other = found[setting].where
            findings.mistake(path.where, f"{other} is given as well: remove one of the two")
        found[setting] = replace(path, is_path=True)
    return found


def _resolved(written: WrittenValue, project: Path, findings: Findings) -> WrittenValue:
    """The value that a path stands for, without the end of its line; "" if it cannot be read."""
    if not written.is_path:
        return written
    try:
        path = _path(written.value, project)
        return WrittenValue(content_of(path), written.where, path)
    except InvalidValue as error:
        findings.mistake(written.where, str(error))
        return WrittenValue("", written.where)


def _path(value: object, project: Path) -> Path:
    if isinstance(value, str | Path):
        return stores.whole_path(project, str(value))
    raise InvalidValue(f"expected the path of a file, not {value!r}")


def _check_readers(name: str, written: WrittenValue, findings: Findings) -> None:
    """Warns about a file that holds a secret and that other users can read."""
    if written.file is not None and any(secrets_in(name, str(written.value or ""))):
        check_secret_file(written.where, written.file, findings)
