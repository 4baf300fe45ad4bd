"""Configurations `{name, dependencies}` and events, as event-dependency systems have them."""

from __future__ import annotations

import json
from contextlib import closing

import pytest

from tests.mx.conftest import client_of
from tests.service.agent_harness import RecordingSender, SteppedAgent
from tests.service.cli_schedule_kit import everything

PROGRAM = "Program"  # a free-run process
FILE = {"type": "FILE", "resourceId": "/dir/path/", "lifeDuration": "3600"}
CRON = {"type": "TIME_BASED", "resourceId": "cron", "lifeDuration": "0"}
TABLE = {"type": "TABLE", "resourceId": "ORDERS", "lifeDuration": 86400}
FIRST = {"name": "CONFIGURATION_1", "dependencies": [CRON, FILE]}
SECOND = {"name": "CONFIGURATION_2", "dependencies": [{**CRON, "type": "TIME_BASED_CRON"}, TABLE]}
EVENTS = [
    ("FILE", "2015-05-19T11:59:59.000Z", "/dir/path/a.csv", []),
    ("FILE", "2015-05-19 12:04:59", "/dir/path/b.csv", []),
    ("FILE", "2015-05-19T12:14:50Z", "/dir/path/c.csv", []),
    ("FILE", "2015-05-19T12:20:00Z", "/dir/an_other_path/x", []),
    ("TIME_BASED", "2015-05-19T12:30:00Z", "cron", ["12:30"]),
    ("TIME_BASED_CRON", "2015-05-19T13:10:00.5Z", "cron", ["13:10"]),
    ("TIME BASED", "2015-05-19 13:30:00", "cron", []),
]
"""The example of event dependencies: type, timestamp, resource, and the runs that it causes."""


@pytest.fixture(autouse=True)
def _context(monkeypatch):
    monkeypatch.setenv("SYNERGY_CONTEXT", "tests.acceptance.deployments.free")


def defined(home, configuration):
    """The stored definition of the schedule with the name of this configuration."""
    return home.json("schedule", "show", configuration["name"])["definition"]


@pytest.mark.parametrize("program", [["--program", PROGRAM], ["--target", "sqs:jobs"]])
def test_the_example_runs_at_its_times(home, deployed, file, program):
    home.ok("schedule", "add", file(json.dumps(FIRST)), "--enable", *program)
    agent = SteppedAgent(deployed.workplace("", "agent-1"), RecordingSender())
    agent.rest()
    seen, found = set(), []
    with closing(client_of(deployed)) as client, closing(agent.consumer):
        for type_, timestamp, resource, _ in EVENTS:
            event = {"eventType": type_, "eventTimestamp": timestamp, "eventResourceId": resource}
            assert client.post("/api/v1/events", json=event).status_code == 202
            agent.rest()
            runs = {run.id: run for run in deployed.store.runs.find()[0]}
            found.append([f"{runs[id_].due_at:%H:%M}" for id_ in runs.keys() - seen])
            seen |= runs.keys()
    assert found == [expected for *_, expected in EVENTS]


@pytest.mark.parametrize(
    "given",
    [
        [FIRST, SECOND],
        {FIRST["name"]: FIRST, SECOND["name"]: SECOND},
        {one["name"]: {"dependencies": one["dependencies"]} for one in (FIRST, SECOND)},
    ],
    ids=["list", "by name", "by name alone"],
)
def test_a_file_of_configurations_is_added_with_one_program(home, file, given):
    home.ok("schedule", "add", file(json.dumps(given)), "--program", PROGRAM)
    for one in (FIRST, SECOND):
        definition = defined(home, one)
        assert definition["process"] == PROGRAM
    legs = definition["trigger"]["all_of"]
    assert [leg["event"]["type"] for leg in legs] == ["TIME BASED", "TABLE"]
    assert [leg["event"]["life"] for leg in legs] == ["0s", "1d"]


def test_a_python_literal_with_trailing_commas_is_read_too(home, file):
    text = json.dumps([FIRST], indent=1).replace("}\n", "},\n")
    assert "},\n  ]" in text
    home.ok("schedule", "add", file(text, "literal.json"), "--program", PROGRAM)


def test_a_program_of_its_own_is_kept(home, file):
    own = {**SECOND, "target": "sqs:own"}
    home.ok("schedule", "add", file(json.dumps([FIRST, own])), "--target", "sqs:default")
    assert [defined(home, each)["target"] for each in (FIRST, own)] == ["sqs:default", "sqs:own"]


def test_the_program_gets_the_arguments(home, file):
    given = json.dumps([FIRST, {**SECOND, "arguments": {"code": 2}}])
    home.ok("schedule", "add", file(given), "--program", PROGRAM, "--arguments", '{"code": 1}')
    assert [defined(home, each)["arguments"] for each in (FIRST, SECOND)] == [
        {"code": 1},
        {"code": 2},
    ]


@pytest.mark.parametrize(
    ("given", "options", "words"),
    [
        (FIRST, [], "schedule add FILE --program NAME"),
        (FIRST, ["--program", "Nothing"], "unknown"),
        (FIRST, ["--program", PROGRAM, "--target", "sqs:x"], "--program or --target, not both"),
        (FIRST, ["--target", "sqs:x", "--arguments", "{}"], "--arguments goes with --program"),
        (FIRST, ["--program", PROGRAM, "--arguments", "[]"], "expected an object"),
        (FIRST, ["--program", PROGRAM, "--arguments", "{n: 1}"], "is not JSON"),
        ({"other": FIRST}, ["--program", PROGRAM], "its name is 'CONFIGURATION_1'"),
    ],
)
def test_what_is_missing_or_contradicts_is_named(home, deployed, file, given, options, words):
    before = everything(deployed)
    assert home.run("schedule", "add", file(json.dumps(given)), *options) == 2
    assert words in home.err
    assert everything(deployed) == before
