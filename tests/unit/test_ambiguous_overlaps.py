"""Logs that share lines by chance, or in an order that times do not tell."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tests.log_site import LogSite


def a_line(second: int) -> bytes:
    time = f"17/May/2015:10:00:{second:02} +0000"
    return f'h - - [{time}] "GET / HTTP/1.1" 200 5 "-" "A"\n'.encode()


def a_log(folder: Path, name: str, lines: Iterable[bytes]) -> Path:
    (folder / name).write_bytes(b"".join(lines))
    return folder / name


def test_a_burst_of_equal_requests_across_a_rotation_is_no_overlap(tmp_path: Path) -> None:
    one = a_log(tmp_path, "one", [a_line(1), *[a_line(9)] * 5])
    two = a_log(tmp_path, "two", [*[a_line(9)] * 5, a_line(10)])
    site = LogSite()
    assert site.ingest(one, two).problems == ()
    assert site.entries() == 12


def test_a_log_that_holds_all_of_one_that_begins_earlier_is_left_out(tmp_path: Path) -> None:
    """Lines are out of order, so the part begins before the whole, and ends before it begins."""
    lines = [a_line(n) for n in (50, 40, 41, 42, 43, 44, 45, 59)]
    part, whole = a_log(tmp_path, "part", lines[1:7]), a_log(tmp_path, "whole", lines)
    site = LogSite()
    assert "after the end of the logs before it" in (found := site.ingest(part, whole).problems[0])
    assert "holds 6 of their lines" in found
    assert site.entries() == 6


def test_a_log_that_begins_with_one_log_and_holds_another_is_left_out(tmp_path: Path) -> None:
    """Lines are out of order, so its middle is read before its beginning."""
    lines = [a_line(n) for n in (50, 51, 52, 53, 40, 41, 42, 43, 44, 45, 59)]
    begin = a_log(tmp_path, "begin", lines[:4])
    middle = a_log(tmp_path, "middle", lines[4:10])
    whole = a_log(tmp_path, "whole", lines)
    site = LogSite()
    (problem,) = site.ingest(begin, middle, whole).problems
    assert "whole was left out" in problem
    assert "holds 6 of their lines" in problem
    assert site.entries() == 10
