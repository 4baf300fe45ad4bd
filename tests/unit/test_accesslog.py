"""Lines of access logs: fields are read, and malformed lines are refused with the reason."""

from __future__ import annotations

import calendar
import io
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synergy.errors import InvalidValue
from workers.access_log.files import LogFile, split
from workers.access_log.lines import MAX_LINE, Ignored, instant
from workers.access_log.ncsa import parse

COMMON = b'127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326'
COMBINED = COMMON + b' "http://www.example.com/start.html" "Mozilla/4.08 [en] (Win98; I ;Nav)"'


def line(
    host: str = "10.0.0.1",
    time: str = "17/May/2015:10:05:03 +0000",
    request: str = "GET / HTTP/1.1",
    status: str = "200",
    agent: str = "Agent/1.0",
) -> bytes:
    return f'{host} - - [{time}] "{request}" {status} 5 "-" "{agent}"'.encode()


def test_common_log_format_has_no_agent() -> None:
    entry = parse(COMMON)

    assert entry.host == "127.0.0.1"
    assert entry.agent == ""
    assert entry.at == datetime(2000, 10, 10, 20, 55, 36, tzinfo=UTC).timestamp()
    assert entry.is_pageview


def test_combined_log_format_has_the_user_agent() -> None:
    assert parse(COMBINED).agent == "Mozilla/4.08 [en] (Win98; I ;Nav)"


@pytest.mark.parametrize(
    ("request_line", "status", "is_pageview"),
    [
        ("GET / HTTP/1.1", "200", True),
        ("GET / HTTP/1.1", "206", True),
        ("GET / HTTP/1.1", "304", True),
        ("GET / HTTP/1.1", "301", False),
        ("GET / HTTP/1.1", "404", False),
        ("HEAD / HTTP/1.1", "200", False),
        ("POST / HTTP/1.1", "200", False),
        ("GETS / HTTP/1.1", "200", False),
        ("-", "408", False),
        (r"\x16\x03\x01", "400", False),
    ],
)
def test_a_pageview_is_a_get_answered_2xx_or_304(
    request_line: str, status: str, is_pageview: bool
) -> None:
    assert parse(line(request=request_line, status=status)).is_pageview is is_pageview


def test_escaped_quotes_belong_to_their_field() -> None:
    assert parse(line(agent=r"a \"quoted\" agent \\")).agent == r"a \"quoted\" agent \\"


@pytest.mark.parametrize("blank", [b"", b" ", b"\t \t"])
def test_a_blank_line_is_no_rejected_one(blank: bytes) -> None:
    with pytest.raises(Ignored):
        parse(blank)


def test_a_leap_second_counts_as_the_next_second() -> None:
    assert instant("30/Jun/2015:23:59:60 +0000") == instant("01/Jul/2015:00:00:00 +0000")


def test_a_user_may_hold_spaces() -> None:
    assert parse(COMMON.replace(b"frank", b"Frank N. Furter")).host == "127.0.0.1"


@pytest.mark.parametrize("host", ["::1", "2001:db8::8a2e:370:7334", "[::1]", "host.example.com"])
def test_a_host_may_be_a_name_or_an_address(host: str) -> None:
    assert parse(line(host=host)).host == host


def test_a_dash_stands_for_no_agent_and_no_size() -> None:
    entry = parse(b'::1 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 304 - "-" "-"')

    assert entry.agent == ""
    assert entry.is_pageview


def test_different_bytes_that_are_not_utf8_stay_different() -> None:
    one, other = (
        parse(line(agent="A").replace(b'"A"', b'"\xff"')),
        parse(line(agent="A").replace(b'"A"', b'"\xfe"')),
    )

    assert one.agent != other.agent


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (b"hello", "column 6: expected a client identity"),
        (COMBINED[:-1], "no end"),
        (COMBINED + b' "one more"', f"column {len(COMBINED) + 2}: expected the end of"),
        (COMBINED.replace(b"GET", b"G\0T"), "NUL"),
        (b"x" * (MAX_LINE + 1), "longer than"),
        (line(host="x" * 300), "column 256: expected a client identity"),
        (line(status="2OO"), "column 60: expected a status"),
        (line(time="17/May/2015 10:05:03"), "not a time"),
        (line(time="17/Mai/2015:10:05:03 +0000"), "no such day"),
        (line(time="17/anF/2015:10:05:03 +0000"), "not a time"),
        (line(time="31/Feb/2015:10:05:03 +0000"), "no such day"),
        (line(time="29/Feb/2015:10:05:03 +0000"), "no such day"),
        (line(time="00/May/2015:10:05:03 +0000"), "no such day"),
        (line(time="17/May/2015:24:05:03 +0000"), "not a time"),
        (line(time="17/May/2015:10:60:03 +0000"), "not a time"),
        (line(time="17/May/2015:10:05:61 +0000"), "column 15: not a time"),
        (line(time="17/May/2015:10:05:03 +0060"), "not a time"),
        (line(time="17/May/2015:10:05:03 +9900"), "not a time"),
        (line(time="17/May/1969:10:05:03 +0000"), "outside"),
        (line(time="01/Jan/1970:00:30:00 +0100"), "outside"),
        (line(time="31/Dec/9998:23:30:00 -0100"), "outside"),
        (line(time="17/May/0000:10:05:03 +0000"), "no such day"),
    ],
)
def test_malformed_lines_are_refused_with_the_reason(bad: bytes, reason: str) -> None:
    with pytest.raises(InvalidValue, match=reason):
        parse(bad)


def test_hostile_lines_are_refused_without_backtracking() -> None:
    for piece in (b'" [', b'[x] "', b'\\"', b"a ", b'- [17/May/2015:10:05:03 +0000] "'):
        with pytest.raises(InvalidValue):
            parse(b"h - " + piece * (MAX_LINE // len(piece) - 1))


@given(st.integers(86_400, 253_370_764_799 - 86_400), st.integers(-56, 56))
def test_times_agree_with_the_calendar(second: int, quarters: int) -> None:
    minutes = abs(quarters) * 15
    zone = f"{'-' if quarters < 0 else '+'}{minutes // 60:02}{minutes % 60:02}"
    local = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=second, minutes=15 * quarters)
    text = f"{local:%d}/{calendar.month_abbr[local.month]}/{local:%Y:%H:%M:%S} {zone}"

    assert instant(text) == second


@given(st.binary(max_size=200))
def test_any_bytes_are_either_read_or_refused(garbage: bytes) -> None:
    with suppress(InvalidValue, Ignored):
        parse(garbage)


class SlowStream(io.RawIOBase):
    """A stream that returns a few bytes at a time, as a pipe may."""

    def __init__(self, content: bytes, step: int) -> None:
        self._content = io.BytesIO(content)
        self._step = step

    def read1(self, _size: int) -> bytes:
        return self._content.read(self._step)


@given(st.lists(st.binary(max_size=20).map(lambda raw: raw.replace(b"\n", b""))), st.integers(1, 9))
def test_lines_do_not_depend_on_the_size_of_reads(lines: list[bytes], step: int) -> None:
    content = b"".join(one + b"\n" for one in lines)
    found = [one for block in split(SlowStream(content, step)) for one in block]  # type: ignore[arg-type]

    assert found == [one.removesuffix(b"\r") for one in lines]


def test_the_last_line_needs_no_line_end() -> None:
    assert list(split(io.BytesIO(b"a\r\nb"))) == [[b"a"], [b"b"]]  # type: ignore[arg-type]


@pytest.mark.parametrize("step", [1000, 64 * 1024, 256 * 1024])
def test_an_overlong_line_is_one_refused_line_and_the_next_is_read(step: int) -> None:
    content = b"x" * 1_000_000 + b"\n" + COMMON + b"\n" + b"y" * 300_000
    lines = [one for block in split(SlowStream(content, step)) for one in block]  # type: ignore[arg-type]

    assert len(lines) == 3
    assert len(lines[0]) > MAX_LINE
    assert lines[1] == COMMON
    with pytest.raises(InvalidValue, match="longer than"):
        parse(lines[2])


def test_an_empty_file_has_no_lines(tmp_path: Path) -> None:
    path = tmp_path / "access.log"
    path.touch()

    assert list(LogFile(str(path)).blocks()) == []
