"""Looking at schedules and runs: what is shown, what is hidden, and that nothing changes."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta

import orjson
import pytest

from synergy.delivery.request import failed, sent
from synergy.errors import InvalidValue, NotFound
from synergy.model.actor import Actor
from synergy.model.process import Deployment
from synergy.model.schedule import RunState
from synergy.queries.schedules.reads import ScheduleReads
from synergy.queries.schedules.redaction import kept, shown, shown_url
from synergy.schedule.format.read import InvalidDefinition
from tests.contract.scheduled import a_run
from tests.service.agent_harness import NOW, TARGET, AgentHarness
from tests.service.free_runs import a_free_process

ALICE = Actor("alice@services", "for the audit")
BERLIN = {
    "name": "berlin", "target": TARGET, "trigger": "cron 30 2 * * *", "zone": "Europe/Berlin",
    "payload": "${yesterdaysDate} ${nothing} ${scheduleName}", "template_zone": "UTC",
}  # fmt: skip
SECRET = {
    "name": "secret", "target": "amqp://me:s3cret@h/v?exchange=e&routing_key=k",
    "headers": {"Authorization": "Bearer t0ken", "x-api-KEY": "k3y", "X-Plain": "plain"},
    "trigger": "every 60", "payload": "x",
}  # fmt: skip
BOTH = {
    "name": "both", "target": TARGET, "timeout": "2h",
    "trigger": {"all_of": [
        {"partition": {"dataset": "visits", "n": 3}},
        {"event": {"type": "FILE", "resource": "/d", "life": "1h"}},
        "every 86400",
    ]},
}  # fmt: skip


@pytest.fixture
def agents():
    return AgentHarness(Deployment({"Report": a_free_process()}, {}))


@pytest.fixture
def reads(agents):
    return ScheduleReads(agents.store, agents.deployment, agents.clock)


def as_json(value: object) -> str:
    return orjson.dumps(value, default=dict).decode()


# Lists


def test_a_list_tells_what_it_does_when_it_is_due_and_how_it_went(agents, reads):
    member = agents.member()
    agents.actions.create(BERLIN, ALICE, NOW, enable=True)
    agents.actions.create({**BERLIN, "name": "off"}, ALICE, NOW)
    agents.actions.create({**BERLIN, "name": "was-on"}, ALICE, NOW, enable=True)
    agents.actions.disable("was-on", ALICE, NOW)
    id_ = agents.actions.trigger("berlin", ALICE, NOW)
    member.rest()
    page = reads.list_schedules()
    berlin, off, was_on = page.items
    assert berlin.words == (
        "at 02:30 every day, Europe/Berlin: sends to https://receiver.example/hook"
    )
    assert berlin.next_due == datetime(2026, 3, 11, 1, 30, tzinfo=UTC)
    assert (berlin.last_run.id, berlin.last_run.state) == (id_, "processed")
    assert (off.is_enabled, off.next_due, off.last_run) == (False, None, None)
    assert (was_on.is_enabled, was_on.reason) == (False, "for the audit")


def test_pages(agents, reads):
    names = [f"s{number}" for number in range(5)]
    agents.actions.create_all([{**BERLIN, "name": name} for name in names], ALICE, NOW)
    seen, cursor = [], None
    for _ in range(3):
        page = reads.list_schedules(2, cursor)
        seen += [view.name for view in page.items]
        cursor = page.next
    assert (seen, cursor) == (names, None)
    for name in names:
        agents.actions.trigger(name, ALICE, NOW)
    first = reads.runs(limit=3)
    rest = reads.runs(limit=3, cursor=first.next)
    assert len({run.id for run in (*first.items, *rest.items)}) == 5
    assert rest.next is None


def test_one_that_waits_for_events_is_due_by_no_time(agents, reads):
    trigger = {"partition": {"dataset": "d", "n": 2}}
    data = {"name": "n", "target": TARGET, "trigger": trigger}
    agents.actions.create(data, ALICE, NOW, enable=True)
    member = agents.member()
    agents.event("PARTITION", "d", NOW)
    member.rest()
    (row,) = agents.store.schedules.get(["n"])
    assert row.wake_at is not None  # the end of its wait
    assert reads.list_schedules().items[0].next_due is None


# One schedule


def test_the_legs_say_what_is_met_and_what_is_missing(agents, reads):
    agents.actions.create(BOTH, ALICE, NOW, enable=True)
    member = agents.member()
    agents.event("PARTITION", "visits", NOW)
    agents.event("PARTITION", "visits", NOW)
    agents.event("FILE", "/d/x", NOW - timedelta(minutes=10))
    member.rest()
    legs = {leg.path: leg for leg in reads.show_schedule("both").legs}
    assert (legs["0"].words, legs["0"].is_met, legs["0"].how) == (
        "3 new partitions of visits", False, "2 of 3",
    )  # fmt: skip
    assert (legs["1"].words, legs["1"].is_met, legs["1"].at) == (
        "event FILE /d", True, NOW - timedelta(minutes=10),
    )  # fmt: skip
    assert legs["1"].how == "alive, lives for 1h"
    assert (legs["2"].words, legs["2"].is_met, legs["2"].how) == ("every day", False, "no")
    agents.clock.advance(3001)  # 10 min + 3,001 s: more than the hour that it lives
    assert not {leg.path: leg for leg in reads.show_schedule("both").legs}["1"].is_met


def test_the_job_that_collects_is_pending_too(agents, reads):
    agents.actions.create(BOTH, ALICE, NOW, enable=True)
    assert reads.pending("both") == []
    member = agents.member()
    agents.event("PARTITION", "visits", NOW)
    member.rest()
    (view,) = reads.pending("both")
    assert (view.id, view.state, view.created_at) == ("", "pending_trigger", NOW)
    assert view.not_before == NOW + timedelta(hours=2)
    assert view.waits == (
        "3 new partitions of visits (1 of 3)", "event FILE /d (no)", "every day (no)",
    )  # fmt: skip
    assert reads.show_schedule("both").pending == (view,)


def test_of_several_that_would_do_only_what_is_missing_is_told(agents, reads):
    any_of = {"any_of": [{"partition": "a"}, {"all_of": [{"partition": "b"}, "every 86400"]}]}
    trigger = {"all_of": [any_of, {"partition": "c"}]}
    agents.actions.create(
        {"name": "n", "target": TARGET, "trigger": trigger}, ALICE, NOW, enable=True
    )
    member = agents.member()
    agents.event("PARTITION", "b", NOW)
    member.rest()
    either = "1 new partition of a (0 of 1) or every day (no)"
    assert reads.pending("n")[0].waits == (either, "1 new partition of c (0 of 1)")
    agents.event("PARTITION", "a", NOW)
    member.rest()
    assert reads.pending("n")[0].waits == ("1 new partition of c (0 of 1)",)


def test_pending_runs_say_what_they_wait_for(agents, reads):
    data = {**BERLIN, "constraints": [{"concurrency": {"n": 1, "when_unmet": "wait"}}],
            "when": "2026-03-10T12:00:00Z", "trigger": None}  # fmt: skip
    member = agents.member(receiver=lambda _: None)
    agents.actions.create({**data, "name": "a"}, ALICE, NOW)
    agents.actions.create({**data, "name": "b"}, ALICE, NOW)
    member.decide()
    member.deliver()
    member.decide()
    (view,) = reads.pending()
    assert view.state == "pending_constraint"
    assert len(view.waits) == 1
    assert reads.pending(view.schedule) == [view]
    assert reads.runs(state=RunState.PENDING_CONSTRAINT).items == (view,)


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 100])
def test_the_pages_of_what_waits_hold_all_of_it_once(agents, reads, limit):
    trigger = {"partition": {"dataset": "visits", "n": 3}}
    agents.actions.create(
        {"name": "n", "target": TARGET, "trigger": trigger}, ALICE, NOW, enable=True
    )
    agents.event("PARTITION", "visits", NOW)
    agents.member().rest()
    states = [RunState.PENDING_LAUNCH, RunState.PENDING_CONSTRAINT] * 2
    runs = [a_run(f"by hand:{n}", "n", state=state) for n, state in enumerate(states)]
    agents.store.runs.create(runs, "alice")

    pages = [reads.pending_page("n", limit)]
    while pages[-1].next is not None:
        pages.append(reads.pending_page("n", limit, pages[-1].next))
    found = [view for page in pages for view in page.items]
    assert Counter(view.state for view in found) == {
        "pending_launch": 2, "pending_constraint": 2, "pending_trigger": 1,
    }  # fmt: skip
    assert [len(page.items) for page in pages[:-1]] == [limit] * (len(pages) - 1)
    assert {view.id for view in found} == {run.id for run in runs} | {""}
    assert reads.pending("n") == found


@pytest.mark.parametrize("cursor", ["x", "3.", "-1.", "0.x", "0", ""])
def test_what_is_no_cursor_of_what_waits_is_refused(agents, reads, cursor):
    agents.actions.create(BERLIN, ALICE, NOW)
    with pytest.raises(InvalidValue, match="no cursor"):
        reads.pending_page("berlin", 10, cursor)


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_the_pages_of_what_failed_hold_each_once_that_was_not_launched_again(agents, reads, limit):
    agents.actions.create(BERLIN, ALICE, NOW)
    member = agents.member(receiver=lambda _: failed("no", may_retry=False))
    ids = [agents.actions.trigger("berlin", ALICE, NOW) for _ in range(5)]
    member.rest()
    agents.actions.retry(ids[2], ALICE, NOW)

    page = reads.dead_page(limit)
    found = list(page.items)
    while page.next is not None:
        page = reads.dead_page(limit, page.next)
        assert 0 < len(page.items) <= limit
        found += page.items
    assert [view.id for view in found] == [ids[n] for n in (4, 3, 1, 0)]
    assert reads.dead() == found


def test_dead_runs_of_a_schedule_are_found_behind_those_of_a_noisy_one(agents, reads):
    agents.actions.create(BERLIN, ALICE, NOW)
    agents.actions.create({**BERLIN, "name": "noisy"}, ALICE, NOW)
    member = agents.member(receiver=lambda _: failed("no", may_retry=False))
    quiet = agents.actions.trigger("berlin", ALICE, NOW)
    for _ in range(5):
        agents.actions.trigger("noisy", ALICE, NOW)
    member.rest()
    assert [view.id for view in reads.dead_page(2, None, "berlin").items] == [quiet]


def test_versions_and_warnings(agents, reads):
    agents.actions.create(BERLIN, ALICE, NOW)
    agents.actions.replace("berlin", {**BERLIN, "priority": 1}, Actor("bob", ""), NOW)
    seen = reads.show_schedule("berlin")
    assert [(v.version, v.who) for v in seen.versions] == [(2, "bob"), (1, "alice@services")]
    assert any("${nothing}" in warning for warning in seen.warnings)
    assert seen.definition["priority"] == 1


def test_one_whose_program_is_gone_is_still_shown(agents):
    agents.actions.create({"name": "r", "process": "Report", "trigger": "every 60"}, ALICE, NOW)
    bare = ScheduleReads(agents.store, Deployment({}, {}), agents.clock)
    assert bare.show_schedule("r").words == "every minute: runs Report"
    assert bare.list_schedules().items[0].name == "r"
    assert bare.preview("r", limit=1).dues[0].at == NOW


@pytest.mark.parametrize("ask", ["show_schedule", "runs", "pending", "preview", "run"])
def test_what_there_is_not(reads, ask):
    with pytest.raises(NotFound):
        getattr(reads, ask)("none")


def test_runs_of_one_that_was_removed(agents, reads):
    agents.actions.create(BERLIN, ALICE, NOW)
    agents.actions.trigger("berlin", ALICE, NOW)
    agents.actions.remove("berlin", ALICE, NOW)
    assert len(reads.runs("berlin").items) == 1
    assert reads.runs("berlin", RunState.FAILED).items == ()


# Secrets


def test_nothing_that_is_shown_holds_a_secret(agents, reads):
    agents.actions.create(SECRET, ALICE, NOW)
    id_ = agents.actions.trigger("secret", ALICE, NOW)
    everything = as_json(
        [
            reads.show_schedule("secret"), reads.run(id_), reads.runs(), reads.list_schedules(),
            reads.preview("secret"), reads.pending("secret"),
        ]
    )  # fmt: skip
    for secret in ("s3cret", "t0ken", "k3y"):
        assert secret not in everything
    assert "plain" in everything
    assert reads.run(id_).request["target"] == "amqp://me:***@h/v?exchange=e&routing_key=k"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://h/x", "https://h/x"),
        ("https://h/x?a=b", "https://h/x?a=b"),
        ("https://h/x?token=t&a=b", "https://h/x?token=***&a=b"),
        ("https://h/x?a=b&API_KEY=t", "https://h/x?a=b&API_KEY=***"),
        ("https://h/x?access_token=t", "https://h/x?access_token=***"),
        ("https://h/x?sig=t&sv=1", "https://h/x?sig=***&sv=1"),
        ("amqps://u:p@h/v?exchange=e&routing_key=r", "amqps://u:***@h/v?exchange=e&routing_key=r"),
        ("amqp://u:p/q@r@h/v?exchange=e", "amqp://u:***@h/v?exchange=e"),
        ("sqs:jobs.fifo?region=eu-west-1", "sqs:jobs.fifo?region=eu-west-1"),
    ],
)
def test_targets_are_shown_without_what_is_secret(url, expected):
    assert shown_url(url) == expected


def test_what_was_hidden_is_kept_only_where_it_was():
    present = {"headers": {"Authorization": "t0ken", "X-B": "b"}, "target": "https://h/?key=k"}
    assert kept(shown(present), present) == present
    other = {"headers": {"X-B": "***", "X-Other": "***"}, "target": "https://h/?key=***&a"}
    assert kept(other, present) == {
        "headers": {"X-B": "b", "X-Other": "***"}, "target": "https://h/?key=***&a",
    }  # fmt: skip
    moved = {"headers": {"Authorization": "***"}, "target": "https://other/?key=***"}
    assert kept(moved, present) == moved


# One run


def test_a_run_tells_what_it_was_answered_and_why_it_was(agents, reads):
    answers = [sent(200, b"thanks"), failed("broke", status=500, body=b"oh no")]
    member = agents.member(receiver=lambda _: answers.pop())
    agents.actions.create(BERLIN, ALICE, NOW)
    id_ = agents.actions.trigger("berlin", ALICE, NOW)
    member.rest()
    agents.clock.advance(5)
    member.rest()
    run = reads.run(id_)
    assert (run.state, run.attempt) == ("processed", 2)
    assert [(a["status"], a["body"]) for a in run.answers] == [(500, "oh no"), (200, "thanks")]
    assert "alice@services" in run.cause["remark"]
    assert run.request["body"] == "2026-03-09 ${nothing} berlin"


def test_a_run_names_the_events_that_caused_it(agents, reads):
    trigger = {"event": {"type": "FILE", "resource": "/d", "life": "1h"}}
    data = {"name": "f", "target": TARGET, "trigger": trigger}
    agents.actions.create(data, ALICE, NOW, enable=True)
    member = agents.member()
    agents.event("FILE", "/d/x", NOW, "load-1")
    member.rest()
    (view,) = reads.runs("f").items
    assert reads.run(view.id).events == ("load-1",)


def test_what_failed_for_good(agents, reads):
    member = agents.member(receiver=lambda _: failed("never", may_retry=False))
    agents.actions.create(BERLIN, ALICE, NOW)
    id_ = agents.actions.trigger("berlin", ALICE, NOW)
    assert reads.dead() == []
    member.rest()
    (dead,) = reads.dead()
    assert (dead.id, dead.reason) == (id_, "never")


# Preview


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


def test_several_lines_are_merged_and_what_falls_together_comes_once(reads):
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


def test_a_one_off_job(reads):
    data = {"target": TARGET, "when": "2026-03-11T00:30:00Z", "zone": "Asia/Tokyo"}
    preview = reads.preview(data, NOW)
    assert instants(preview) == ["03-11T00:30Z"]
    assert f"{preview.dues[0].local:%H:%M}" == "09:30"


@pytest.mark.parametrize(
    ("trigger", "why"),
    [
        ({"partition": {"dataset": "d"}}, "waits for what happens"),
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


def test_a_one_off_that_is_stored_is_not_said_to_run_once_more(agents, reads):
    agents.add("past", trigger={"once": "2020-01-01T00:00:00Z"})
    assert reads.preview("past").why_none == "not due in this time"


def test_a_one_off_before_its_schedules_first_instant_is_due_then(reads):
    data = {"name": "n", "target": TARGET, "trigger": {"once": "2020-01-01T00:00:00Z"},
            "from": "2026-03-11T00:30:00Z"}  # fmt: skip
    assert instants(reads.preview(data, NOW)) == ["03-11T00:30Z"]


def test_the_body_of_the_first_due_time_and_the_names_that_nobody_knows(agents, reads):
    preview = reads.preview(BERLIN, datetime(2026, 3, 11, tzinfo=UTC), limit=1)
    assert preview.body == "2026-03-10 ${nothing} berlin"
    assert preview.unknown == ("nothing",)
    worker = reads.preview({"name": "r", "process": "Report", "trigger": "every 60"}, limit=1)
    assert (worker.body, worker.unknown) == (None, ())


def test_a_payload_that_lies_apart_is_previewed_too(agents, reads):
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


def test_looking_changes_nothing(agents, reads):
    agents.actions.create_all([BERLIN, SECRET, BOTH], ALICE, NOW, enable=True)
    id_ = agents.actions.trigger("secret", ALICE, NOW)
    before = agents.store.schedules.find()[0], agents.runs(), dict(agents.store.status().rows)
    reads.list_schedules()
    reads.show_schedule("both")
    reads.runs()
    reads.run(id_)
    reads.pending()
    reads.pending("both")
    reads.preview("berlin")
    reads.preview({**BERLIN, "payload": "x" * 100_000})
    reads.events()
    reads.dead()
    assert (
        agents.store.schedules.find()[0],
        agents.runs(),
        dict(agents.store.status().rows),
    ) == before
