"""The log of a unit by REST."""

from __future__ import annotations

from datetime import timedelta

import pytest

from synergy.storage.protocol import LogLine
from tests.factories import NOW, a_unit
from tests.mx.test_units_api import AT, HOUR, read

# Its log


@pytest.fixture
def written(world):
    """A unit with ten log lines: six of its first attempt, four of its second."""
    unit = a_unit("Sitehourly", HOUR)
    world.store.units.create([unit], "a test")
    for n in range(10):
        attempt, level = 1 if n < 6 else 2, "ERROR" if n in (3, 8) else "INFO"
        line = LogLine(NOW + timedelta(seconds=n), attempt, level, f"no {n}")
        world.store.logs.append(unit.id, [line])
    return unit


@pytest.mark.parametrize(
    ("query", "found", "previous", "following"),
    [
        ("", [*range(1, 11)], None, None),
        ("limit=3", [8, 9, 10], 8, None),
        ("before=3", [1, 2], None, 2),
        ("after=0&limit=4", [1, 2, 3, 4], None, 4),
        ("after=10", [], 11, None),
        ("level=error", [4, 9], None, None),
        ("level=warning&limit=1", [9], 9, None),
        ("q=NO+7", [8], None, None),
        ("q=no&level=error&after=0&limit=1", [4], None, 4),
    ],
)
def test_the_log_of_a_unit_is_read_in_parts(client, written, query, found, previous, following):
    answer = read(client, f"/{written.id}/log?{query}")
    numbers = [line["number"] for line in answer["items"]]
    assert (numbers, answer["previous"], answer["next"]) == (found, previous, following)
    assert answer["total"] == 10
    if query == "level=error":
        found = read(client, f"/{written.id}/log/matches?{query}")
        assert (found["numbers"], found["total"], found["next"]) == (numbers, 10, None)


def test_a_line_names_its_attempt(client, written):
    [line] = read(client, f"/{written.id}/log?after=8&limit=1")["items"]
    assert line == {
        "number": 9,
        "at": (NOW + timedelta(seconds=8)).isoformat(timespec="milliseconds"),
        "level": "error",
        "event": "attempt 2",
        "message": "no 8",
        "more": {"attempt": 2},
    }


def test_the_log_of_a_unit_is_downloaded_as_text(client, written):
    answer = client.get(f"{AT}/{written.id}/log?format=text")
    lines = answer.text.splitlines()
    assert len(lines) == 10
    at = (NOW + timedelta(seconds=3)).isoformat(timespec="milliseconds")
    assert lines[3] == f"{at} attempt 1 error: no 3"
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["content-disposition"] == f'attachment; filename="unit-{written.id}.log"'


def test_the_text_of_a_log_has_no_invisible_characters(world, client):
    unit = a_unit("Sitehourly", HOUR)
    world.store.units.create([unit], "a test")
    world.store.logs.append(unit.id, [LogLine(NOW, 1, "INFO", "one\x1b[2J\u202e\ttwo")])
    text = client.get(f"{AT}/{unit.id}/log?format=text").text
    assert text.endswith("info: one\\x1b[2J\\u202e\ttwo\n")


def test_a_log_of_many_parts_is_read_whole(world, client):
    unit = a_unit("Sitehourly", HOUR)
    world.store.units.create([unit], "a test")
    world.store.logs.append(unit.id, [LogLine(NOW, 1, "INFO", f"no {n}") for n in range(1, 951)])
    for query in ("after=0&limit=1000", "limit=1000"):
        answer = read(client, f"/{unit.id}/log?{query}")
        assert [line["message"] for line in answer["items"]] == [f"no {n}" for n in range(1, 951)]
    assert len(client.get(f"{AT}/{unit.id}/log?format=text").text.splitlines()) == 950


def test_a_unit_without_output_has_an_empty_log(world, client):
    unit = a_unit("Sitehourly", HOUR)
    world.store.units.create([unit], "a test")
    answer = read(client, f"/{unit.id}/log")
    assert (answer["total"], answer["items"]) == (0, [])
    assert client.get(f"{AT}/{unit.id}/log?format=text").text == ""
