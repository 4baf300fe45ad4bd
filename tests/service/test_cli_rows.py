"""`launch.py rows`: the rows of a collection, as a table, JSON or CSV."""

from __future__ import annotations

import csv
import io
from datetime import date

import pytest


@pytest.fixture
def stored(deployed):
    """Three hours of a collection."""
    for hour in ("2015051700", "2015051712", "2015051800"):
        deployed.put(
            "own", hour, [{"domain": "a", "n": {"of": int(hour)}, "on": date(2015, 5, 17)}]
        )
    return deployed


def test_a_range_is_printed_as_a_table(home, stored):
    lines = home.ok("rows", "own", "2015-05-17").splitlines()
    assert lines[0].split() == ["timeperiod", "domain", "of", "on"]
    assert lines[2].split() == ["2015051712", "a", "2015051712", "2015-05-17"]
    assert len(lines) == 3


def test_json_has_whole_rows(home, stored):
    (row,) = home.json("rows", "own", "2015-05-17T12")
    assert row == {
        "domain": "a",
        "n": {"of": 2015051712},
        "on": "2015-05-17",
        "timeperiod": "2015051712",
    }


def test_csv_is_safe_to_open(home, stored):
    stored.put("own", "2015051801", [{"domain": "=x"}])
    rows = list(csv.reader(io.StringIO(home.ok("rows", "own", "2015-05-18T01", "--csv"))))
    assert rows == [["timeperiod", "domain"], ["2015051801", "'=x"]]


def test_more_rows_are_mentioned(home, stored):
    assert len(home.json("rows", "own", "--limit", "2")) == 2
    assert "there are more than these 2: --limit" in home.err
    assert len(home.json("rows", "own")) == 3
    assert home.err == ""


def test_a_range_of_time_has_a_zone(home, stored):
    found = home.json("rows", "own", "--from", "2015-05-17T14:00", "--zone", "Europe/Berlin")
    assert [row["timeperiod"] for row in found] == ["2015051712", "2015051800"]
    assert home.json("rows", "own", "--to", "2015-05-17T00:00") == []


@pytest.mark.parametrize(
    ("argv", "code", "message"),
    [
        (["owned"], 3, "there are "),
        (["own", "2015-05-18..2015-05-17"], 2, "is empty"),
        (["own", "2015", "--from", "today"], 2, "give a range, or --from and --to"),
        (["own", "--csv", "--json"], 2, "exclude each other"),
    ],
)
def test_what_is_no_collection_or_range_is_refused(home, stored, argv, code, message):
    assert home.run("rows", *argv) == code
    assert message in home.err
