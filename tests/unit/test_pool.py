"""The rules of the pool: turns, limits and size."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from synergy.config.pool import default_size
from synergy.model.pool import in_turn, most_members
from synergy.model.process import FreerunProcess

NAMES = some.text("abc", min_size=1, max_size=3)
GIB = 1 << 30


@pytest.mark.parametrize(
    ("ready", "last", "expected"),
    [
        ("", "", ""),
        ("CAB", "", "ABC"),
        ("CAB", "A", "BCA"),
        ("CAB", "C", "ABC"),
        ("AC", "B", "CA"),
        ("A", "A", "A"),
    ],
)
def test_the_turn_goes_on_after_the_last_process(ready: str, last: str, expected: str) -> None:
    assert in_turn(set(ready), last) == list(expected)


@given(some.sets(NAMES, min_size=1), NAMES)
def test_each_ready_process_has_its_turn_before_one_has_two(ready: set[str], last: str) -> None:
    served = []
    for _ in range(2 * len(ready)):
        last = in_turn(ready, last)[0]
        served.append(last)
    assert sorted(served[: len(ready)]) == sorted(ready)
    assert served[: len(ready)] == served[len(ready) :]


@pytest.mark.parametrize(
    ("max_active", "size", "expected"),
    [(1, 4, 1), (3, 4, 3), (4, 4, 3), (99, 4, 3), (8, 2, 1), (8, 1, 1)],
)
def test_a_process_never_has_all_members(max_active: int, size: int, expected: int) -> None:
    process = a_process(max_active=max_active)
    assert most_members(process, size) == expected


@pytest.mark.parametrize(
    ("cores", "gib", "expected"),
    [(1, 8, 2), (2, 8, 4), (8, 64, 16), (64, 512, 16), (8, 2, 4), (8, 0.25, 2)],
)
def test_the_size_follows_cores_and_memory(cores: int, gib: float, expected: int) -> None:
    assert default_size(cores, int(gib * GIB)) == expected


def a_process(**fields: Any) -> FreerunProcess:
    made = FreerunProcess(
        name="A", classname=None, command=("a",), token="a", present_on_boxes=(".*",)
    )
    return replace(made, **fields)
