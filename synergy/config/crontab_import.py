"""Makes entries of the context of a crontab, and writes them to a file.

The environment is that of cron: `SHELL`, `PATH`, `HOME`, `USER` and `LOGNAME`, and what the crontab
assigns. Due times that were missed are not caught up, as in cron.
"""

from __future__ import annotations

import hashlib
import json
import os
import pwd
import re
import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from synergy import private_files
from synergy.config.crontabs import Fields
from synergy.errors import InvalidValue
from synergy.names import SET_FOR_COMMANDS
from synergy.schedule.cron.crontab import CronLine, Crontab, Remark

CRON_PATH = "/usr/bin:/bin"  # the PATH that cron sets

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class Imported:
    """The entries that a crontab became; `names` says which line became which.

    `processes` and `schedules` are fields of context entries, by name.
    """

    processes: Mapping[str, Fields]
    schedules: Mapping[str, Fields]
    names: Mapping[int, str]
    refused: tuple[Remark, ...]
    notes: tuple[Remark, ...]

    @property
    def content(self) -> dict[str, Mapping[str, Fields]]:
        """The content of the file."""
        return {"process_context": self.processes, "schedule_context": self.schedules}


def entries_of(crontab: Crontab, stem: str, box: str, local_zone: str, runner: int) -> Imported:
    """The entries for this box; lines that cannot run as their user are refused.

    `runner` is the number of the user that Synergy runs as.

    Lines with the same command, input and variables become one schedule. Its name is made of
    `stem`, the program and a digest of the command, so that other times, and another order of
    lines, change no name.
    """
    refused, notes = list(crontab.refused), list(crontab.notes)
    alike: defaultdict[str, list[CronLine]] = defaultdict(list)
    for line in crontab.lines:
        try:
            process = json.dumps(_process(line, box, runner), sort_keys=True)
            alike[f"{process} {line.zone}"].append(line)
        except InvalidValue as error:
            refused.append(Remark(line.number, line.text, str(error)))
    processes: dict[str, Fields] = {}
    schedules: dict[str, Fields] = {}
    names: dict[int, str] = {}
    for lines in alike.values():
        name = _name(stem, lines[0], processes)
        processes[name] = {"process_name": name, **_process(lines[0], box, runner)}
        schedules[name] = {
            "schedule_name": name,
            "process": name,
            "trigger": {"cron": list(dict.fromkeys(line.cron for line in lines))},
            "zone": lines[0].zone or local_zone,
            "catchup": "none",
        }
        names |= {line.number: name for line in lines}
        notes += [*_missing(lines[0], processes[name]), *_repeated(lines)]
    return Imported(processes, schedules, names, _by_line(refused), _by_line(notes))


def _by_line(remarks: Iterable[Remark]) -> tuple[Remark, ...]:
    return tuple(sorted(remarks, key=lambda remark: remark.line))


def _process(line: CronLine, box: str, runner: int) -> Fields:
    """The fields of the process; raises InvalidValue if it cannot run as its user here."""
    account = _account(line)
    if runner not in (0, account.pw_uid):
        step = f"import it into a deployment of {account.pw_name}, or of root"
        raise InvalidValue(
            f"it runs as {account.pw_name}, and this deployment runs as {user_name(runner)}: {step}"
        )
    surroundings = {
        "SHELL": "/bin/sh",
        "PATH": CRON_PATH,
        "USER": account.pw_name,
        "HOME": account.pw_dir,
        **line.variables,
        "LOGNAME": account.pw_name,
    }
    for name in ("HOME", "SHELL"):
        if not surroundings[name].startswith("/"):
            what = f"its {name} is {surroundings[name]!r}: expected an absolute path, as in cron"
            raise InvalidValue(what)
    for name in SET_FOR_COMMANDS:
        if name in surroundings:
            raise InvalidValue(f"{name}, assigned above, is set by Synergy: give it another name")
    fields: Fields = {
        "command": [surroundings["SHELL"], "-c", line.command.replace("$", "$$")],
        "cwd": surroundings["HOME"],
        "variables": surroundings,
        "present_on_boxes": [re.escape(box)],
    }
    if line.stdin:
        fields["stdin"] = line.stdin
    if account.pw_uid != runner:
        fields["user"] = account.pw_name
    return fields


def _account(line: CronLine) -> pwd.struct_passwd:
    """The user that a line runs as."""
    if not line.has_user:
        _refuse_user_column(line.command)
    try:
        return pwd.getpwnam(line.user)
    except KeyError:
        step = "; a crontab of a user has no user column: leave --user out" if line.has_user else ""
        raise InvalidValue(f"this machine has no user {line.user}{step}") from None


def user_name(number: int) -> str:
    """The name of a user, or its number if it has none."""
    with suppress(KeyError):
        return pwd.getpwuid(number).pw_name
    return str(number)


def _refuse_user_column(command: str) -> None:
    """Raises InvalidValue for a command whose first word is a user, and no program."""
    word, *rest = command.split(None, 1)
    if not rest or "/" in word or shutil.which(word, path=CRON_PATH):
        return
    try:
        pwd.getpwnam(word)
    except KeyError:
        return
    step = "add --user for a crontab with a user column; if it is a program, write its path"
    raise InvalidValue(f"{word} is a user of this machine: {step}")


def _name(stem: str, line: CronLine, taken: Iterable[str]) -> str:
    words = [word for word in line.command.split() if "=" not in word]
    program = _NOT_IN_NAMES.sub("", Path(words[0]).name)[:30] if words else ""
    content = json.dumps([line.user, line.command, line.stdin])
    digest = hashlib.sha256(content.encode()).hexdigest()[:8]
    name = f"{stem}-{program or 'command'}-{digest}"
    number = 1
    while (unused := name if number == 1 else f"{name}-{number}") in taken:
        number += 1
    return unused


def stem_of(text: str) -> str:
    """The part of names that stands for the crontab; raises InvalidValue if nothing is left."""
    stem = _NOT_IN_NAMES.sub("-", text).strip("-._")[:40]
    if not stem:
        raise InvalidValue(f"{text!r} gives no name: use --name with letters or digits")
    return stem


def _repeated(lines: Sequence[CronLine]) -> Iterator[Remark]:
    first: dict[str, int] = {}
    for line in lines:
        before = first.setdefault(line.cron, line.number)
        if before != line.number:
            yield Remark(line.number, line.text, f"the same as line {before}: it runs once")


def _missing(line: CronLine, process: Fields) -> list[Remark]:
    remarks = []
    if not Path(process["cwd"]).is_dir():
        what = f"its HOME, {process['cwd']}, is no folder here: it would fail"
        remarks.append(Remark(line.number, line.text, what))
    shell = process["command"][0]
    if shutil.which(shell) is None:
        what = f"its SHELL, {shell}, is not here: it would fail"
        remarks.append(Remark(line.number, line.text, what))
    return remarks


def local_zone() -> str:
    """The zone of this machine, in which cron reads its times; UTC if it is not known."""
    try:
        target = os.path.realpath("/etc/localtime")
        return target.partition("/zoneinfo/")[2] or Path("/etc/timezone").read_text().strip()
    except OSError:
        return "UTC"


def owner_of(home: Path) -> int:
    """The number of the user that a deployment runs as: the owner of its home, if it has one."""
    return home.stat().st_uid if home.exists() else os.geteuid()


def write_crontab(file: Path, imported: Imported, owner: int) -> None:
    """Writes the file atomically, readable by its owner only: commands may hold secrets."""
    file.parent.mkdir(exist_ok=True)
    temporary = file.with_suffix(".new")
    temporary.unlink(missing_ok=True)
    handle = private_files.open_file(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    with os.fdopen(handle, "w", encoding="utf-8") as opened:
        json.dump(imported.content, opened, indent=2, ensure_ascii=False, sort_keys=True)
        opened.write("\n")
        opened.flush()
        if os.geteuid() == 0:
            os.fchown(handle, owner, -1)
        os.fsync(handle)
    temporary.replace(file)
