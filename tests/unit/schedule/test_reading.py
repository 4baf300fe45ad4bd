"""Definitions of schedules as people write them, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest

from synergy.schedule.check_context import InvalidDefinition
from synergy.schedule.definition import (
    CatchUp,
    Definition,
    DeliveryProgram,
    FirstRun,
    TimeoutPolicy,
    WorkerProgram,
)
from synergy.schedule.format.programs import StoredDelivery
from synergy.schedule.format.read import read, read_enabled, warnings
from synergy.schedule.format.summary import summarize
from synergy.schedule.format.write import write
from tests.unit.schedule.reading_kit import ANY, EVERY_MINUTE, NOON, hook, job, payload


def test_a_minimal_definition_gets_the_defaults() -> None:
    assert read({"name": "s", "process": "P", "trigger": "every 60"}, ANY) == Definition(
        name="s",
        program=WorkerProgram("P", {}),
        trigger=EVERY_MINUTE,
        constraints=(),
        timeout=timedelta(hours=24),
        timeout_policy=TimeoutPolicy.DISCARD,
        priority=0,
        group="",
        properties={},
        zone="UTC",
        template_zone="America/Los_Angeles",
        catchup=CatchUp.ALL,
        catchup_max=60,
        first_run=FirstRun.ON_SCHEDULE,
        start=None,
        budget=timedelta(minutes=5),
        external_id="",
        by="",
    )


def test_defaults_are_not_written() -> None:
    data = {"name": "s", "process": "P", "trigger": "every 60"}
    assert write(read({**data, "priority": 0, "timeout": 86_400, "group": None}, ANY)) == data
    assert write(read({**data, "priority": 1, "timeout": "1h"}, ANY)) == {
        **data,
        "priority": 1,
        "timeout": "1h",
    }


def test_every_field_is_read() -> None:
    assert read(
        {
            "name": "a.b-c_D9",
            "process": "P",
            "arguments": {"a": [1, 2.5, None, True, {"b": "c"}]},
            "trigger": "every 60",
            "timeout": "90m",
            "timeout_policy": "force",
            "priority": -7,
            "group": "exports",
            "properties": {"owner": "ops", "empty": ""},
            "zone": "Europe/Berlin",
            "template_zone": "UTC",
            "catchup": "latest",
            "catchup_max": 1,
            "first_run": "immediately",
            "from": "2026-11-22T13:00+01:00",
            "budget": 30,
            "external_id": "x" * 256,
            "by": "é" * 256,
            "enabled": False,
        },
        ANY,
    ) == Definition(
        name="a.b-c_D9",
        program=WorkerProgram("P", {"a": [1, 2.5, None, True, {"b": "c"}]}),
        trigger=EVERY_MINUTE,
        timeout=timedelta(minutes=90),
        timeout_policy=TimeoutPolicy.FORCE,
        priority=-7,
        group="exports",
        properties={"owner": "ops", "empty": ""},
        zone="Europe/Berlin",
        template_zone="UTC",
        catchup=CatchUp.LATEST,
        catchup_max=1,
        first_run=FirstRun.IMMEDIATELY,
        start=NOON,
        budget=timedelta(seconds=30),
        external_id="x" * 256,
        by="é" * 256,
    )


def test_null_fields_count_as_missing() -> None:
    data = dict.fromkeys(("payload", "cron", "group", "zone", "constraints", "enabled", "by"))
    assert read({**data, "name": "s", "process": "P", "trigger": "every 60"}, ANY).zone == "UTC"


def test_schedule_name_is_a_synonym_of_name() -> None:
    data = {"process": "P", "trigger": "every 60"}
    assert read({**data, "schedule_name": "s"}, ANY).name == "s"
    assert read({**data, "schedule_name": "s", "name": "s"}, ANY).name == "s"
    with pytest.raises(InvalidDefinition, match="their values differ"):
        read({**data, "schedule_name": "s", "name": "t"}, ANY)


# Programs


def test_a_target_makes_a_delivery_with_payload_and_headers() -> None:
    definition = hook(
        payload="${todaysDate}", content_type="text/plain", headers={"X-A": "b", "X-B": ""}
    )
    assert definition.program == DeliveryProgram(
        "https://a.b/c", "${todaysDate}", "text/plain", {"X-A": "b", "X-B": ""}
    )
    assert hook().program == DeliveryProgram("https://a.b/c", "", "application/json", {})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("", ""),
        ("  as it is \n", "  as it is \n"),
        ({"a": [1, None, "é"]}, '{"a": [1, null, "é"]}'),
        ({}, "{}"),
        ([], "[]"),
        (0, "0"),
        (False, "false"),
        ({"stored": "x", "more": 1}, '{"stored": "x", "more": 1}'),
    ],
)
def test_a_payload_is_a_text_or_becomes_json(value: object, text: str) -> None:
    assert payload(value) == text


def test_a_payload_may_have_16_777_215_bytes() -> None:
    assert len(payload("é" * 8_388_607 + "x")) == 8_388_608  # 16,777,215 bytes


def test_a_payload_may_be_stored_separately() -> None:
    definition = hook(payload={"stored": "blob-1"})
    assert definition.program == StoredDelivery("https://a.b/c", stored="blob-1")
    assert write(definition)["payload"] == {"stored": "blob-1"}
    assert read(write(definition), ANY) == definition


def test_a_definition_is_independent_of_the_data_that_it_was_read_from() -> None:
    inner = [1]
    data: dict[str, object] = {"name": "s", "process": "P", "trigger": "every 60"}
    definition = read({**data, "arguments": {"a": inner}}, ANY)
    written = write(definition)
    inner.append(2)
    assert isinstance(definition.program, WorkerProgram)
    assert definition.program.arguments == {"a": [1]}
    assert written["arguments"] == {"a": [1]}


# Beside the definition


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({}, None),
        ({"enabled": True}, True),
        ({"enabled": False}, False),
        ({"enabled": None}, None),
        ({"enabled": "yes"}, None),
    ],
)
def test_enabled_is_read_beside_the_definition(
    data: Mapping[str, object], expected: bool | None
) -> None:
    assert read_enabled(data) is expected


def test_unknown_names_in_a_payload_cause_a_warning() -> None:
    assert warnings(hook(payload="${todaysDate} ${runId} $day {x}")) == []
    assert warnings(hook(payload="${today} ${TodaysDate} ${today}")) == [
        "payload: ${today} is unknown and stays as it is",
        "payload: ${TodaysDate} is unknown and stays as it is",
    ]


def test_names_of_periods_without_a_timetable_trigger_cause_a_warning() -> None:
    text = "${timeperiod} ${start}"
    assert [w.partition("}")[0] for w in warnings(hook(payload=text))] == [
        "payload: ${timeperiod",
        "payload: ${start",
    ]
    assert warnings(hook(payload=text, trigger={"any_of": [{"timetable": "P"}, "every 60"]})) == []
    assert warnings(hook(payload=text, trigger={"program": "P"})) == []


def test_a_process_that_triggers_itself_causes_a_warning() -> None:
    definition = read({"name": "s", "process": "P", "trigger": {"program": "P"}}, ANY)
    (warning,) = warnings(definition)
    assert "each run of P triggers the next one" in warning
    assert warnings(replace(definition, program=WorkerProgram("Q"))) == []


@pytest.mark.parametrize(
    ("definition", "line"),
    [
        (
            {"process": "P", "trigger": "at 02:30", "zone": "Europe/Berlin"},
            "at 02:30 every day, Europe/Berlin: runs P",
        ),
        (
            {"target": "amqp://u:p@host/v?exchange=e", "when": "2026-11-22 12:00"},
            "once at 2026-11-22T12:00:00Z: sends to amqp://host/v",
        ),
        (
            {"target": "https://host/a?token=b", "trigger": {"elapsed": "90m"}},
            "90m after its last run: sends to https://host",
        ),
        (
            {"target": "https://host:8443/a@other/", "when": "2026-11-22 12:00"},
            "once at 2026-11-22T12:00:00Z: sends to https://host:8443",
        ),
        (
            {"target": "amqp://u:p@host/v?exchange=e&routing_key=@b", "when": "2026-11-22 12:00"},
            "once at 2026-11-22T12:00:00Z: sends to amqp://host/v",
        ),
        (
            {"process": "P", "trigger": {"partition": "d"}},
            "1 new partition of d: runs P",
        ),
        (
            {"process": "P", "trigger": {"all_of": [
                {"partition": {"dataset": "d", "n": 3}},
                {"event": {"type": "FILE", "resource": "/in/", "life": 0}},
                {"any_of": [{"timetable": "Q"}, {"program": "R"}]},
                {"timetable": "S"},
            ]}},
            "all of (3 new partitions of d; event FILE /in; any of (a period of Q ended as "
            "processed; R ended as processed); and 1 more): runs P",
        ),
    ],
)  # fmt: skip
def test_a_schedule_has_a_summary_in_one_line(definition: dict[str, object], line: str) -> None:
    assert summarize(read({"name": "s", **definition}, ANY)) == line


def test_a_timetable_trigger_is_described_and_written_without_its_defaults() -> None:
    fields = {"process": "Q", "statuses": ["failed", "given_up"], "generations": "first"}
    found = read({"name": "s", "process": "P", "trigger": {"timetable": fields}}, ANY)
    assert (
        summarize(found) == "a period of Q ended as failed or given_up for the first time: runs P"
    )
    assert write(found)["trigger"] == {"timetable": fields}
    usual = {"process": "Q", "statuses": ["processed"], "generations": "all"}
    found = read({"name": "s", "process": "P", "trigger": {"timetable": usual}}, ANY)
    assert write(found)["trigger"] == {"timetable": {"process": "Q"}}


def test_a_one_off_job_that_would_run_twice_causes_a_warning() -> None:
    (warning,) = warnings(job(first_run="immediately"))
    assert warning.startswith("first_run: ")
    assert warnings(hook(first_run="immediately")) == warnings(job()) == []
