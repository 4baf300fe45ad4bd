"""The generated log of the tests: its contents, and that its planned visits are in its lines."""

from __future__ import annotations

from hashlib import sha256
from itertools import pairwise

import pytest

from tests.acceptance import visits
from tests.access_log import PAUSE, access_log

LOG = access_log()


def test_the_log_is_the_same_on_every_python() -> None:
    digest = sha256(LOG.content()).hexdigest()
    assert digest == "79c4dfc36483c0ee4385b8377cdb22de7e222e65e343b30f64f363fe71a0b8ac"
    assert access_log(seed=12).content() != LOG.content()


def test_the_log_has_known_figures() -> None:
    assert (len(LOG.lines), len(LOG.rejected), len(LOG.hours)) == (10_000, 12, 83)
    assert visits.statistics(LOG.visits(), "daily") == {
        "2015053000": (370, 1695, 1_060_431),
        "2015053100": (741, 2455, 307_580),
        "2015060100": (603, 2043, 266_018),
        "2015060200": (595, 1990, 263_164),
    }
    assert visits.statistics(LOG.visits(), "yearly") == {"2015000000": (2309, 8183, 1_897_193)}


@pytest.mark.parametrize("end", [None, 1, 3_000])
def test_planned_visits_equal_the_visits_found_in_the_lines(end: int | None) -> None:
    lines = LOG.content(end).decode("latin-1").split("\n")[:-1]
    assert visits.visits(lines) == LOG.visits(end)


def test_the_log_contains_edge_cases() -> None:
    steps = [(one.at, later.at) for lines in by_visit().values() for one, later in pairwise(lines)]
    seconds = [int((later - one).total_seconds()) for one, later in steps]
    assert PAUSE in seconds
    assert min(seconds) < -7000  # a line that is stamped long before the one above it
    assert max(seconds) == PAUSE
    for unit in ("%H", "%d", "%m"):  # visits across hours, days and months
        assert any(f"{one:{unit}}" != f"{later:{unit}}" for one, later in steps)
    assert any(one > later and one.date() > later.date() for one, later in steps)
    assert any(visit.pageviews == 0 for visit in LOG.visits())
    assert max(visit.seconds for visit in LOG.visits()) > 2 * 24 * 3600  # a robot
    contents = [line.content for line in LOG.lines]
    assert len(set(contents)) < len(contents)  # equal lines, each of which counts


def by_visit():
    found = {}
    for line in LOG.lines:
        if line.visit is not None:
            found.setdefault(line.visit, []).append(line)
    return found
