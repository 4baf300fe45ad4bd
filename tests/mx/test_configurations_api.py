"""Configurations `{name, dependencies}` by REST: the program is a parameter of the request."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.mx.schedules_kit import API, ScheduleHarness

CONFIGURATION = {
    "name": "CONFIGURATION_1",
    "dependencies": [
        {"type": "TIME_BASED", "resourceId": "cron", "lifeDuration": "0"},
        {"type": "FILE", "resourceId": "/dir/path/", "lifeDuration": 3600},
    ],
}


@pytest.fixture
def harness(worlds) -> Iterator[ScheduleHarness]:
    made = ScheduleHarness()
    yield made
    made.close()


@pytest.mark.parametrize(
    ("more", "expected"),
    [({}, "process"), ({"arguments": {"n": 1}}, "process"), ({"target": "sqs:x"}, "target")],
)
def test_the_program_of_the_request_is_for_those_without_one(harness, more, expected):
    answer = harness.client.post(f"{API}?program=Report", json={**CONFIGURATION, **more})
    assert answer.status_code == 201, answer.text
    definition = harness.get("/schedules/CONFIGURATION_1")["definition"]
    assert {"process", "target"} & definition.keys() == {expected}
    assert {key: definition[key] for key in more} == more


def test_without_a_program_the_error_says_how_to_give_one(harness):
    answer = harness.client.post(API, json=CONFIGURATION)
    assert answer.status_code == 422
    assert "?program=NAME" in answer.text
    assert harness.get("/schedules")["items"] == []


def test_an_unknown_program_is_refused(harness):
    answer = harness.client.post(f"{API}?program=Rapport", json=CONFIGURATION)
    assert answer.status_code == 422
    assert "did you mean Report?" in answer.text


def test_the_contract_requires_no_program_in_the_body(harness):
    contract = harness.client.get("/api/openapi.json").json()
    operation = contract["paths"]["/api/v1/schedules"]["post"]
    assert "program" in {parameter["name"] for parameter in operation["parameters"]}
    body = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    rules = contract["components"]["schemas"][body.rpartition("/")[2]]["allOf"]
    assert {"not": {"required": ["process", "target"]}} in rules
