"""Rows are read back as they were stored, or refused with the field and the remedy."""

from __future__ import annotations

import enum
import math
from collections import Counter, namedtuple
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from types import MappingProxyType
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synergy.storage import collection_rows
from synergy.storage.collection_rows import DEEPEST, decoded, encoded, for_people
from synergy.storage.unstorable import Unstorable

ZURICH = ZoneInfo("Europe/Zurich")
OFFSETS = st.timedeltas(timedelta(hours=-23), timedelta(hours=23)).map(timezone)
SINGLE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(1 << 63), (1 << 64) - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(),
    st.datetimes(timezones=st.one_of(st.just(UTC), OFFSETS)),
    st.dates(),
    st.times(),
    st.timedeltas(),
    st.uuids(),
    st.decimals(allow_nan=False, allow_infinity=False),
    st.binary(max_size=50),
)
NAMES = st.one_of(
    st.text(max_size=5),
    st.sampled_from(
        ["$:", "$:date", "$:decimal", "$:bytes", "$:unknown", "$date", "a.b", "", "_id"]
    ),
)
ROWS = st.dictionaries(
    NAMES,
    st.recursive(
        SINGLE,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)
        ),
        max_leaves=12,
    ),
    max_size=4,
)


def typed(value: Any) -> Any:
    """Returns the value with its types and signs of zero, for comparison."""
    if isinstance(value, Mapping):
        return {name: typed(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [typed(inner) for inner in value]
    return type(value), value, repr(value) if isinstance(value, float | Decimal) else ""


@given(ROWS)
def test_rows_are_read_back_equal_in_value_and_type(row: dict[str, Any]) -> None:
    assert typed(decoded(encoded(row))) == typed(row)


@given(ROWS)
def test_rows_read_from_text_or_bytes_are_written_identically(row: dict[str, Any]) -> None:
    stored = encoded(row)
    assert typed(decoded(stored.decode())) == typed(decoded(stored))
    assert encoded(decoded(stored)) == stored
    assert encoded(dict(reversed(row.items()))) == stored


@given(ROWS)
def test_a_row_that_is_json_is_stored_as_json(row: dict[str, Any]) -> None:
    """Rewriting a row of an older version therefore does not change it."""
    shown = orjson.loads(orjson.dumps(for_people(row)))
    if '{"$:' not in orjson.dumps(shown).decode():
        assert encoded(shown) == orjson.dumps(shown, option=orjson.OPT_SORT_KEYS)


@pytest.mark.parametrize(
    "at",
    [
        datetime(2026, 10, 25, 2, 30, tzinfo=ZURICH),
        datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=ZURICH),
        datetime(2026, 3, 29, 2, 30, 0, 1, tzinfo=ZURICH),
        datetime(1890, 1, 1, tzinfo=ZURICH),  # an offset with seconds
        datetime.max.replace(tzinfo=UTC),
        datetime.min.replace(tzinfo=UTC),
    ],
)
def test_a_datetime_keeps_its_instant_and_its_offset(at: datetime) -> None:
    read = decoded(encoded({"at": at}))["at"]
    assert read.utcoffset() == at.utcoffset()
    assert read.replace(tzinfo=None) == at.replace(tzinfo=None, fold=0)


class Colour(enum.Enum):
    RED = 1


class Size(enum.StrEnum):
    LARGE = "large"


class Level(enum.IntEnum):
    HIGH = 3


class Text(str):
    def __str__(self) -> str:
        return "something else"


@dataclass
class Point:
    x: int


Pair = namedtuple("Pair", "a b")


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (Size.LARGE, "large"),
        (Level.HIGH, 3),
        (Text("as it is"), "as it is"),
        ((1, (2,)), [1, [2]]),
        (Counter(a=2), {"a": 2}),
        (MappingProxyType({"a": date(2026, 1, 1)}), {"a": date(2026, 1, 1)}),
        ({Size.LARGE: 1}, {"large": 1}),
        (-0.0, -0.0),
        (5e-324, 5e-324),
        ("nul \0 in it", "nul \0 in it"),
        ((1 << 64) - 1, (1 << 64) - 1),
    ],
)
def test_subclasses_are_stored_as_their_known_base_types(value: object, read: object) -> None:
    assert typed(decoded(encoded({"v": value}))["v"]) == typed(read)


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    "value", [NAN, INF, -INF, Decimal("NaN"), Decimal("sNaN"), Decimal("-Infinity")]
)
def test_nan_is_refused_unless_it_may_be_null(value: float | Decimal) -> None:
    row = {"stat": {"means": [1.5, value]}}
    with pytest.raises(Unstorable, match=r'^field stat\.means\[1\] is .*nan="null"') as refused:
        encoded(row)
    assert refused.value.field == "stat.means[1]"
    assert str(value).lower() in str(refused.value)
    assert decoded(encoded(row, "null")) == {"stat": {"means": [1.5, None]}}
    assert math.isnan(NAN)


NAIVE = datetime(2026, 1, 1, tzinfo=UTC).replace(tzinfo=None)


def _deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def _circular() -> Any:
    value: list[Any] = []
    value += [value, value]
    return value


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (1 << 64, "field v is a whole number beyond 64 bits: give it as Decimal or as text"),
        (-(1 << 63) - 1, "beyond 64 bits"),
        (NAIVE, r"a datetime without a zone: .*replace\(tzinfo=UTC\)"),
        (time(1, tzinfo=UTC), "a time of day with a zone: give one without"),
        ({1, 2}, r"a set, which cannot be stored: it has no order, give sorted\(value\)"),
        (frozenset(), r"give sorted\(value\)"),
        (Colour.RED, r"Colour, which cannot be stored: give its \.value"),
        (Point(1), r"dataclasses\.asdict\(value\)"),
        (Pair(1, 2), r"names would be lost: give value\._asdict\(\)"),
        (bytearray(b"x"), r"give bytes\(value\)"),
        ((n for n in (1, 2)), r"a generator, .* only once, give list\(value\)"),
        (object(), "an object, which cannot be stored: give text, numbers"),
        (1j, "a complex, which cannot be stored"),
        ({1: "a"}, r"field v has the key 1: keys have to be text, give str\(key\)"),
        ({"a": {None: 1}}, r"field v\.a has the key None"),
        ("half \ud83d", r"field v is 'half \\ud83d', which holds half of a character"),
        ({"\udc80": 1}, "half of a character"),
        ({"a\n": object()}, r"field v\.'a\\n' is an object"),
        (_deep(DEEPEST + 1), "deeper than 200 levels, or holds itself"),
        (_circular(), "deeper than 200 levels, or holds itself"),
    ],
)
def test_lossy_values_are_refused(value: object, problem: str) -> None:
    for row in ({"v": value}, {"v": value, "other": date(2026, 1, 1)}):
        with pytest.raises(Unstorable, match=problem):
            encoded(row)


def test_the_deepest_row_is_read_back() -> None:
    for deep in (_deep(DEEPEST), [_deep(DEEPEST - 1), date(2026, 1, 1)]):
        assert decoded(encoded({"v": deep})) == {"v": deep}


def test_deeply_nested_mappings_that_look_like_type_marks_are_refused() -> None:
    value: Any = 1
    for _ in range(DEEPEST):
        value = {"$:": value}
    with pytest.raises(Unstorable, match="the row cannot be stored"):
        encoded({"v": value, "w": 1})


def test_a_row_that_is_too_large_for_one_engine_is_refused_for_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(collection_rows, "LARGEST", 1 << 20)
    assert encoded({"v": "x" * ((1 << 20) - 8)})
    with pytest.raises(Unstorable, match="more than 1,048,576: make several rows"):
        encoded({"v": "x" * (1 << 20)})


class Stamp(datetime):
    """A datetime with nanoseconds, as in data frames."""

    def isoformat(self, *_: object) -> str:  # type: ignore[override]
        return "2026-01-01T00:00:00.000000001+00:00"


class NotATime(datetime):
    def isoformat(self, *_: object) -> str:  # type: ignore[override]
        return "NaT"


@pytest.mark.parametrize("kind", [Stamp, NotATime])
def test_subclasses_of_datetime_that_would_lose_precision_are_refused(kind: type[datetime]) -> None:
    with pytest.raises(Unstorable, match="without loss: give a datetime of Python, or text"):
        encoded({"at": kind(2026, 1, 1, tzinfo=UTC)})


class Scalar:
    """A number with the interface of numpy's scalars."""

    def __init__(self, kind: str, plain: object, shape: tuple[int, ...] = ()) -> None:
        self.shape, self._plain = shape, plain
        self.dtype = type("Dtype", (), {"kind": kind})()

    def item(self) -> object:
        return self._plain

    def tolist(self) -> object:
        return self._plain


@pytest.mark.parametrize(("kind", "plain"), [("i", -5), ("u", 5), ("b", True), ("f", 0.5)])
def test_scalars_are_recognized_by_their_interface(kind: str, plain: object) -> None:
    assert typed(decoded(encoded({"v": Scalar(kind, plain)}))) == typed({"v": plain})


@pytest.mark.parametrize(
    ("scalar", "advice"),
    [
        (Scalar("M", 1_000), r"replace\(tzinfo=UTC\)"),
        (Scalar("m", 1_000), r"timedelta64\[us\]"),
        (Scalar("i", [1], (1,)), r"give value\.tolist\(\)"),
        (Scalar("f", object()), r"give float\(value\)"),
        (Scalar("f", NAN), "is nan"),
        (Scalar("i", 1 << 70), "beyond 64 bits"),
    ],
)
def test_scalars_that_cannot_be_stored_exactly_are_refused(scalar: Scalar, advice: str) -> None:
    with pytest.raises(Unstorable, match=advice):
        encoded({"v": scalar})


def test_rows_are_shown_to_people_as_text() -> None:
    id_ = UUID(int=7)
    row = {
        "n": 1, "day": date(2026, 11, 22), "at": datetime(2026, 11, 22, 1, tzinfo=UTC), "id": id_,
        "price": Decimal("1.10"), "raw": b"\0\xff", "took": timedelta(hours=1),
        "inner": [{"price": Decimal(2)}],
    }  # fmt: skip
    assert for_people(decoded(encoded(row))) == {
        "n": 1, "day": "2026-11-22", "at": "2026-11-22T01:00:00+00:00", "id": str(id_),
        "price": "1.10", "raw": "AP8=", "took": "1:00:00", "inner": [{"price": "2"}],
    }  # fmt: skip
