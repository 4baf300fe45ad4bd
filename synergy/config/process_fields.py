"""Reads the fields of processes."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta

from synergy.config import classes
from synergy.config.context import Argument
from synergy.config.older_names import CLASSES
from synergy.config.settings import Settings
from synergy.errors import InvalidValue
from synergy.model.command_template import Item, parse_item
from synergy.schedule import trigger
from synergy.schedule.format.field_reader import SHORTEST, FieldReader

BY_TRIGGER = "trigger"  # the value of `refresh` for interim runs that start with the trigger
REFRESH = 10.0  # seconds between two interim runs, by default

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", re.ASCII)


def retry_failed(fields: FieldReader) -> float | None:
    """Seconds until a failed period is retried; None if it is not."""
    return seconds(fields, "retry_failed", 0.0) if fields.has("retry_failed") else None


def refresh(fields: FieldReader) -> float | None:
    """Seconds between two interim runs; None if they start with the trigger."""
    value = fields.get("refresh")
    if value == BY_TRIGGER:
        return None
    if isinstance(value, str) and not value[:1].isdigit():
        fields.mistake("refresh", f"expected a duration such as '60s' or 'trigger', not {value!r}")
        return REFRESH
    return seconds(fields, "refresh", REFRESH)


def also_reads(fields: FieldReader) -> tuple[int, ...]:
    """The distances to earlier periods, negative."""
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


def seconds(fields: FieldReader, name: str, default: float, least: timedelta = SHORTEST) -> float:
    """The seconds of a duration."""
    return fields.duration(name, timedelta(seconds=default), least=least).total_seconds()


def arguments(fields: FieldReader) -> dict[str, object]:
    """The arguments of the process with their default values."""
    found = fields.get("arguments")
    if found is None:
        return {}
    if not isinstance(found, Mapping) or not all(isinstance(key, str) for key in found):
        fields.mistake("arguments", f"expected a dictionary with texts as keys, not {found!r}")
        return {}
    return {
        name: value.default if isinstance(value, Argument) else value
        for name, value in found.items()
    }


def option_arguments(fields: FieldReader) -> frozenset[str]:
    """The arguments whose values may begin with `-`."""
    found = fields.get("arguments")
    if not isinstance(found, Mapping):
        return frozenset()
    return frozenset(
        name for name, value in found.items() if isinstance(value, Argument) and value.allow_option
    )


def check_name(key: str, field: str, fields: FieldReader) -> None:
    """Reports a name of an entry that is invalid or differs from its key."""
    if not _NAME.fullmatch(key):
        fields.mistake(field, "expected letters, digits and . _ - only, at most 100")
    name = fields.text(field, key)
    if name != key:
        fields.mistake(field, f"{name!r} differs from the key {key!r} of its entry")


def classname(fields: FieldReader) -> str | None:
    """The class path; None if there is none."""
    path = fields.text("classname")
    if not path:
        return None
    if path in CLASSES:
        fields.mistake("classname", f"{path} is of an older version: {CLASSES[path]}")
        return None
    try:
        classes.split(path)
    except InvalidValue as error:
        fields.mistake("classname", str(error))
        return None
    return path


def command(
    fields: FieldReader,
    provided: Sequence[str],
    defaults: Mapping[str, object],
    options: Collection[str],
) -> tuple[str, ...] | None:
    """The command; either it or `classname` must be given.

    Its placeholders are the `provided` ones and the names of `defaults`; `options` are those whose
    values may begin with `-`.
    """
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
    sound = []
    for number, text in enumerate(command, 1):
        try:
            item = parse_item(text)
        except InvalidValue as error:
            fields.mistake("command", f"item {number}, {error}")
        else:
            _check_item(item, fields, provided, defaults, options)
            sound.append(text)
    return tuple(sound)


def _check_item(
    item: Item,
    fields: FieldReader,
    provided: Sequence[str],
    defaults: Mapping[str, object],
    options: Collection[str],
) -> None:
    known = (*provided, *defaults)
    try:
        item.check_text(defaults)
        item.check_option(defaults, options)
    except InvalidValue as error:
        fields.mistake("command", str(error))
    for name in item.names:
        if name not in known:
            expected = ", ".join(f"${{{word}}}" for word in known)
            fields.mistake("command", f"unknown ${{{name}}}: expected one of {expected}")


def is_on(fields: FieldReader, settings: Settings) -> bool:
    """Whether the process is on; may be the name of a setting."""
    value = fields.get("is_on")
    if value == "demo_stream":
        return settings.demo_stream
    if isinstance(value, str):
        fields.mistake("is_on", f"expected True, False or 'demo_stream', not {value!r}")
        return False
    return fields.flag("is_on", default=True)


def present_on_boxes(fields: FieldReader) -> tuple[str, ...]:
    """The patterns of box ids."""
    sound = []
    for pattern in fields.strings("present_on_boxes"):
        try:
            re.compile(pattern)
        except re.error as error:
            fields.mistake("present_on_boxes", f"{pattern!r} is no regular expression: {error}")
        else:
            sound.append(pattern)
    return tuple(sound)


def trigger_frequency(fields: FieldReader, default: str) -> str:
    """The trigger in its canonical form."""
    text = fields.text("trigger_frequency", default)
    if not text:
        return default
    try:
        return str(trigger.parse(text))
    except InvalidValue as error:
        fields.mistake("trigger_frequency", str(error))
        return default
