"""Reads the program of a definition: the process that it runs, or the request that it sends."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from synergy.errors import InvalidValue
from synergy.schedule.check_context import Known
from synergy.schedule.definition import DeliveryProgram, Program, WorkerProgram
from synergy.schedule.format.field_reader import FieldReader, Location
from synergy.schedule.format.literals import shown

Checked = TypeVar("Checked")

LONGEST_TARGET = 2_048  # characters
LARGEST_PAYLOAD = 16_777_215  # bytes

_DEEPEST = 64
_LARGEST_NUMBER = 2**63
_PLACEHOLDER = re.compile(r"\$\{[^{}]*\}")
_OF_CONFIGURATIONS = (
    " Add one of them, or give one for all configurations: `schedule add FILE --program NAME` "
    "(or `--target URL`), `POST /api/v1/schedules?program=NAME`"
)
_OF_PROCESS = ("arguments",)
_OF_TARGET = ("payload", "content_type", "headers", "signing_secret")


@dataclass(frozen=True, slots=True)
class StoredDelivery(DeliveryProgram):
    """A delivery whose payload lies in the store's payloads under the name `stored`."""

    stored: str = ""


def read_program(fields: FieldReader, known: Known) -> Program | None:
    """The program of a definition; None if not even its kind is known."""
    has_process, has_target = fields.has("process"), fields.has("target")
    if has_process and has_target:
        fields.location.mistake("expected process or target, not both")
    elif not has_process and not has_target:
        advice = _OF_CONFIGURATIONS if fields.has("dependencies") else ""
        missing = "process or target is missing: what is to be run, or sent to?"
        fields.location.mistake(missing + advice)
    worker = _worker(fields, known) if has_process else None
    delivery = _delivery(fields, known) if has_target else None
    _refuse(fields, _OF_PROCESS, has_process or not has_target, "it goes with process, not target")
    _refuse(fields, _OF_TARGET, has_target or not has_process, "it goes with target, not process")
    return worker or delivery


def _refuse(fields: FieldReader, names: tuple[str, ...], is_fine: bool, why: str) -> None:
    for name in names:
        if fields.has(name) and not is_fine:
            fields.mistake(name, why)


def _worker(fields: FieldReader, known: Known) -> WorkerProgram:
    process = fields.text("process", most=100)
    known.check_program(process, fields.location.at("process"))
    location = fields.location.at("arguments")
    plain = _plain(fields.mapping("arguments"), location)
    arguments = plain if isinstance(plain, dict) else {}
    known.check_arguments(process, arguments, location)
    return WorkerProgram(process, arguments)


def _delivery(fields: FieldReader, known: Known) -> DeliveryProgram:
    target = fields.text("target", most=LONGEST_TARGET)
    _refuse_placeholders(fields.location.at("target"), target)
    if target:
        _check(known.parse_target, target, fields.location.at("target"))
    content_type = fields.text("content_type", "application/json", most=200)
    _check(known.check_content_type, content_type, fields.location.at("content_type"))
    headers = fields.text_mapping("headers")
    for name, value in headers.items():
        _refuse_placeholders(fields.location.at("headers").at(name), value)
    _check(known.check_headers, headers, fields.location.at("headers"))
    secret = _signing_secret(fields, target, known)
    payload, stored = _payload(fields)
    if stored:
        return StoredDelivery(target, "", content_type, headers, secret, stored)
    return DeliveryProgram(target, payload, content_type, headers, secret)


def _signing_secret(fields: FieldReader, target: str, known: Known) -> str:
    secret = fields.text("signing_secret")
    if secret:
        location = fields.location.at("signing_secret")
        _check(known.check_signing_secret, secret, location)
        if not target.lower().startswith(("http:", "https:")):
            location.mistake("only webhooks are signed")
    return secret


def _payload(fields: FieldReader) -> tuple[str, str]:
    """The text that is sent, or else the name under which it is stored."""
    value, location = fields.get("payload"), fields.location.at("payload")
    if isinstance(value, Mapping) and value.keys() == {"stored"}:
        inner = FieldReader(location, value)
        return "", inner.text("stored", most=200)
    if value is None:
        return "", ""
    if not isinstance(value, str):
        plain = _plain(value, location)
        value = json.dumps(plain, ensure_ascii=False)
    try:
        size = len(value.encode())
    except UnicodeEncodeError as error:
        location.mistake(
            f"character {error.start + 1} is half of a character, which cannot be sent"
        )
        return "", ""
    if size > LARGEST_PAYLOAD:
        location.mistake(f"{size:,} bytes: the most is {LARGEST_PAYLOAD:,}")
    return value, ""


def _refuse_placeholders(location: Location, text: str) -> None:
    found = _PLACEHOLDER.search(text)
    if found is not None:
        location.mistake(f"{found[0]:.60} is not filled in here, only in the payload")


def _check(check: Callable[[Checked], object] | None, value: Checked, location: Location) -> None:
    if check is not None:
        try:
            check(value)
        except InvalidValue as error:
            location.mistake(str(error).removeprefix(location.place))


def _plain(value: object, location: Location, depth: int = 0) -> object:
    """The value with JSON types only; other values are recorded as mistakes and become None."""
    match value:
        case None | bool():
            return value
        case str():
            if _is_writable(value):
                return value
            location.mistake("the text has half of a character, which cannot be stored")
        case int() if -_LARGEST_NUMBER <= value < _LARGEST_NUMBER:
            return value
        case float() if math.isfinite(value):
            return value
        case int() | float():
            location.mistake(f"{shown(value)} cannot be stored")
        case Mapping() | list() | tuple() if depth == _DEEPEST:
            location.mistake(f"nested too deeply: at most {_DEEPEST} levels")
        case Mapping():
            return _plain_mapping(value, location, depth)
        case list() | tuple():
            return [_plain(v, location.item(n), depth + 1) for n, v in enumerate(value, 1)]
        case _:
            location.mistake(f"JSON has no value such as {shown(value)}: write it as a text")
    return None


def _plain_mapping(
    value: Mapping[object, object], location: Location, depth: int
) -> dict[str, object]:
    plain = {}
    for name, inner in value.items():
        if isinstance(name, str) and _is_writable(name):
            plain[name] = _plain(inner, location.at(name), depth + 1)
        else:
            location.mistake(f"the names in a mapping are texts, not {shown(name)}")
    return plain


def _is_writable(text: str) -> bool:
    """Whether the text has no lone surrogates, which JSON can escape."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
