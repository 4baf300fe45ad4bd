"""Crontabs as a part of the context: the files in `crontabs/` beside `context.py`.

`launch.py schedule import-crontab` writes one file for each crontab. It holds entries of
`process_context` and `schedule_context` as JSON: for each command a free-run process, and a
schedule of the same name. Commands thus come from files of the operator only; the store holds the
schedule, which names the process.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from synergy.config.context import Entry
from synergy.config.findings import Findings

FOLDER = "crontabs"
KINDS = {"process_context": "freerun", "schedule_context": "schedule"}

Fields = dict[str, Any]


def read_crontabs(folder: Path, findings: Findings) -> dict[str, dict[str, Entry]]:
    """The entries of all files in the folder, for each dictionary of the context."""
    entries: dict[str, dict[str, Entry]] = {name: {} for name in KINDS}
    try:
        files = crontab_files(folder)
    except OSError as error:
        findings.mistake(FOLDER, f"{folder} cannot be read: {error.strerror}")
        return entries
    for file in files:
        where = f"{FOLDER}/{file.name}"
        for name, found in crontab_content(file, where, findings).items():
            for key, fields in found.items():
                if key in entries[name]:
                    findings.mistake(where, f"{key} is in another crontab, too: import one of them")
                entries[name][key] = Entry(KINDS[name], fields)
    return entries


def crontab_files(folder: Path) -> list[Path]:
    """The files of the crontabs that were imported; raises OSError if the folder is unreadable."""
    try:
        return sorted(file for file in folder.iterdir() if file.suffix == ".json")
    except FileNotFoundError:
        return []


def crontab_content(file: Path, where: str, findings: Findings) -> dict[str, dict[str, Fields]]:
    """The fields of the entries in a file; nothing, with a finding, if it cannot be used."""
    again = "import the crontab again, or remove the file"
    try:
        found = json.loads(file.read_bytes())
    except OSError as error:
        findings.mistake(where, f"cannot be read: {error.strerror}")
        return {}
    except (ValueError, RecursionError) as error:
        findings.mistake(where, f"{error}: {again}")
        return {}
    is_sound = isinstance(found, dict) and found.keys() <= KINDS.keys()
    if not is_sound or not all(map(_is_entries, found.values())):
        findings.mistake(where, f"expected objects {' and '.join(KINDS)} with entries: {again}")
        return {}
    return dict(found)


def _is_entries(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(entry, dict) for entry in value.values())
