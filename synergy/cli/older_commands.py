"""What stands for the commands of Synergy 1 and 2 today.

Version 1 had options only (`launch.py --run --app NAME`), version 2 the commands `super`, `db`,
`start`, `stop`, `query` and `list`.
"""

from __future__ import annotations

from collections.abc import Sequence

SUPERVISOR = "Supervisor"  # was a process among others
NAME = "NAME"  # stands in an advice for a name that was not given

_SHORT = {
    "-r": "--run",
    "-k": "--kill",
    "-q": "--query",
    "-l": "--list",
    "-i": "--install_ve",
    "-s": "--shell",
    "-t": "--tests",
    "-x": "--xunit",
    "-z": "--analyze",
    "-v": "--supervisor",
    "-n": "--interactive",
    "-a": "--app",
}
_OF_OPTIONS = {
    "--run": "start",
    "--kill": "stop",
    "--query": "query",
    "--list": "list",
    "--install_ve": "install",
    "--shell": "shell",
    "--tests": "test",
    "--xunit": "test",
    "--analyze": "test",
    "--supervisor": "super",
}
_WITHOUT_NAME = {
    "list": "process list",
    "install": "install",
    "shell": "shell",
    "test": "test",
    "db --update": "store init",
    "db --init": "store init",
    "db --reset": "store reset",
    "db --flush": "store reset",
    "db": "store status",
    "super --query": "box list",
    "super --update": "box sync",
    "super --reset": "box sync",
    "super --init": "box sync",
    "super": "supervisor status",
}


def today(argv: Sequence[str]) -> str | None:
    """The command of today for an older one; None if it is none."""
    words = [_SHORT.get(word, word) for word in argv]
    command = next((word for word in words if not word.startswith("-")), "")
    options = [word.partition("=")[0] for word in words if word.startswith("--")]
    names = [word for word in words if not word.startswith("-")]
    if words and words[0].startswith("-"):
        command = next((_OF_OPTIONS[one] for one in options if one in _OF_OPTIONS), "")
        names += [word.removeprefix("--app=") for word in words if word.startswith("--app=")]
    else:
        names = names[1:]
    option = next((one for one in options if f"{command} {one}" in _WITHOUT_NAME), "")
    return _of_a_process(command, options, names) or _WITHOUT_NAME.get(
        f"{command} {option}".strip()
    )


def _of_a_process(command: str, options: Sequence[str], names: Sequence[str]) -> str | None:
    """The command for one process; None for other commands."""
    name = names[0] if names else NAME
    if command == "super" and {"--start", "--stop"} & set(options):
        return f"box {'stop' if '--stop' in options else 'start'} {name}"
    if command == "super" and "--boxid" in options:
        return f"supervisor start, with SYNERGY_BOX_ID={names[0] if names else 'ID'}"
    if command in ("start", "stop") and name == SUPERVISOR:
        return f"supervisor {command}"
    if command in ("start", "stop") and names:
        is_attached = command == "start" and {"--console", "--interactive"} & set(options)
        return f"process {command} {name}{' --console' if is_attached else ''}"
    if command == "query":
        return f"process show {name}" if names else "supervisor status"
    return None
