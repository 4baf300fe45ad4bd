"""The kind of a run follows from its key and request; its detail is read as it was stored."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from synergy.model.run_detail import RunDetail
from synergy.model.schedule import Run, RunKind
from tests.factories import NOW

# As the previous version wrote it: with empty fields, instants as text, unordered.
STORED = """{
    "in_turn": false, "waits": [], "cause": {"due": "x", "events": ["e-1"], "count": 1},
    "first_attempt_at": "2026-11-21T12:00:00.000001+00:00", "first_attempt": 4,
    "answers": [{"status": 500, "error": "HTTP 500"}], "again": "by hand, me", "retry_of": "r"
}"""
DETAIL = RunDetail(
    cause={"due": "x", "events": ["e-1"], "count": 1},
    first_attempt=4,
    first_attempt_at=datetime(2026, 11, 21, 12, 0, 0, 1, tzinfo=UTC),
    answers=({"status": 500, "error": "HTTP 500"},),
    again="by hand, me",
    retry_of="r",
)


def a_run(key="due:1", **fields):
    return Run(
        id="r", schedule="s", key=key, due_at=NOW, version=1, program="P", created_at=NOW, **fields
    )


def test_details_stored_by_the_previous_version_are_read():
    assert RunDetail.from_json(json.loads(STORED)) == DETAIL


@pytest.mark.parametrize(
    "detail",
    [DETAIL, RunDetail(), RunDetail(waits=("a", "b"), in_turn=True), RunDetail(first_attempt=1)],
)
def test_a_detail_is_read_back_as_it_was_stored(detail):
    assert RunDetail.from_json(json.loads(json.dumps(detail.to_json()))) == detail


def test_empty_details_are_not_stored():
    assert RunDetail().to_json() == {}
    assert RunDetail(cause={"remark": "by hand"}).to_json() == {"cause": {"remark": "by hand"}}


@pytest.mark.parametrize(
    "stored", [{"cause": None}, {"waits": None, "answers": None}, {"of": "a later version"}]
)
def test_nulls_and_unknown_fields_of_a_detail_are_ignored(stored):
    assert RunDetail.from_json(stored) == RunDetail()


def test_workers_read_the_cause_by_its_name():
    assert DETAIL["cause"] == DETAIL.cause
    with pytest.raises(KeyError):
        DETAIL["reason"]


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("due:2026-11-21T12:00:00Z", RunKind.DUE),
        ("due:2026-11-21T12:00:00Z/2", RunKind.DUE),
        ("first", RunKind.FIRST),
        ("first/3", RunKind.FIRST),
        ("events:j8.0", RunKind.EVENTS),
        ("periods:j8.0-j9.1", RunKind.PERIODS),
        ("trigger:0a1b", RunKind.TRIGGER),
        ("retry:r", RunKind.RETRY),
        ("duet:1", None),
        ("", None),
    ],
)
def test_the_key_of_a_run_tells_its_kind(key, kind):
    assert a_run(key).kind is kind


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ({}, (False, False)),
        ({"target": "https://example.com/"}, (True, False)),
        ({"process": "P", "arguments": {"target": "x"}}, (False, True)),
    ],
)
def test_the_request_of_a_run_tells_a_delivery_from_a_worker_run(request_, expected):
    run = a_run(request=request_)
    assert (run.is_delivery, run.is_of_worker) == expected
