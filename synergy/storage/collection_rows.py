"""The stored form of rows of collections, the same in every engine: JSON text with sorted keys.

A row that is read equals the row that was written; a value that could not be read back is refused.
Text, integers of 64 bits, floats, true, false and null are stored as JSON. The types of `TYPES` are
stored under a mark, such as `{"$:date": "2026-11-22"}`. A mapping that looks like a mark is put
under the mark `{"$:": {...}}`. Two values are read as others: a tuple as a list, and with
`nan="null"` NaN and infinities as None.

Scalars of numpy are recognised by their attributes (`dtype`, `shape`, `item`), so numpy is not
imported.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import isfinite
from typing import Any, Literal, NamedTuple
from uuid import UUID

import orjson

from synergy.errors import InvalidValue
from synergy.storage.unstorable import Unstorable, advice, kind_of, named, seen, short

Nan = Literal["refuse", "null"]
"""Whether NaN and infinities are refused or stored as null."""

DEEPEST = 200  # levels; orjson writes 254 at most
LARGEST = 15 << 20  # bytes of a row; a document of MongoDB, which has other fields too, has 16 MiB
LONGEST_KEY = 64 << 10  # characters

_LEAST, _LIMIT = -(1 << 63), 1 << 64
_FLAT = frozenset({str, int, float, bool, type(None)})
_PLAIN = _FLAT | {dict, list}
_MARK = "$:"
_MARKED = b'{"$:'  # cannot occur within text, where a quotation mark has a backslash before it


class _Type(NamedTuple):
    """A type that JSON lacks: its mark, and the conversions from a value to text and back."""

    mark: str
    type: type
    text: Callable[[Any], Any]
    value: Callable[[Any], Any]


def _delta(parts: list[int]) -> timedelta:
    return timedelta(*parts)


TYPES = (  # datetime before date, because it is a subclass of date
    _Type("datetime", datetime, lambda it: it.isoformat(), datetime.fromisoformat),
    _Type("date", date, lambda it: it.isoformat(), date.fromisoformat),
    _Type("time", time, lambda it: it.isoformat(), time.fromisoformat),
    _Type("timedelta", timedelta, lambda it: [it.days, it.seconds, it.microseconds], _delta),
    _Type("uuid", UUID, str, UUID),
    _Type("decimal", Decimal, str, Decimal),
    _Type("bytes", bytes, lambda it: b64encode(it).decode(), b64decode),
)
_BY_TYPE = {one.type: one for one in TYPES}
_BY_MARK = {f"{_MARK}{one.mark}": one for one in TYPES}


def encoded(row: Mapping[str, object], nan: Nan = "refuse") -> bytes:
    """The stored form of a row; raises Unstorable if the row is too large or would change."""
    text = _plainly(row)
    if text is None:
        tree = _Encoder(nan).value(row, 0)
        try:
            text = orjson.dumps(tree, option=orjson.OPT_SORT_KEYS)
        except TypeError as error:  # too deep: a mapping that looks like a mark adds a level
            raise Unstorable(f"the row cannot be stored: {error}") from error
    if len(text) > LARGEST:
        raise Unstorable(
            f"the row has {len(text):,} bytes, more than {LARGEST:,}: make several rows of it, or "
            "store large parts elsewhere, and their address in the row"
        )
    return text


def decoded(stored: bytes | str) -> dict[str, Any]:
    """The row that `encoded` stored."""
    text = stored.encode() if isinstance(stored, str) else stored
    row: dict[str, Any] = orjson.loads(text)
    if _MARKED in text:
        return {name: _value(value) for name, value in _inner(row).items()}
    return row


def body(row: Mapping[str, object] | bytes, key: str) -> bytes:
    """The stored form of a row, which may be encoded already; raises InvalidValue with its key."""
    if isinstance(row, bytes):
        return row
    try:
        return encoded(row)
    except Unstorable as error:
        raise InvalidValue(f"document {short(repr(key))} cannot be stored: {error}") from None


def key_part(value: object, nan: Nan = "refuse") -> str:
    """A value as a part of a row's key; raises Unstorable for a value with several parts."""
    plain = _Encoder(nan).value(value, 0)
    if isinstance(plain, Mapping) and isinstance(value, timedelta):
        return str(value)
    if isinstance(plain, Mapping) and len(plain) == 1 and next(iter(plain)) in _BY_MARK:
        return str(next(iter(plain.values())))
    if isinstance(plain, Mapping | list):
        raise Unstorable(f"is {kind_of(value)}: a field of unique_by has to be a single value")
    return str(plain)


def for_people(value: Any) -> Any:
    """A value of a row for display: each type of `TYPES` as text, in mappings and lists too."""
    if isinstance(value, Mapping):
        return {name: for_people(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [for_people(inner) for inner in value]
    if isinstance(value, timedelta):
        return str(value)
    known = _BY_TYPE.get(type(value))
    return value if known is None else known.text(value)


def _inner(tree: dict[str, Any]) -> dict[str, Any]:
    """The mapping under the mark `$:`, or the mapping itself if it has no such mark."""
    inner = tree.get(_MARK)
    return inner if len(tree) == 1 and isinstance(inner, dict) else tree


def _value(tree: Any) -> Any:
    if isinstance(tree, list):
        return [_value(inner) for inner in tree]
    if not isinstance(tree, dict):
        return tree
    if len(tree) == 1:
        ((name, inner),) = tree.items()
        if (known := _BY_MARK.get(name)) is not None:
            return known.value(inner)
    return {name: _value(inner) for name, inner in _inner(tree).items()}


def _plainly(row: Mapping[str, object]) -> bytes | None:
    """The text of a row of plain JSON values, as most are; None if it needs the encoder."""
    if not (type(row) is dict and _is_plain(row.values(), 0)):
        return None
    try:
        text = orjson.dumps(row, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return None
    return None if _MARKED in text else text


def _is_plain(values: Collection[Any], depth: int) -> bool:
    """Whether all values are of JSON types; neither keys nor the size of integers are checked."""
    types = set(map(type, values))
    if float in types and not all(isfinite(value) for value in values if type(value) is float):
        return False
    if types <= _FLAT:
        return True
    if depth == DEEPEST or not types <= _PLAIN:
        return False
    inner = [value for value in values if type(value) not in _FLAT]
    return all(
        _is_plain(value.values() if type(value) is dict else value, depth + 1) for value in inner
    )


class _Encoder:
    """Converts values to those that JSON holds."""

    def __init__(self, nan: Nan) -> None:
        self._nan = nan

    def value(self, value: Any, depth: int) -> Any:
        """The value, or the marked form that stands for it; raises Unstorable."""
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is str:
            return _text(value)
        if kind is int:
            return _whole(value)
        if kind is float:
            return value if isfinite(value) else self._no_number(value)
        if depth > DEEPEST:
            raise Unstorable(f"is deeper than {DEEPEST} levels, or holds itself: make it flatter")
        if kind is dict or isinstance(value, Mapping):
            return self._mapping(value, depth)
        if isinstance(value, list | tuple):
            return self._list(value, depth)
        return self._other(value, depth)

    def _mapping(self, given: Mapping[Any, Any], depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in given.items():
            if not isinstance(name, str):
                raise Unstorable(f"has the key {seen(name)}: keys have to be text, give str(key)")
            try:
                found[_text(str.__str__(name))] = self.value(value, depth + 1)
            except Unstorable as error:
                raise error.within(named(name)) from None
        if len(found) == 1 and next(iter(found)).startswith(_MARK):
            return {_MARK: found}
        return found

    def _list(self, given: list[Any] | tuple[Any, ...], depth: int) -> list[Any]:
        if hasattr(given, "_fields"):
            raise Unstorable(
                f"is {kind_of(given)}, whose names would be lost: give value._asdict()"
            )
        found: list[Any] = []
        for place, value in enumerate(given):
            try:
                found.append(self.value(value, depth + 1))
            except Unstorable as error:
                raise error.within(f"[{place}]") from None
        return found

    def _other(self, value: Any, depth: int) -> Any:
        """The JSON form of a value of a subclass of a JSON type, a type of `TYPES`, or numpy."""
        if isinstance(value, str):
            return _text(str.__str__(value))
        if isinstance(value, int):
            return _whole(int.__int__(value))
        if isinstance(value, float):
            return self.value(float.__float__(value), depth)
        if isinstance(value, Decimal) and not value.is_finite():
            return self._no_number(value)
        for known in TYPES:
            if isinstance(value, known.type):
                return {f"{_MARK}{known.mark}": _faithful(value, known)}
        return self.value(_number(value), depth)

    def _no_number(self, value: object) -> None:
        if self._nan == "null":
            return
        raise Unstorable(
            f'is {str(value).lower()}: give a number or None, or call replace with nan="null"'
        )


def _text(value: str) -> str:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Unstorable(
                f"is {seen(value)}, which holds half of a character: decode the text with its "
                "actual encoding, or give it as bytes"
            ) from None
    return value


def _whole(value: int) -> int:
    if not _LEAST <= value < _LIMIT:
        raise Unstorable("is a whole number beyond 64 bits: give it as Decimal or as text")
    return value


def _faithful(value: Any, known: _Type) -> Any:
    """The value's text; raises Unstorable if the text would be read as another value."""
    if isinstance(value, datetime | time):
        _check_zone(value)
    text = known.text(value)
    try:
        is_same = known.text(known.value(text)) == text
    except (ValueError, ArithmeticError, TypeError):
        is_same = False
    if not is_same:
        raise Unstorable(
            f"is {seen(value)}, {kind_of(value)} that cannot be stored without loss: give "
            f"a {known.type.__name__} of Python, or text"
        )
    return text


def _check_zone(value: datetime | time) -> None:
    if isinstance(value, time):
        if value.tzinfo is not None:
            raise Unstorable("is a time of day with a zone: give one without a zone, or a datetime")
    elif value.utcoffset() is None:
        raise Unstorable(
            f"is {seen(value)}, a datetime without a zone: give one with its zone, for example "
            "value.replace(tzinfo=UTC)"
        )


def _number(value: Any) -> bool | int | float:
    """The number or bool of a scalar of numpy or a similar library; raises Unstorable."""
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    if kind in ("b", "i", "u", "f") and getattr(value, "shape", None) == ():
        plain = value.item()
        if type(plain) in (bool, int, float):
            return plain  # type: ignore[no-any-return]
    raise Unstorable(f"is {kind_of(value)}, which cannot be stored: {advice(value, kind)}")
