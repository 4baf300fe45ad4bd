"""Logs that are cut, rotated, overlapped or compressed have the figures of the whole log."""

from __future__ import annotations

import bz2
import gzip
import io
import random
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from synergy.errors import Refused, Unreachable
from tests.acceptance.visits import LOG as REAL_LOG
from tests.access_log import access_log
from tests.log_site import Figures, LogSite
from tests.seeds import seeds
from workers.access_log.files import zstd

COMPRESS = [bytes, gzip.compress, bz2.compress, zstd.compress]
LOGS = {"generated": access_log(lines=3_000).content()}
if REAL_LOG.exists():
    LOGS["real"] = REAL_LOG.read_bytes()
Lines = Sequence[bytes]


@pytest.fixture(scope="module", params=LOGS)
def lines(request: pytest.FixtureRequest) -> Lines:
    return [line + b"\n" for line in LOGS[request.param].split(b"\n")[:-1]]


@pytest.fixture(scope="module")
def whole(lines: Lines, tmp_path_factory: pytest.TempPathFactory) -> Figures:
    return figures_of(lines, tmp_path_factory.mktemp("whole"))


def figures_of(lines: Iterable[bytes], folder: Path) -> Figures:
    site = LogSite()
    site.ingest(written(folder / "whole", lines))
    return site.figures()


def written(path: Path, lines: Iterable[bytes]) -> Path:
    path.write_bytes(b"".join(lines))
    return path


def parts(folder: Path, lines: Lines, seed: int, overlap: int) -> list[Path]:
    """The log cut at random places, with lines of the part before, compressed; in order of time."""
    dice = random.Random(seed)
    cuts = sorted(dice.sample(range(250, len(lines), 250), dice.randint(1, 4)))
    found = []
    for number, (first, last) in enumerate(zip([0, *cuts], [*cuts, len(lines)], strict=True)):
        content = b"".join(lines[max(0, first - overlap) : last])
        path = folder / f"access.log.{dice.random()}.{number}"
        path.write_bytes(dice.choice(COMPRESS)(content))
        found.append(path)
    return found


@pytest.mark.parametrize("overlap", [0, 2, 1500])
@pytest.mark.parametrize("seed", seeds(2))
def test_one_command_reads_parts_in_any_order_as_one_log(
    tmp_path: Path, lines: Lines, whole: Figures, seed: int, overlap: int
) -> None:
    files, site = parts(tmp_path, lines, seed, overlap), LogSite()
    random.Random(seed).shuffle(files)
    report = site.ingest(*files)

    assert report.problems == ()
    assert site.figures() == whole
    assert report.sessions == sum(hour[0] for hour in whole.values())
    assert report.accepted == sum(hour[1] for hour in whole.values())
    assert bool(report.repeated) == bool(report.notes) == bool(overlap)
    assert report.lines == report.accepted + report.rejected + report.repeated


@pytest.mark.parametrize("overlap", [0, 30, 1500])
@pytest.mark.parametrize("seed", seeds(2))
def test_parts_in_commands_of_their_own_have_the_figures_of_the_whole(
    tmp_path: Path, lines: Lines, whole: Figures, seed: int, overlap: int
) -> None:
    files, site = parts(tmp_path, lines, seed, overlap), LogSite()
    for path in files:
        assert site.ingest(path).problems == ()
    assert site.figures() == whole

    site.ingest(*files)
    for path in files:
        site.ingest(path)
    assert site.figures() == whole


@pytest.mark.parametrize("seed", seeds(3))
def test_parts_in_another_order_are_refused_or_have_the_figures_of_the_whole(
    tmp_path: Path, lines: Lines, whole: Figures, seed: int
) -> None:
    files, site = parts(tmp_path, lines, seed, 30 * (seed % 2)), LogSite()
    refused = False
    for path in reversed(files):
        before = site.figures()
        try:
            site.ingest(path)
        except Refused:
            refused = True
            break
    assert site.figures() == (before if refused else whole)


def test_the_whole_is_refused_after_its_end_or_has_its_figures(
    tmp_path: Path, lines: Lines, whole: Figures
) -> None:
    """The cut is within visits, which would count twice."""
    site = LogSite()
    site.ingest(written(tmp_path / "end", lines[2100:]))
    before = site.figures()
    with pytest.raises(Refused, match=r"end, which begins at .*visits continue in it"):
        site.ingest(written(tmp_path / "log", lines))
    assert site.figures() == before


def test_a_growing_log_is_read_again_after_each_rotation(
    tmp_path: Path, lines: Lines, whole: Figures
) -> None:
    site, log, rotated = LogSite(), tmp_path / "access.log", tmp_path / "access.log.1"
    for end in (700, 1300):
        site.ingest(written(log, lines[:end]))
    log.rename(rotated)
    for end in (1700, len(lines)):
        site.ingest(rotated, written(log, lines[1300:end]))
        site.ingest(log)
    assert site.figures() == whole


def test_a_log_given_twice_counts_once(tmp_path: Path, lines: Lines, whole: Figures) -> None:
    site = LogSite()
    log = written(tmp_path / "log", lines)
    copy = tmp_path / "copy"
    copy.write_bytes(gzip.compress(log.read_bytes()))
    report = site.ingest(log, copy)

    assert site.figures() == whole
    assert (report.lines, report.repeated) == (2 * len(lines), report.accepted)
    assert report.sessions == sum(hour[0] for hour in whole.values())


def test_standard_input_is_one_of_the_logs(
    tmp_path: Path, lines: Lines, whole: Figures, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = io.BytesIO(b"".join(lines[:2000]))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(first))
    site = LogSite()
    site.ingest(written(tmp_path / "last", lines[1900:]), "-")
    assert site.figures() == whole


def test_blank_lines_change_nothing(tmp_path: Path, lines: Lines, whole: Figures) -> None:
    site = LogSite()
    report = site.ingest(written(tmp_path / "log", [b"\n", *lines, b" \t\n", b"\r\n"]))
    assert site.figures() == whole
    assert report.ignored == 3
    assert report.lines == report.accepted + report.rejected + report.ignored


# Small logs


def a_line(second: int, host: str = "h", path: str = "") -> bytes:
    minute, second = divmod(second, 60)
    time = f"17/May/2015:{10 + minute // 60:02}:{minute % 60:02}:{second:02} +0000"
    return f'{host} - - [{time}] "GET /{path} HTTP/1.1" 200 5 "-" "A"\n'.encode()


@pytest.mark.parametrize("is_together", [True, False])
def test_equal_lines_on_both_sides_of_a_rotation_are_different_requests(
    tmp_path: Path, is_together: bool
) -> None:
    one = written(tmp_path / "one", [a_line(0), a_line(9), a_line(9)])
    two = written(tmp_path / "two", [a_line(9), a_line(20), a_line(30)])
    site = LogSite()
    if is_together:
        report = site.ingest(one, two)
        assert "begins with the line that the log before it ends with" in report.notes[0]
    else:
        site.ingest(one)
        site.ingest(two)
    assert (site.visits(), site.entries()) == (1, 6)


def test_equal_lines_within_an_overlap_count_as_often_as_in_one_log(tmp_path: Path) -> None:
    one = written(tmp_path / "one", [a_line(0), a_line(5), a_line(5), a_line(9)])
    two = written(tmp_path / "two", [a_line(5), a_line(5), a_line(9), a_line(9), a_line(12)])
    site = LogSite()
    assert site.ingest(one, two).repeated == 3
    assert site.entries() == 6


def test_an_overlap_tells_the_order_of_logs_whose_first_lines_are_out_of_order(
    tmp_path: Path,
) -> None:
    one = written(tmp_path / "one", [a_line(0), a_line(10), a_line(20)])
    two = written(tmp_path / "two", [a_line(n) for n in (10, 20, 30, 5, 40)])
    three = written(tmp_path / "three", [a_line(n) for n in (5, 40, 50)])
    site = LogSite()
    report = site.ingest(three, two, one)
    assert report.files == (str(three), str(two), str(one))
    assert (site.entries(), report.repeated, report.problems) == (7, 4, ())


def test_a_visit_goes_on_in_the_next_log(tmp_path: Path) -> None:
    site = LogSite()
    site.ingest(written(tmp_path / "one", [a_line(0), a_line(100, "other")]))
    site.ingest(written(tmp_path / "two", [a_line(1700, "new"), a_line(1800), a_line(3600)]))
    assert site.figures() == {"2015051710": (3, 5, 5, 3600)}


def test_a_visitor_who_returns_later_begins_a_visit(tmp_path: Path) -> None:
    site = LogSite()
    site.ingest(written(tmp_path / "one", [a_line(0)]))
    site.ingest(written(tmp_path / "two", [a_line(1801)]))
    assert site.visits() == 2


def test_sites_do_not_share_visits(tmp_path: Path) -> None:
    one = LogSite("one")
    other = LogSite("other", beside=one)
    one.ingest(written(tmp_path / "one", [a_line(0)]))
    other.ingest(written(tmp_path / "two", [a_line(60)]))
    assert one.visits() == 2


def test_a_log_that_differs_from_a_copy_of_it_is_left_out(tmp_path: Path) -> None:
    lines = [a_line(n) for n in range(3000)]
    one = written(tmp_path / "one", lines)
    two = written(tmp_path / "two", [*lines[500:2000], a_line(2000, "forged"), *lines[2000:]])
    site = LogSite()
    report = site.ingest(one, two)
    assert report.problems == (
        f"{two} was left out: it begins with lines of an earlier log, and then differs from it",
    )
    assert site.entries() == 3000


def test_a_log_that_shares_lines_in_another_order_is_left_out_and_then_counted_once(
    tmp_path: Path,
) -> None:
    lines = [a_line(n) for n in range(600)]
    one = written(tmp_path / "one", lines)
    two = written(tmp_path / "two", [a_line(300, "extra"), *lines[301:], a_line(700)])
    site = LogSite()
    assert "holds 299 of their lines" in site.ingest(one, two).problems[0]
    assert site.entries() == 600

    assert site.ingest(two).problems == ()
    assert (site.visits(), site.entries()) == (2, 602)


def test_the_log_of_a_second_server_is_left_out_and_named(tmp_path: Path) -> None:
    one = written(tmp_path / "one", [a_line(60 * n) for n in range(120)])
    two = written(tmp_path / "two", [a_line(60 * n, "other") for n in range(1, 120)])
    site = LogSite()
    begin = f"{two} was left out: it begins at 2015-05-17 10:01:00 UTC"
    assert begin in site.ingest(one, two).problems[0]
    assert site.ingest(two).problems == ()
    assert (site.visits(), site.entries()) == (2, 239)


def test_nothing_is_read_while_the_events_of_earlier_logs_wait(tmp_path: Path) -> None:
    site = LogSite()
    site.is_working = False
    one = written(tmp_path / "one", [a_line(0)])
    two = written(tmp_path / "two", [a_line(60)])
    site.ingest(one)
    assert site.ingest(one).waiting == 2  # the same log needs no other
    with pytest.raises(Unreachable, match="messages of earlier logs wait"):
        site.ingest(two)

    site.is_working = True
    site.work()
    site.ingest(two)
    assert (site.visits(), site.entries()) == (1, 2)


def test_a_log_in_two_formats_goes_on_across_a_rotation(tmp_path: Path) -> None:
    one = written(tmp_path / "one", [a_line(0)])
    two = written(tmp_path / "two", [b"www.example.com:443 " + a_line(60)])
    site = LogSite()
    report = site.ingest(two, one)
    assert dict(report.formats) == {str(one): "combined", str(two): "vhost_combined"}
    assert (site.visits(), site.entries()) == (1, 2)
