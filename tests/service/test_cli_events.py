"""`launch.py event`: events from the command line."""

from __future__ import annotations

import json

import pytest

from tests.service.cli_schedule_kit import IMPORT, everything

RELATIVE = "is neither a path from / nor one like s3://bucket/key"
USELESS = "partitions of a {} are ignored: only a PARTITION has them"
LOADS = """
name: loads
target: https://user.example.com/
trigger: {partition: {dataset: visits, n: 2}}
"""


def test_events_are_emitted_one_by_one_and_listed(home, file):
    home.ok("schedule", "add", file(LOADS), "--enable")
    said = home.ok("event", "emit", "PARTITION", "visits", "--partitions", "2", "--id", "a")
    assert "recorded: PARTITION visits 2015-05-20 12:00:00Z" in said
    assert "listening: loads" in said
    assert "no agent has processed it yet" in home.err
    assert "recorded before, as a" in home.ok("event", "emit", "PARTITION", "visits", "--id", "a")
    found = home.json("event", "emit", "PARTITION", "visits", "--id", "a")
    assert [event["new"] for event in found["events"]] == [False]
    assert found["effects"]["schedules"] == ["loads"]
    assert found["effects"]["is_decided"] is False
    home.ok("event", "emit", "FILE", "/d/x", "--at", "2015-05-20 11:00:00")
    items = home.json("event", "list")["items"]
    assert [(event["seq"], event["resource"]) for event in items] == [(2, "/d/x"), (1, "visits")]
    assert items[0]["timestamp"] == "2015-05-20T11:00:00Z"
    assert "no enabled schedule" in home.ok("event", "emit", "FILE", "/d/y")
    assert "/d/y" in home.ok("event", "list", "--limit", "1")
    assert "--cursor" in home.err


def test_events_of_a_file_are_recorded_all_or_none(home, deployed, file):
    good = {"eventType": "FILE", "eventResourceId": "/d", "eventTimestamp": "2015-05-20T11:00:00Z"}
    before = everything(deployed)
    wrong = file("\n".join(map(json.dumps, [good, {**good, "eventType": "X"}, {}])))
    assert home.run("event", "emit", "--file", wrong) == 2
    assert [line.split(": ")[1] for line in home.err.splitlines()[:2]] == ["event 2", "event 3"]
    assert everything(deployed) == before
    right = file("\n".join(json.dumps({**good, "id": str(n % 30)}) for n in range(40)))
    assert "30 of 40 recorded" in home.ok("event", "emit", "--file", right)
    assert len(home.json("event", "list", "--limit", "100")["items"]) == 30


@pytest.mark.parametrize(
    ("argv", "warning"),
    [
        (["FILE", "data/in/x.csv"], f"'data/in/x.csv' {RELATIVE}"),
        (["FILE", "./x"], RELATIVE),
        (["FILE", "c:x"], RELATIVE),
        (["FILE", "/data/in/x.csv"], None),
        (["FILE", "s3://bucket/in/x"], None),
        (["FILE", "hdfs:/in/x"], None),
        (["TABLE", "orders"], None),
        (["PARTITION", "orders", "--partitions", "5"], None),
        (["TABLE", "orders", "--partitions", "5"], USELESS.format("TABLE")),
        (["FILE", "/x", "--partitions", "1"], USELESS.format("FILE")),
    ],
)
def test_valid_events_that_are_probably_mistakes_cause_a_warning(home, argv, warning):
    for option in ((), ("--dry-run",), ("--json",)):
        home.ok("event", "emit", *argv, *option)
        assert ("warning: " in home.err) is (warning is not None)
        assert (warning or "") in home.err
    assert len(home.json("event", "list")["items"]) == 2


def test_warnings_about_many_events_are_limited(home, file):
    at = "2015-05-20T12:00:00Z"
    events = [
        {"eventType": "FILE", "eventResourceId": f"{n}", "eventTimestamp": at} for n in range(12)
    ]
    home.ok("event", "emit", "--file", file("\n".join(map(json.dumps, events))))
    warnings = [line for line in home.err.splitlines() if line.startswith("warning: ")]
    assert [line[:17] for line in warnings[::10]] == ["warning: event 1:", "warning: and 2 mo"]
    assert len(warnings) == 11


def test_an_event_for_a_disabled_schedule_reports_that_none_listens(home, file):
    home.ok("schedule", "add", file(IMPORT))
    emitted = home.ok("event", "emit", "FILE", "/data/in/x")
    assert "no enabled schedule listens to it" in emitted


def test_events_are_listed_with_their_partitions(home):
    home.ok("event", "emit", "PARTITION", "visits", "--partitions", "5", "--id", "load-1")
    header, line = home.ok("event", "list").splitlines()
    assert header.split()[3] == "partitions"
    assert line.split()[3] == "5"
