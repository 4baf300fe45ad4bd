"""Scalars and arrays of numpy in rows."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from synergy.storage.collection_rows import decoded, encoded
from synergy.storage.unstorable import Unstorable
from synergy.worker.outcome import checked
from synergy.worker.rows import as_documents

np = pytest.importorskip("numpy")


@pytest.mark.parametrize(
    ("name", "given", "kind"),
    [
        *((name, 7, int) for name in ("int8", "int16", "int32", "int64", "uint8", "uint16")),
        ("int64", -(2**63), int),
        ("uint64", 2**64 - 1, int),
        *((name, 0.1, float) for name in ("float16", "float32", "float64")),
        ("bool_", True, bool),
        ("str_", "Zürich", str),
        ("bytes_", b"\0\xff", bytes),
    ],
)
def test_a_scalar_is_read_as_the_equal_value_of_python(
    name: str, given: object, kind: type
) -> None:
    value = getattr(np, name)(given)
    read = decoded(encoded({"v": value, "deep": [{"v": value}]}))
    assert type(read["v"]) is kind
    assert read["v"] == value
    assert read["deep"] == [{"v": value}]


def test_an_array_without_dimensions_is_read_as_its_scalar() -> None:
    assert decoded(encoded({"v": np.array(5)})) == {"v": 5}


def _values() -> list[tuple[object, str]]:
    return [
        (np.float64("nan"), 'is nan: .*nan="null"'),
        (np.float32("-inf"), 'is -inf: .*nan="null"'),
        (np.datetime64("2026-11-22T10:00:00", "ns"), r"replace\(tzinfo=UTC\)"),
        (np.datetime64("NaT"), r"replace\(tzinfo=UTC\)"),
        (np.timedelta64(1, "ns"), r"timedelta64\[us\]"),
        (np.longdouble(0.1), r"give float\(value\)"),
        (np.complex128(1j), "real and its imaginary part"),
        (np.array([1, 2]), r"a numpy\.ndarray, .* give value\.tolist\(\)"),
        (np.array([5]), r"give value\.tolist\(\)"),
        (np.array(["2026-01-01"], "M8[D]"), r"give value\.tolist\(\)"),
        (np.array((1, 2), dtype=[("a", "i4"), ("b", "i4")])[()], "cannot be stored"),
    ]


@pytest.mark.parametrize(("value", "remedy"), _values())
def test_lossy_types_are_refused_with_the_remedy(value: object, remedy: str) -> None:
    with pytest.raises(Unstorable, match=remedy):
        encoded({"v": value})


def test_values_converted_as_advised_can_be_stored() -> None:
    at = np.datetime64("2026-11-22T10:00:00.000001", "ns")
    row = {
        "at": at.astype("datetime64[us]").item().replace(tzinfo=UTC),
        "took": np.timedelta64(1, "s").astype("timedelta64[us]").item(),
        "some": np.array([1.5, 2]).tolist(),
        "day": np.datetime64("2026-11-22").item(),
    }
    read = decoded(encoded(row))
    assert read == row
    assert read["at"] == datetime(2026, 11, 22, 10, 0, 0, 1, tzinfo=UTC)
    assert read["day"] == date(2026, 11, 22)


def test_nan_becomes_null_where_the_sink_allows_it() -> None:
    rows = [{"domain": np.str_("a"), "v": np.float32("nan"), "w": np.float64("inf")}]
    (document,) = as_documents("2026112200", rows, ("domain",), "null")
    assert document.key == "a"
    assert decoded(document.body)["v"] is None  # type: ignore[arg-type]
    assert decoded(document.body)["w"] is None  # type: ignore[arg-type]


def test_scalars_can_be_keys_and_whole_numbers_counts() -> None:
    (document,) = as_documents("2026112200", [{"id": np.int64(5)}], ("id",))
    assert document.key == "5"
    assert checked({"rows": np.int64(5)}) == {"rows": 5}
    with pytest.raises(TypeError, match="not a whole number"):
        checked({"rows": np.float64(5)})
