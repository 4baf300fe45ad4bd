r"""Reads crontabs: times, commands with their input, and the variables that hold for them.

The rules are those of cron: an assignment holds for the lines after it; the first `%` of a command
ends it, and what follows is its standard input, where each `%` is the end of a line; `\%` is a
percent sign. With a user column, as in `/etc/crontab`, the user stands before the command.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from synergy.errors import InvalidValue
from synergy.program import PROGRAM
from synergy.schedule import trigger
from synergy.schedule.zones import zone

ZONE = "CRON_TZ"

_ASSIGNMENT = re.compile(
    r"""(?P<name>"[^"=]*"|'[^'=]*'|[^\s=]+)\s*=\s*(?:"(?P<two>[^"]*)"|'(?P<one>[^']*)'|(?P<bare>.*?))\s*"""
)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")
_COMMAND = re.compile(r"(?:[^\\%]|\\.|\\$)*")
_PERCENT = re.compile(r"\\?%")
_NO_MAIL = (
    f"no mail is sent: the output of a run is in `{PROGRAM} unit log RUN`, and failures are in "
    f"`{PROGRAM} schedule runs NAME --state failed`"
)
_REMARKS = {
    **dict.fromkeys(("MAILTO", "MAILFROM", "CONTENT_TYPE", "CONTENT_TRANSFER_ENCODING"), _NO_MAIL),
    "TZ": "commands get it; as in cron it changes no times, which CRON_TZ does",
    "LOGNAME": "left out: it is always the user's name, as in cron",
    "RANDOM_DELAY": "times are not delayed at random: spread them by hand, or use a jitter",
}
_REBOOT = "no schedule starts with the machine: declare a daemon in context.py, or leave it to cron"


@dataclass(frozen=True, slots=True, kw_only=True)
class CronLine:
    """A line that was understood; `cron` has its times in canonical form.

    `variables` are those that were assigned before it, `zone` the value of CRON_TZ. `has_user`:
    the user stands in the line.
    """

    number: int
    text: str
    cron: str
    command: str
    stdin: str | None
    variables: Mapping[str, str]
    zone: str | None
    user: str
    has_user: bool


@dataclass(frozen=True, slots=True)
class Remark:
    """What there is to say about a line: why it is not taken, or what it changes here."""

    line: int
    text: str
    what: str


@dataclass(frozen=True, slots=True)
class Crontab:
    """The lines that were understood, those that were refused, and notes about the others."""

    lines: tuple[CronLine, ...]
    refused: tuple[Remark, ...]
    notes: tuple[Remark, ...]


def read_crontab(text: str, user: str | None) -> Crontab:
    """The crontab of this user; None: a user stands before each command."""
    reader = _Reader(user)
    for number, line in enumerate(text.split("\n"), 1):
        reader.read(number, line)
    return Crontab(tuple(reader.lines), tuple(reader.refused), tuple(reader.notes))


def command_and_input(text: str) -> tuple[str, str | None]:
    """The command of a line, and its standard input; None without `%`."""
    found = _COMMAND.match(text)
    assert found is not None  # it matches any text
    command = found[0].replace("\\%", "%")
    if found.end() == len(text):
        return command, None
    given = _PERCENT.sub(lambda sign: "%" if sign[0] == "\\%" else "\n", text[found.end() + 1 :])
    return command, given if not given or given.endswith("\n") else f"{given}\n"


class _Reader:
    """Reads line by line; holds the variables that were assigned so far."""

    def __init__(self, user: str | None) -> None:
        self._user = user
        self._variables: dict[str, str] = {}
        self.lines: list[CronLine] = []
        self.refused: list[Remark] = []
        self.notes: list[Remark] = []

    def read(self, number: int, line: str) -> None:
        """Reads a line; an empty line or a comment is nothing."""
        text = line.removesuffix("\r").strip(" \t")
        if not text or text.startswith("#"):
            return
        try:
            _check_characters(text)
            if line.endswith("\r"):
                self._note(number, text, "the carriage return at its end is left out")
            if (found := _ASSIGNMENT.fullmatch(text)) is not None:
                self._assign(number, text, found)
            else:
                self.lines.append(self._entry(number, text))
        except InvalidValue as error:
            self.refused.append(Remark(number, text, str(error)))

    def _note(self, number: int, text: str, what: str) -> None:
        self.notes.append(Remark(number, text, what))

    def _assign(self, number: int, text: str, found: re.Match[str]) -> None:
        name = found["name"].strip("\"'")
        value = next(given for given in found.group("two", "one", "bare") if given is not None)
        if not _VARIABLE.fullmatch(name):
            raise InvalidValue(f"{name!r} is no name of a variable: use letters, digits and _")
        if name in _REMARKS:
            self._note(number, text, _REMARKS[name])
        if name != "LOGNAME":
            self._variables[name] = value
        if name == ZONE:
            self._zone()

    def _zone(self) -> str | None:
        """The zone of the lines from here on; raises InvalidValue if there is no such zone."""
        name = self._variables.get(ZONE) or None
        if name is not None:
            zone(name)
        return name

    def _entry(self, number: int, text: str) -> CronLine:
        unlogged = text.removeprefix("-")  # which keeps cron from logging the start
        if unlogged != text:
            self._note(number, text, "the - before it is left out: every run is recorded")
        times, rest = _split(unlogged)
        user = self._user
        if user is None:
            user, rest = _user(rest)
        command, stdin = command_and_input(rest)
        if not command.strip():
            raise InvalidValue("expected a command after the times")
        return CronLine(
            number=number,
            text=text,
            cron=_times(times),
            command=command,
            stdin=stdin,
            variables=dict(self._variables),
            zone=self._zone(),
            user=user,
            has_user=self._user is None,
        )


def _check_characters(text: str) -> None:
    if _CONTROL.search(text):
        raise InvalidValue("a control character is in it: remove it")


def _split(text: str) -> tuple[str, str]:
    """The times of a line, and what follows them."""
    count = 1 if text.startswith("@") else 5
    words = text.split(None, count)
    if len(words) < count:
        raise InvalidValue("expected five times and a command, or a variable: NAME=value")
    return " ".join(words[:count]), words[count] if len(words) > count else ""


def _user(text: str) -> tuple[str, str]:
    """The user before a command, and the command."""
    words = text.split(None, 1)
    if len(words) < 2:
        raise InvalidValue("expected a user and a command after the times")
    return words[0], words[1]


def _times(text: str) -> str:
    """The times in canonical form, without the word `cron`."""
    if text.lower() == "@reboot":
        raise InvalidValue(_REBOOT)
    if text.startswith("@every"):
        raise InvalidValue("@every is no word of cron: write the five times, such as */5 * * * *")
    if "~" in text:
        raise InvalidValue("a random time (~) is not supported: write the time, and a jitter")
    return str(trigger.parse(f"cron {text}")).removeprefix("cron ")
