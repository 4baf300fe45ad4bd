"""`launch.py schedule import-crontab`: lines of cron become processes and schedules."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synergy.cli import output
from synergy.cli.options import DRY_RUN, JSON, Verbs, argument
from synergy.errors import InvalidValue
from synergy.program import PROGRAM

if TYPE_CHECKING:
    from synergy.config.crontab_import import Imported
    from synergy.config.settings import Settings
    from synergy.schedule.cron.crontab import Remark

VERBS = Verbs()


@VERBS.verb(
    """crontab -l | launch.py schedule import-crontab - --dry-run
    crontab -u ann -l | launch.py schedule import-crontab - --of ann
    launch.py schedule import-crontab /etc/cron.d/backup --user""",
    argument("file", metavar="FILE", help="a crontab; - for standard input"),
    argument(
        "--user", action="store_true", help="a user stands before each command (/etc/crontab)"
    ),
    argument("--of", metavar="USER", help="whose crontab it is; default: yours"),
    argument("--name", metavar="NAME", help="begins the names; default: that of FILE or USER"),
    JSON,
    DRY_RUN,
    records=("file", "user", "of", "name"),
)
def run_import_crontab(arguments: argparse.Namespace) -> None:
    """Make processes and schedules of a crontab; `launch.py reload` then takes them over.

    They are written into a file in crontabs/, beside context.py. What cannot be taken is reported
    line by line. Importing the file again replaces what became of it before.
    """
    from synergy.cli.input_files import read_text
    from synergy.config import crontab_import
    from synergy.config.loader import crontab_folder, load_settings
    from synergy.config.project import project_folder
    from synergy.schedule.cron.crontab import read_crontab

    if arguments.user and arguments.of:
        raise InvalidValue("with --user each line names its user: leave --of out")
    user = None if arguments.user else arguments.of or crontab_import.user_name(os.geteuid())
    stem = crontab_import.stem_of(arguments.name or _stem(arguments.file, user))
    crontab = read_crontab(read_text(arguments.file), user)
    settings = load_settings()  # a file that is damaged can be imported again
    owner = crontab_import.owner_of(settings.home)
    imported = crontab_import.entries_of(
        crontab, stem, settings.box_id, crontab_import.local_zone(), owner
    )
    _check(imported, settings)
    file = crontab_folder(settings, project_folder()) / f"{stem}.json"
    if not imported.processes:
        _note_remarks(imported)
        step = f"to remove what it became before: remove {file}, then {PROGRAM} reload"
        raise InvalidValue(f"{arguments.file}: no line of it can be taken; {step}")
    changes = _changes(imported, file)
    if not arguments.dry_run and any(changes[kind] for kind in ("new", "changed", "removed")):
        crontab_import.write_crontab(file, imported, owner)
    if arguments.json:
        output.print_json(_json(imported, file, changes, arguments))
    else:
        _print(imported, file, changes, arguments)


def _stem(file: str, user: str | None) -> str:
    return user or "crontab" if file == "-" else Path(file).name.removesuffix(".txt")


def _check(imported: Imported, settings: Settings) -> None:
    """Raises ConfigurationError if the context would refuse an entry."""
    from synergy.config.context import Entry
    from synergy.config.findings import Findings
    from synergy.config.processes import read_processes
    from synergy.config.schedules import read_schedules

    findings = Findings()
    entries = {name: Entry("freerun", fields) for name, fields in imported.processes.items()}
    processes = read_processes(entries, settings, findings)
    schedules = {name: Entry("schedule", fields) for name, fields in imported.schedules.items()}
    read_schedules(schedules, processes, settings, findings)
    findings.raise_mistakes()


def _changes(imported: Imported, file: Path) -> dict[str, list[str]]:
    """The names by what happens to them."""
    from synergy.config.crontabs import crontab_content
    from synergy.config.findings import Findings

    before = crontab_content(file, str(file), Findings()) if file.exists() else {}
    old, new = _by_name(before), _by_name(imported.content)
    return {
        "new": sorted(new.keys() - old.keys()),
        "changed": sorted(name for name in new.keys() & old.keys() if new[name] != old[name]),
        "unchanged": sorted(name for name in new.keys() & old.keys() if new[name] == old[name]),
        "removed": sorted(old.keys() - new.keys()),
    }


def _by_name(content: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[Any, Any]]:
    processes = content.get("process_context", {})
    schedules = content.get("schedule_context", {})
    return {name: (processes.get(name), schedules.get(name)) for name in {*processes, *schedules}}


def _json(
    imported: Imported,
    file: Path,
    changes: Mapping[str, list[str]],
    arguments: argparse.Namespace,
) -> dict[str, object]:
    lines = [
        {
            "line": number,
            "schedule": name,
            "cron": imported.schedules[name]["trigger"]["cron"],
            "zone": imported.schedules[name]["zone"],
            **{
                field: imported.processes[name].get(field)
                for field in ("command", "stdin", "cwd", "user", "variables")
            },
        }
        for number, name in sorted(imported.names.items())
    ]
    return {
        "file": str(file),
        "lines": lines,
        "refused": imported.refused,
        "notes": imported.notes,
        **changes,
        "dry_run": arguments.dry_run,
    }


def _print(
    imported: Imported,
    file: Path,
    changes: Mapping[str, list[str]],
    arguments: argparse.Namespace,
) -> None:
    from synergy.queries.wording import counted

    output.table(
        ["line", "becomes", "due", "zone", "runs"],
        [
            [
                number,
                name,
                ", ".join(imported.schedules[name]["trigger"]["cron"]),
                imported.schedules[name]["zone"],
                output.one_line(imported.processes[name]["command"][2].replace("$$", "$"), 60),
            ]
            for number, name in sorted(imported.names.items())
        ],
    )
    _note_remarks(imported)
    counts = ", ".join(f"{len(names)} {kind}" for kind, names in changes.items())
    number = len(imported.processes)
    verb = "would be" if arguments.dry_run else "is" if number == 1 else "are"
    output.say(f"{counted(number, 'schedule')} {verb} in {file}: {counts}")
    if refused := len(imported.refused):
        output.say(f"{counted(refused, 'line')} {'was' if refused == 1 else 'were'} not taken")
    if not arguments.dry_run:
        output.note(f"next: {PROGRAM} reload; then remove the lines from the crontab of cron")


def _note_remarks(imported: Imported) -> None:
    for remark in imported.refused:
        output.error(_remark(remark))
    for remark in imported.notes:
        output.warn(_remark(remark))


def _remark(remark: Remark) -> str:
    return f"line {remark.line}: {output.one_line(remark.text, 60)}: {remark.what}"
