"""The logs of all processes as one, on the terminal of `launch.py dev`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from io import BufferedReader
from pathlib import Path

import orjson

from synergy.cli import output
from synergy.clock import Clock
from synergy.runtime.service import RetryRule, Service

LOOK_SECONDS = 0.2
RULE = RetryRule("dev.log_waits", "dev.log_failed")
COLOURS = ("blue", "green", "yellow", "bold")
_SHOWN_LEVELS = {"warning": "yellow", "error": "red", "critical": "red"}


@dataclass(slots=True)
class _Followed:
    """An open log file, and the beginning of a line whose end is not written yet."""

    file: BufferedReader
    rest: bytes = b""

    @property
    def inode(self) -> int:
        return os.fstat(self.file.fileno()).st_ino


class LogFollower(Service):
    """Prints the lines that are added to the log files in a folder, until it is stopped.

    Rotated files are read to their end first. What is there at the beginning is not printed.
    """

    def __init__(self, folder: Path, clock: Clock, show: Callable[[str, str], None]) -> None:
        """`show` gets the name of a file and a line."""
        super().__init__("dev log", clock, RULE)
        self._folder = folder
        self._show = show
        self._followed: dict[str, _Followed] = {}
        self._open_new(at_end=True)

    def run_once(self, now: datetime) -> float:
        """Prints what was added since the last turn."""
        self._open_new()
        for name in sorted(self._followed):
            for line in self._added(name):
                self._show(name, line)
        sys.stdout.flush()  # it may be a pipe
        return LOOK_SECONDS

    def finish(self) -> None:
        """Stops, and prints what was added meanwhile."""
        self.stop()
        self.run_once(self._clock.now())
        self.close()

    def close(self) -> None:
        """Closes the files."""
        for followed in self._followed.values():
            followed.file.close()
        self._followed.clear()

    def _open_new(self, *, at_end: bool = False) -> None:
        for path in (*self._folder.glob("*.log"), *self._folder.glob("*.out")):
            if path.name not in self._followed and path.is_file():
                followed = self._followed[path.name] = _Followed(path.open("rb"))
                followed.file.seek(0, os.SEEK_END if at_end else os.SEEK_SET)

    def _added(self, name: str) -> Iterator[str]:
        followed, path = self._followed[name], self._folder / name
        if os.fstat(followed.file.fileno()).st_size < followed.file.tell():
            followed.file.seek(0)  # its older part was moved away
        yield from _lines(followed)
        try:
            is_same = path.stat().st_ino == followed.inode
        except FileNotFoundError:
            return
        if not is_same:
            followed.file.close()
            followed = self._followed[name] = _Followed(path.open("rb"))
            yield from _lines(followed)


def _lines(followed: _Followed) -> Iterator[str]:
    *lines, followed.rest = (followed.rest + followed.file.read()).split(b"\n")
    for line in lines:
        yield line.decode(errors="replace")


def show_line(name: str, line: str) -> None:
    """Prints a line of a log for people: time, process, level if it is not info, message."""
    process = name.rpartition(".")[0]
    colour = COLOURS[sum(process.encode()) % len(COLOURS)]
    try:
        found = orjson.loads(line)
        at, level, message = found["at"][11:19], found["level"], found["message"]
    except (ValueError, KeyError, TypeError):
        output.say(f"         {output.colour(process, colour)}  {line}")  # what it has printed
        return
    shown = f"{output.colour(level, _SHOWN_LEVELS.get(level, 'dim'))}: " if level != "info" else ""
    output.say(f"{at} {output.colour(process, colour)}  {shown}{message}")
    for more in found.get("traceback", "").splitlines():
        output.say(f"         {more}")


def show_json(name: str, line: str) -> None:
    """Prints a line of a log as JSON; what a process has printed as its message."""
    if not line.startswith("{"):
        line = orjson.dumps({"process": name.rpartition(".")[0], "message": line}).decode()
    output.say(line)
