"""Log files by REST: paged, also while they are rotated."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from synergy.queries.logs import line_index, lines

AT = "/api/v1/logs"
NAME = "Sitehourly"


@pytest.fixture
def logs(world) -> Path:
    """The log folder of the world."""
    folder = world.home / "logs"
    folder.mkdir()
    return folder


def line(number, level="info", **more):
    """A log line as a process writes it."""
    at = f"2015-05-20T12:{number // 60 % 60:02}:{number % 60:02}.000+00:00"
    fields = {"at": at, "level": level, "event": "unit.noop", "message": f"line {number}", **more}
    return orjson.dumps(fields) + b"\n"


def write(path, *lines):
    path.write_bytes(b"".join(lines))


@pytest.fixture
def rotated(logs):
    """A log of seven lines in three parts."""
    write(logs / f"{NAME}.log.2", line(1), line(2, "error"), line(3))
    write(logs / f"{NAME}.log.1", line(4), line(5, "warning"))
    write(logs / f"{NAME}.log", line(6), line(7, "error"))
    return logs


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(line_index, "BLOCK", 1000)
    monkeypatch.setattr(line_index, "LONGEST", 4000)


def read(client, query="", name=NAME):
    return client.read(f"logs/{name}?{query}")


def numbers(answer):
    return [one["number"] for one in answer["items"]]


# Parts


def test_rotated_parts_are_one_log(client, rotated):
    answer = read(client, "after=0")
    assert answer["total"] == 7
    assert [part["lines"] for part in answer["parts"]] == [3, 2, 2]
    assert [(one["number"], one["message"]) for one in answer["items"]] == [
        (n, f"line {n}") for n in range(1, 8)
    ]
    assert (answer["previous"], answer["next"]) == (None, None)


@pytest.mark.parametrize(
    ("query", "found", "previous", "following"),
    [
        ("limit=2", [6, 7], 6, None),
        ("before=6&limit=2", [4, 5], 4, 5),
        ("before=4", [1, 2, 3], None, 3),
        ("before=1", [], None, 0),
        ("before=8&limit=1", [7], 7, None),
        ("before=99&limit=1", [7], 7, None),
        ("after=0&limit=3", [1, 2, 3], None, 3),
        ("after=3&limit=2", [4, 5], 4, 5),
        ("after=5", [6, 7], 6, None),
        ("after=7", [], 8, None),
        ("after=9007199254740992", [], 8, None),
        ("level=warning", [2, 5, 7], None, None),
        ("level=error&after=2", [7], 3, None),
        ("level=error&limit=1", [7], 7, None),
        ("level=error&limit=1&before=7", [2], 2, 6),
        ("level=warning&limit=1&after=2", [5], 3, 5),
        ("q=LINE+5", [5], None, None),
        ("q=line&level=error&after=0&limit=1", [2], None, 2),
        ("q=%22level%22%3A%22warning%22", [5], None, None),
        ("q=nothing", [], None, None),
    ],
)
def test_lines_are_read_before_and_after_a_number(
    client, rotated, query, found, previous, following
):
    answer = read(client, query)
    assert (numbers(answer), answer["previous"], answer["next"]) == (found, previous, following)


def test_a_search_returns_the_numbers_of_lines(client, rotated):
    at = f"{AT}/{NAME}/matches"
    answer = client.get(f"{at}?level=warning").json()
    assert (answer["numbers"], answer["next"], answer["total"]) == ([2, 5, 7], None, 7)
    answer = client.get(f"{at}?level=warning&limit=1").json()
    assert (answer["numbers"], answer["next"]) == ([2], 2)
    assert client.get(f"{at}?level=warning&after=2").json()["numbers"] == [5, 7]


def test_a_line_that_is_being_written_is_left_out(client, logs):
    path = logs / f"{NAME}.log"
    write(path, line(1), line(2)[:-10])
    assert numbers(read(client)) == [1]
    write(path, line(1), line(2))
    assert [one["message"] for one in read(client)["items"]] == ["line 1", "line 2"]


def test_a_line_without_end_in_an_old_part_is_a_line(client, logs):
    write(logs / f"{NAME}.log.1", line(1), b"killed here")
    write(logs / f"{NAME}.log", line(3))
    assert [one["message"] for one in read(client)["items"]] == ["line 1", "killed here", "line 3"]


def test_new_lines_are_read_from_the_last_position(client, logs):
    path = logs / f"{NAME}.log"
    write(path, line(1))
    for number in range(2, 6):
        with path.open("ab") as file:
            file.write(line(number))
        answer = read(client, f"after={number - 1}")
        assert (numbers(answer), answer["total"]) == ([number], number)


def test_parts_with_equal_beginnings_are_distinguished(client, logs, small_blocks):
    write(logs / f"{NAME}.log.1", line(1), *map(line, range(2, 101)))
    write(logs / f"{NAME}.log", line(1), *map(line, range(102, 120)))
    for _ in range(2):
        answer = read(client, "after=90&limit=20")
        assert [one["message"] for one in answer["items"]] == [
            f"line {n}" for n in (*range(91, 101), 1, *range(102, 111))
        ]
        assert answer["total"] == 119


def test_a_truncated_log_is_read_from_its_beginning(client, logs):
    path = logs / f"{NAME}.log"
    write(path, *map(line, range(1, 100)))
    assert read(client)["total"] == 99
    write(path, line(1), line(2))
    assert read(client)["total"] == 2


def test_numbers_from_before_a_rotation_are_refused(client, rotated):
    start = read(client)["parts"][0]["id"]
    assert numbers(read(client, f"after=5&start={start}")) == [6, 7]
    (rotated / f"{NAME}.log.1").rename(rotated / f"{NAME}.log.2")
    (rotated / f"{NAME}.log").rename(rotated / f"{NAME}.log.1")
    write(rotated / f"{NAME}.log", line(8))
    for place in ("", "/matches"):
        answer = client.get(f"{AT}/{NAME}{place}?after=5&start={start}")
        assert answer.status_code == 409
        assert "new numbers" in answer.json()["detail"]
    answer = read(client, "after=0")
    assert [one["message"] for one in answer["items"]] == [f"line {n}" for n in range(4, 9)]
    assert numbers(answer) == [1, 2, 3, 4, 5]


# Blocks


def test_every_line_of_many_blocks_has_its_number(client, logs, small_blocks):
    write(logs / f"{NAME}.log.1", *map(line, range(1, 334)))
    write(logs / f"{NAME}.log", *map(line, range(334, 1001)))
    for number in range(0, 1000, 7):
        [one] = read(client, f"after={number}&limit=1")["items"]
        assert (one["number"], one["message"]) == (number + 1, f"line {number + 1}")
        [one] = read(client, f"before={number + 2}&limit=1")["items"]
        assert one["message"] == f"line {number + 1}"
    assert numbers(read(client, "before=901&limit=900")) == list(range(1, 901))


def test_a_line_longer_than_a_block_is_one(client, logs, small_blocks):
    write(logs / f"{NAME}.log", line(1), line(2, text="x" * 3000), line(3))
    assert numbers(read(client)) == [1, 2, 3]
    assert read(client, "after=1&limit=1")["items"][0]["more"] == {"text": "x" * 3000}


def test_a_line_without_end_is_cut(client, logs, small_blocks):
    write(logs / f"{NAME}.log", b"x" * 9000, b"\n", line(2))
    lengths = [len(one["message"]) for one in read(client)["items"]]
    assert lengths == [4000, 4000, 1000, len("line 2")]


def test_one_request_searches_a_bounded_part_and_says_where_to_continue(client, logs, monkeypatch):
    levels = {1: "error", 90: "error"}
    write(logs / f"{NAME}.log", *(line(n, levels.get(n, "info")) for n in range(1, 101)))
    monkeypatch.setattr(lines, "MOST_SEARCHED", 10 * len(line(1)))
    answer = read(client, "level=error&after=1")
    assert answer["items"] == []
    place = answer["next"]
    assert 2 < place < 20
    for _ in range(20):
        answer = read(client, f"level=error&after={place}")
        place = answer["next"]
        if answer["items"]:
            break
    assert numbers(answer) == [90]
    answer = read(client, "level=error&before=89")
    assert answer["items"] == []
    assert 60 < answer["previous"] < 88


def test_a_response_is_bounded_and_has_at_least_one_line(client, logs, monkeypatch):
    write(logs / f"{NAME}.log", *map(line, range(1, 9)))
    monkeypatch.setattr(lines, "MOST_SHOWN", 2 * len(line(1)))
    assert (numbers(answer := read(client, "after=0")), answer["next"]) == ([1, 2], 2)
    assert (numbers(answer := read(client)), answer["previous"]) == ([7, 8], 7)
    monkeypatch.setattr(lines, "MOST_SHOWN", 1)
    assert numbers(read(client, "after=3")) == [4]


# Lines


def test_a_json_line_is_split_into_fields(client, logs):
    write(logs / f"{NAME}.log", line(5, "warning", process=NAME, unit="u", n=3, of={"a": [1]}))
    assert read(client)["items"] == [
        {
            "number": 1,
            "at": "2015-05-20T12:00:05.000+00:00",
            "level": "warning",
            "event": "unit.noop",
            "message": "line 5",
            "more": {"process": NAME, "unit": "u", "n": 3, "of": {"a": [1]}},
        }
    ]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"Traceback (most recent call last):", "Traceback (most recent call last):"),
        (b"[1, 2]", "[1, 2]"),
        (b"null", "null"),
        (b"", ""),
        (b"\xff\x00<b>", "\ufffd\x00<b>"),
        (b'{"message": "\\ud800"}', '{"message": "\\ud800"}'),
        (b'{"message": NaN}', '{"message": NaN}'),
        (b"{" * 5000, "{" * 5000),
    ],
)
def test_any_other_line_is_plain_text(client, logs, raw, message):
    write(logs / f"{NAME}.log", raw + b"\n")
    [one] = read(client)["items"]
    assert (one["message"], one["level"], one["at"], one["more"]) == (message, "", "", {})


@pytest.mark.parametrize(
    "raw", [b'{"message": 1e999, "n": -1e999}', b'{"message": {"a": 1}, "level": 7}']
)
def test_an_unusual_line_is_returned(client, logs, raw):
    write(logs / f"{NAME}.log", raw + b"\n")
    assert len(read(client)["items"]) == 1


def test_text_is_found_in_any_case_and_quoting(client, logs):
    write(logs / f"{NAME}.log", line(1, text='said "no"\n'), line(2, text="ÄRGER"), line(3))
    assert numbers(read(client, 'q=said+"no"')) == [1]
    assert numbers(read(client, "q=ärger")) == [2]
    assert numbers(read(client, "q=%C3%A4rger&level=info")) == [2]
