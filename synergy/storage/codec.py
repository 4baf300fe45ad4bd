"""Descriptions of a type's fields, from which all stored forms of its values are derived.

A `Kind` holds the forms of a field in a row of SQLite, in a document of MongoDB and in a record of
`store copy`; a field without a kind is stored as it is. A `Codec` joins a type with the kinds of
its fields, and makes the functions that an engine calls for each row or document. They are compiled
once, at import, and convert only the fields that need it.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar, get_type_hints

import orjson

from synergy.errors import InvalidValue
from synergy.storage.compiled import Convert, Expression
from synergy.storage.instants import instant, micros
from synergy.storage.malformed import Reader, wrong

Value = TypeVar("Value")

Steps = Sequence[tuple[int, Convert]]
"""Conversions of some values of a list, each with the value's index."""


class Form(NamedTuple):
    """The conversions into a stored form and back; None if the stored form is the value itself.

    None is stored as None, and read as None or as the result of `missing`.
    """

    put: Convert | None = None
    take: Convert | None = None
    missing: Callable[[], Any] | None = None


SAME = Form()


@dataclass(frozen=True, slots=True)
class Kind:
    """The stored forms of a field; `what` names it in errors, formatted with its object."""

    row: Form = SAME
    document: Form = SAME
    record: Form = SAME
    what: str = ""


AS_IS = Kind()


def everywhere(put: Convert, take: Convert | None) -> Kind:
    """A kind with the same form in rows, documents and records."""
    form = Form(put, take)
    return Kind(form, form, form)


def word_of(states: type[Enum]) -> Kind:
    """A state that is stored as its text value."""
    return everywhere(attrgetter("value"), {state.value: state for state in states}.__getitem__)


def code_of(states: Sequence[Enum]) -> Kind:
    """A state that is stored in rows as its index in `states`, elsewhere as its text value."""
    by_code = dict(enumerate(states))
    codes = {state: code for code, state in by_code.items()}
    word = word_of(type(states[0]))
    return Kind(Form(codes.__getitem__, by_code.__getitem__), word.document, word.record)


def json_of(what: str) -> Kind:
    """A mapping of any shape, stored as text, so that its keys are not restricted."""
    return Kind(Form(orjson.dumps, mapping), Form(_text, mapping), what=what)


def mapping(stored: bytes | str) -> dict[str, Any]:
    """The mapping of a JSON text; raises ValueError for any other text."""
    found = orjson.loads(stored)
    if type(found) is not dict:
        raise wrong(stored)
    return found


def json_by(to_json: Convert, from_json: Convert, what: str) -> Kind:
    """A value that is converted to and from a mapping, which is stored like one of `json_of`."""

    def take(stored: bytes | str) -> Any:
        return from_json(mapping(stored))

    return Kind(
        Form(lambda value: orjson.dumps(to_json(value)), take),
        Form(lambda value: _text(to_json(value)), take),
        Form(to_json, from_json),
        what=what,
    )


def _text(value: object) -> str:
    return orjson.dumps(value).decode()


def packed(content: bytes) -> str:
    """Bytes as Base64 text, for records."""
    return b64encode(content).decode()


INSTANT = everywhere(micros, instant)
"""An instant, or None."""

FLAG = Kind(row=Form(take={0: False, 1: True}.__getitem__))
"""True or false, or None."""

BYTES = Kind(record=Form(packed, b64decode))
"""Bytes, or None; Base64 in records."""

NUMBER = Kind(document=Form(missing=int))
"""A number that documents may lack, which is then read as 0."""


class Codec(Generic[Value]):
    """The fields of a dataclass or named tuple, and the kinds of those that are converted.

    An engine calls the functions for each row or document, so each is compiled from one
    expression, as `dataclasses` compiles `__init__`: a value is converted without a loop over
    its fields.
    """

    def __init__(self, type_: type[Value], rows: str, /, **kinds: Kind) -> None:
        """`rows` holds the kind of the rows and the fields that name one, for messages."""
        self.names: Sequence[str] = tuple(type_.__annotations__)
        self.kinds: Mapping[str, Kind] = kinds
        self._type = type_
        self._hints = get_type_hints(type_)
        self._rows, *self.name = rows.split()

    def reads_row(self, columns: str) -> Reader[Value]:
        """Makes values of rows; columns that are not fields are ignored."""
        order = columns.split()
        places = {name: f"stored[{order.index(name)}]" for name in self.names if name in order}
        return self._reader(places, lambda kind: kind.row)

    def writes_row(self, columns: str) -> Callable[[Value], tuple[Any, ...]]:
        """A function that returns the columns of a value.

        The function raises InvalidValue for a value that JSON cannot hold.
        """
        names = columns.split()
        return self._writer(names, lambda kind: kind.row, lambda parts: f"({', '.join(parts)},)")

    def reads_document(self, **stored: str) -> Reader[Value]:
        """Makes values of documents; `stored` are names that differ there."""
        places = {name: f"stored.get({stored.get(name, name)!r})" for name in self.names}
        return self._reader(places, lambda kind: kind.document)

    def writes_document(self, names: str = "", **stored: str) -> Callable[[Value], dict[str, Any]]:
        """A function that returns the fields of a value, all by default, as a document.

        The function raises InvalidValue for a value that JSON cannot hold.
        """
        some = names.split() or list(self.names)
        keys = [stored.get(name, name) for name in some]

        def mapping(parts: Sequence[str]) -> str:
            items = zip(keys, parts, strict=True)
            return f"{{{', '.join(f'{key!r}: {part}' for key, part in items)}}}"

        return self._writer(some, lambda kind: kind.document, mapping)

    def _reader(self, places: Mapping[str, str], form_of: Callable[[Kind], Form]) -> Reader[Value]:
        expression = Expression(make=self._type)
        parts = {}
        for name, place in places.items():
            form = form_of(self.kinds.get(name, AS_IS))
            parts[name] = expression.read(name, place, self._hints[name], form.take, form.missing)
        made = ", ".join(f"{name}={part}" for name, part in parts.items())
        named = "".join(f"{places[name]}, " for name in self.name if name in places)
        return Reader(
            self._rows,
            expression.function("stored", f"make({made})"),
            expression.function("stored", f"({named})"),
            {name: expression.function("stored", part) for name, part in parts.items()},
        )

    def _writer(
        self,
        names: Sequence[str],
        form_of: Callable[[Kind], Form],
        join: Callable[[Sequence[str]], str],
    ) -> Callable[[Value], Any]:
        expression = Expression()
        puts = {name: form_of(self.kinds.get(name, AS_IS)).put for name in names}
        parts = [expression.converted(name, f"value.{name}", put) for name, put in puts.items()]
        write = expression.function("value", join(parts))
        if not any(self.kinds.get(name, AS_IS).what for name in names):
            return write

        def checked(value: Value) -> Any:
            try:
                return write(value)
            except orjson.JSONEncodeError:
                self._refuse(value, puts)
                raise

        return checked

    def _refuse(self, value: Value, puts: Mapping[str, Convert | None]) -> None:
        for name, put in puts.items():
            try:
                if put and (field := getattr(value, name)) is not None:
                    put(field)
            except orjson.JSONEncodeError as error:
                what = self.kinds[name].what.format(value)
                raise InvalidValue(f"{what} cannot be stored: {error}") from error


class RecordFields:
    """The fields of a kind of records, and their forms in a row or a document.

    `names` are the fields; `field=name` is a field with another name there.
    """

    def __init__(
        self, names: str, kinds: Mapping[str, Kind], form_of: Callable[[Kind], Form]
    ) -> None:
        pairs = [word.partition("=") for word in names.split()]
        self.names = [field for field, _, _ in pairs]
        self.stored = [name or field for field, _, name in pairs]
        some = [kinds.get(field, AS_IS) for field in self.names]
        self._from_stored = steps_of(_between(form_of(kind), kind.record) for kind in some)
        self._missing = steps_of(form_of(kind).missing for kind in some)
        self._from_record = steps_of(_between(kind.record, form_of(kind)) for kind in some)

    def record(self, stored: Iterable[Any]) -> dict[str, Any]:
        """The record of stored values, which are in the order of the fields."""
        values = _converted(stored, self._from_stored)
        for at, fill in self._missing:
            if values[at] is None:
                values[at] = fill()
        return dict(zip(self.names, values, strict=True))

    def values(self, record: Mapping[str, Any]) -> list[Any]:
        """The stored values of a record, in the order of the fields."""
        return _converted((record[name] for name in self.names), self._from_record)


def steps_of(conversions: Iterable[Convert | None]) -> Steps:
    """The conversions that are not None, with their indexes."""
    return [(at, convert) for at, convert in enumerate(conversions) if convert]


def _converted(values: Iterable[Any], steps: Steps) -> list[Any]:
    found = list(values)
    for at, convert in steps:
        if (value := found[at]) is not None:
            found[at] = convert(value)
    return found


def _between(source: Form, target: Form) -> Convert | None:
    """The conversion of one stored form to another; None if they are the same."""
    if source == target:
        return None
    take, put = source.take, target.put
    if take is None or put is None:
        return take or put
    return lambda stored: put(take(stored))
