"""From what people write to programs: what a schedule runs, or sends."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from synergy.errors import InvalidValue
from synergy.schedule.definition import DeliveryProgram, Program, WorkerProgram
from synergy.schedule.format.field_reader import FieldReader, Location
from synergy.schedule.format.literals import shown
from synergy.schedule.known import Known

Asked = TypeVar("Asked")

LONGEST_TARGET = 2_048  # characters
LARGEST_PAYLOAD = 16_777_215  # bytes

_DEEPEST = 64
_LARGEST_NUMBER = 2**63
_PLACEHOLDER = re.compile(r"\$\{[^{}]*\}")
_OF_PROCESS = ("arguments",)
_OF_TARGET = ("payload", "content_type", "headers")


@dataclass(frozen=True, slots=True)
class StoredDelivery(DeliveryProgram):
    """A delivery whose payload lies in the store's payloads under the name `stored`."""

    stored: str = ""


def read_program(part: FieldReader, known: Known) -> Program | None:
    """The program of a definition; None if not even its kind is known."""
    has_process, has_target = part.has("process"), part.has("target")
    if has_process and has_target:
        part.spot.mistake("expected process or target, not both")
    elif not has_process and not has_target:
        part.spot.mistake("process or target is missing: what is to be run, or sent to?")
    worker = _worker(part, known) if has_process else None
    delivery = _delivery(part, known) if has_target else None
    _refuse(part, _OF_PROCESS, has_process or not has_target, "it goes with process, not target")
    _refuse(part, _OF_TARGET, has_target or not has_process, "it goes with target, not process")
    return worker or delivery


def _refuse(part: FieldReader, names: tuple[str, ...], is_fine: bool, why: str) -> None:
    for name in names:
        if part.has(name) and not is_fine:
            part.mistake(name, why)


def _worker(part: FieldReader, known: Known) -> WorkerProgram:
    process = part.text("process", most=100)
    known.check_program(process, part.spot.at("process"))
    arguments = _plain(part.mapping("arguments"), part.spot.at("arguments"))
    return WorkerProgram(process, arguments if isinstance(arguments, dict) else {})


def _delivery(part: FieldReader, known: Known) -> DeliveryProgram:
    target = part.text("target", most=LONGEST_TARGET)
    _refuse_placeholders(part.spot.at("target"), target)
    if target:
        _ask(known.parse_target, target, part.spot.at("target"))
    content_type = part.text("content_type", "application/json", most=200)
    _ask(known.check_content_type, content_type, part.spot.at("content_type"))
    headers = part.text_mapping("headers")
    for name, value in headers.items():
        _refuse_placeholders(part.spot.at("headers").at(name), value)
    _ask(known.check_headers, headers, part.spot.at("headers"))
    payload, stored = _payload(part)
    if stored:
        return StoredDelivery(target, "", content_type, headers, stored)
    return DeliveryProgram(target, payload, content_type, headers)


def _payload(part: FieldReader) -> tuple[str, str]:
    """The text that is sent, or the name under which it is stored."""
    value, spot = part.get("payload"), part.spot.at("payload")
    if isinstance(value, Mapping) and value.keys() == {"stored"}:
        inner = FieldReader(spot, value)
        return "", inner.text("stored", most=200)
    if value is None:
        return "", ""
    if not isinstance(value, str):
        plain = _plain(value, spot)
        value = json.dumps(plain, ensure_ascii=False)
    try:
        size = len(value.encode())
    except UnicodeEncodeError as error:
        spot.mistake(f"character {error.start + 1} is half of a character, which cannot be sent")
        return "", ""
    if size > LARGEST_PAYLOAD:
        spot.mistake(f"{size:,} bytes: the most is {LARGEST_PAYLOAD:,}")
    return value, ""


def _refuse_placeholders(spot: Location, text: str) -> None:
    found = _PLACEHOLDER.search(text)
    if found is not None:
        spot.mistake(f"{found[0]:.60} is not filled in here, only in the payload")


def _ask(check: Callable[[Asked], object] | None, value: Asked, spot: Location) -> None:
    if check is not None:
        try:
            check(value)
        except InvalidValue as error:
            spot.mistake(str(error).removeprefix(spot.place))


def _plain(value: object, spot: Location, depth: int = 0) -> object:
    """The same value of what JSON has alone; what else there is is noted, and becomes None."""
    match value:
        case None | bool():
            return value
        case str():
            if _is_writable(value):
                return value
            spot.mistake("expected a text of whole characters, which this is not")
        case int() if -_LARGEST_NUMBER <= value < _LARGEST_NUMBER:
            return value
        case float() if math.isfinite(value):
            return value
        case int() | float():
            spot.mistake(f"{shown(value)} cannot be stored")
        case Mapping() | list() | tuple() if depth == _DEEPEST:
            spot.mistake(f"nested too deeply: at most {_DEEPEST} levels")
        case Mapping():
            return _plain_mapping(value, spot, depth)
        case list() | tuple():
            return [_plain(v, spot.item(n), depth + 1) for n, v in enumerate(value, 1)]
        case _:
            spot.mistake(f"JSON has no value such as {shown(value)}: write it as a text")
    return None


def _plain_mapping(value: Mapping[object, object], spot: Location, depth: int) -> dict[str, object]:
    plain = {}
    for name, inner in value.items():
        if isinstance(name, str) and _is_writable(name):
            plain[name] = _plain(inner, spot.at(name), depth + 1)
        else:
            spot.mistake(f"the names in a mapping are texts, not {shown(name)}")
    return plain


def _is_writable(text: str) -> bool:
    """Whether it is whole characters; JSON can escape halves of them."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
