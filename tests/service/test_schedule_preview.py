"""The preview of a schedule: due times, bodies and reasons why nothing is due."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from synergy.schedule.check_context import InvalidDefinition
from tests.service.agent_harness import NOW, TARGET
from tests.service.schedule_kit import ALICE, BERLIN


def instants(preview) -> list[str]:
    return [f"{due.at:%m-%dT%H:%MZ}" for due in preview.dues]


def test_due_times_in_utc_and_in_the_zone_with_what_its_clocks_do(agents, reads):
    agents.actions.create(BERLIN, ALICE, NOW)
    start = datetime(2026, 3, 28, 12, 0, tzinfo=UTC)
    preview = reads.preview("berlin", start, limit=2)
    assert instants(preview) == ["03-29T01:00Z", "03-30T00:30Z"]
    assert [f"{due.local:%H:%M%z}" for due in preview.dues] == ["03:00+0200", "02:30+0200"]
    assert "02:30 does not exist" in preview.dues[0].remark
    assert preview.dues[1].remark == ""
    assert preview.more
    assert preview.dialects == (
        "cron 30 2 * * * (Unix cron, five fields): at 02:30 every day, Europe/Berlin",
    )


def test_a_window_includes_both_its_ends(reads):
    data = {"name": "h", "target": TARGET, "trigger": "every 3600"}
    start, end = NOW, NOW + timedelta(hours=2)
    preview = reads.preview(data, start, end)
    assert instants(preview) == ["03-10T12:00Z", "03-10T13:00Z", "03-10T14:00Z"]
    assert not preview.more
    assert not reads.preview(data, start, end, limit=3).more
    assert reads.preview(data, start, end, limit=2).more


def test_lines_are_merged_and_equal_due_times_appear_once(reads):
    lines = ["0 12 * * *", "0 */6 * * *"]
    preview = reads.preview({"name": "m", "target": TARGET, "cron": lines}, NOW, limit=4)
    assert instants(preview) == ["03-10T12:00Z", "03-10T18:00Z", "03-11T00:00Z", "03-11T06:00Z"]
    assert len(preview.dialects) == 2


def test_both_dialects_are_named(reads):
    quartz = {"name": "q", "target": TARGET, "trigger": "cron 0 0 9 ? * 2"}
    unix = {"name": "u", "target": TARGET, "trigger": "cron 0 9 * * 2"}
    first, second = reads.preview(quartz, NOW, limit=1), reads.preview(unix, NOW, limit=1)
    # Quartz's 2 is Monday, Unix's is Tuesday; the 10th of March 2026 is a Tuesday
    assert (instants(first), instants(second)) == (["03-16T09:00Z"], ["03-17T09:00Z"])
    assert "Quartz cron" in first.dialects[0]
    assert "Unix cron" in second.dialects[0]


def test_nothing_is_due_before_it_begins(reads):
    data = {"name": "h", "target": TARGET, "trigger": "every 3600", "from": "2026-03-11T00:30:00Z"}
    assert instants(reads.preview(data, NOW, limit=1)) == ["03-11T01:00Z"]


def test_a_one_off_job_is_due_once(reads):
    data = {"target": TARGET, "when": "2026-03-11T00:30:00Z", "zone": "Asia/Tokyo"}
    preview = reads.preview(data, NOW)
    assert instants(preview) == ["03-11T00:30Z"]
    assert f"{preview.dues[0].local:%H:%M}" == "09:30"


@pytest.mark.parametrize(
    ("trigger", "why"),
    [
        ({"partition": {"dataset": "d"}}, "waits for events"),
        ({"elapsed": "1h"}, "its last run"),
        (
            {"once": "2020-01-01T00:00:00Z"},
            "2020-01-01T00:00:00Z is past: it runs at once when it is added",
        ),
        (
            {"any_of": [{"partition": "d"}, {"once": "2020-01-01T00:00:00Z"}]},
            "it runs at once when it is added",
        ),
        ({"once": "2027-01-01T00:00:00Z"}, "not due in this time"),
        ("cron 0 0 0 1 1 ? 2027", "not due in this time"),
    ],
)
def test_why_nothing_is_due(reads, trigger, why):
    end = datetime(2026, 12, 31, tzinfo=UTC)
    preview = reads.preview({"name": "n", "target": TARGET, "trigger": trigger}, NOW, end)
    assert preview.dues == ()
    assert why in preview.why_none


def test_a_stored_past_one_off_is_not_reported_as_due(agents, reads):
    agents.add("past", trigger={"once": "2020-01-01T00:00:00Z"})
    assert reads.preview("past").why_none == "not due in this time"


def test_a_one_off_before_its_schedules_first_instant_is_due_then(reads):
    data = {"name": "n", "target": TARGET, "trigger": {"once": "2020-01-01T00:00:00Z"},
            "from": "2026-03-11T00:30:00Z"}  # fmt: skip
    assert instants(reads.preview(data, NOW)) == ["03-11T00:30Z"]


def test_a_preview_shows_the_first_body_and_unknown_names(agents, reads):
    preview = reads.preview(BERLIN, datetime(2026, 3, 11, tzinfo=UTC), limit=1)
    assert preview.body == "2026-03-10 ${nothing} berlin"
    assert preview.unknown == ("nothing",)
    worker = reads.preview({"name": "r", "process": "Report", "trigger": "every 60"}, limit=1)
    assert (worker.body, worker.unknown) == (None, ())


def test_a_payload_stored_apart_is_previewed_too(agents, reads):
    data = {**BERLIN, "payload": "${scheduleName} ${what} " + "x" * 70_000}
    agents.actions.create(data, ALICE, NOW)
    preview = reads.preview("berlin", limit=1)
    assert preview.body.startswith("berlin ${what} xxx")
    assert len(preview.body) < 20_000
    assert preview.unknown == ("what",)
    assert any("${what}" in warning for warning in preview.warnings)


def test_the_run_id_of_a_preview_is_the_one_that_it_will_have(agents, reads):
    data = {**BERLIN, "payload": "${runId}", "cron": "*/5 * * * *", "trigger": None}
    member = agents.member()
    agents.actions.create(data, ALICE, NOW, enable=True)
    promised = reads.preview("berlin", NOW + timedelta(seconds=1), limit=1).body
    agents.advance(member, 300)
    assert [request.body.decode() for request in member.sender.requests] == [promised]


def test_a_definition_that_is_wrong_is_refused_with_all_its_mistakes(reads):
    with pytest.raises(InvalidDefinition) as caught:
        reads.preview({"name": "x", "target": "ftp://x", "trigger": "every 0"})
    assert len(caught.value.mistakes) == 2


def test_a_preview_ends_with_the_schedule(reads):
    data = {"name": "h", "target": TARGET, "trigger": "every 3600"}
    ended = reads.preview({**data, "end": "2026-03-10T14:00:00Z"}, NOW, limit=9)
    assert instants(ended) == ["03-10T12:00Z", "03-10T13:00Z", "03-10T14:00Z"]
    counted = reads.preview({**data, "max_runs": 2}, NOW, limit=9)
    assert (instants(counted), counted.more) == (["03-10T12:00Z", "03-10T13:00Z"], False)


def test_excluded_due_times_are_shown_with_the_reason_and_do_not_count_as_runs(reads):
    data = {"name": "d", "target": TARGET, "trigger": "at 09:00", "exclude": ["2026-03-11"]}
    preview = reads.preview({**data, "max_runs": 1}, NOW)
    assert instants(preview) == ["03-11T09:00Z", "03-12T09:00Z"]
    assert [(due.local is None, due.remark) for due in preview.dues] == [
        (True, "2026-03-11 is an excluded date"),
        (False, ""),
    ]


def test_a_single_instant_is_due_on_an_excluded_date(agents, reads):
    trigger = {"any_of": ["at 09:00", {"once": "2026-03-11T10:00:00Z"}]}
    data = {"name": "d", "target": TARGET, "trigger": trigger, "exclude": ["2026-03-11"]}
    preview = reads.preview(data, NOW, limit=2)
    assert instants(preview) == ["03-11T09:00Z", "03-11T10:00Z"]
    assert [due.remark for due in preview.dues] == ["2026-03-11 is an excluded date", ""]
    agents.actions.create(data, ALICE, NOW, enable=True)
    assert f"{reads.show_schedule('d').next_due:%dT%H}" == "11T10"
    agents.advance(agents.member(), 86_400 - 3 * 3600)  # the excluded due time has a record now
    assert f"{reads.show_schedule('d').next_due:%dT%H}" == "11T10"


def test_no_due_time_after_the_end_is_the_next_one(agents, reads):
    data = {"name": "d", "target": TARGET, "trigger": "at 09:00", "exclude": ["2026-03-11"]}
    ended = {**data, "end": "2026-03-11T20:00:00Z"}
    agents.actions.create(ended, ALICE, NOW, enable=True)
    assert reads.show_schedule("d").next_due is None


def test_the_preview_of_a_stored_schedule_has_the_runs_that_are_left(agents, reads):
    data = {"name": "h", "target": TARGET, "trigger": "every 3600", "max_runs": 2}
    agents.actions.create(data, ALICE, NOW, enable=True)
    member = agents.member()
    agents.advance(member, 3600)
    assert instants(reads.preview("h")) == ["03-10T13:00Z", "03-10T14:00Z"]  # one is made, now
    agents.advance(member, 3601)
    assert instants(reads.preview("h", NOW)) == ["03-10T12:00Z", "03-10T13:00Z", "03-10T14:00Z"]
    preview = reads.preview("h")
    assert (instants(preview), preview.why_none) == ([], "max_runs: all runs are made")
    agents.actions.disable("h", ALICE, agents.clock.now())
    assert len(reads.preview("h").dues) == 2


def test_a_preview_shows_delayed_due_times(reads):
    data = {"name": "h", "target": TARGET, "trigger": "every 3600", "jitter": "30m"}
    (due,) = reads.preview(data, NOW, limit=1).dues
    assert NOW <= due.at <= NOW + timedelta(minutes=30)
    assert due.remark.startswith("jitter delays ")
