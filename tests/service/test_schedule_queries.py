"""Queries of schedules and their runs."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from synergy.delivery.request import failed, sent
from synergy.errors import InvalidValue, NotFound
from synergy.model.actor import Actor
from synergy.model.process import Deployment
from synergy.model.schedule import RunState
from synergy.queries.schedules.reads import ScheduleReads
from tests.contract.scheduled import a_run
from tests.service.agent_harness import NOW, TARGET
from tests.service.schedule_kit import ALICE, BERLIN, SECRET

BOTH = {
    "name": "both", "target": TARGET, "timeout": "2h",
    "trigger": {"all_of": [
        {"partition": {"dataset": "visits", "n": 3}},
        {"event": {"type": "FILE", "resource": "/d", "life": "1h"}},
        "every 86400",
    ]},
}  # fmt: skip


def test_a_list_shows_program_due_time_and_last_outcome(agents, reads):
    member = agents.member()
    agents.actions.create(BERLIN, ALICE, NOW, enable=True)
    agents.actions.create({**BERLIN, "name": "off"}, ALICE, NOW)
    agents.actions.create({**BERLIN, "name": "was-on"}, ALICE, NOW, enable=True)
    agents.actions.disable("was-on", ALICE, NOW)
    id_ = agents.actions.trigger("berlin", ALICE, NOW)
    member.rest()
    page = reads.list_schedules()
    berlin, off, was_on = page.items
    assert berlin.words == ("at 02:30 every day, Europe/Berlin: sends to https://receiver.example")
    assert berlin.next_due == datetime(2026, 3, 11, 1, 30, tzinfo=UTC)
    assert (berlin.last_run.id, berlin.last_run.state) == (id_, "processed")
    assert (off.is_enabled, off.next_due, off.last_run) == (False, None, None)
    assert (was_on.is_enabled, was_on.reason) == (False, "for the audit")


def test_schedules_and_runs_are_paged(agents, reads):
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


def test_a_schedule_of_events_has_no_due_time(agents, reads):
    trigger = {"partition": {"dataset": "d", "n": 2}}
    data = {"name": "n", "target": TARGET, "trigger": trigger}
    agents.actions.create(data, ALICE, NOW, enable=True)
    member = agents.member()
    agents.event("PARTITION", "d", NOW)
    member.rest()
    (row,) = agents.store.schedules.get(["n"])
    assert row.wake_at is not None  # the end of its wait
    assert reads.list_schedules().items[0].next_due is None


def test_the_legs_show_what_is_met_and_what_is_missing(agents, reads):
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
        "3 new partitions of visits (1 of 3)",
        "event FILE /d (no such event so far)",
        "every day (no)",
    )  # fmt: skip
    assert reads.show_schedule("both").pending == (view,)


def test_alternatives_are_listed_as_missing_until_one_is_met(agents, reads):
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
def test_pages_of_pending_runs_hold_each_run_once(agents, reads, limit):
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
def test_invalid_cursors_of_pending_runs_are_refused(agents, reads, cursor):
    agents.actions.create(BERLIN, ALICE, NOW)
    with pytest.raises(InvalidValue, match="not a cursor"):
        reads.pending_page("berlin", 10, cursor)


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_pages_of_dead_runs_hold_each_run_once_that_was_not_retried(agents, reads, limit):
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


def test_a_schedule_shows_its_versions_and_warnings(agents, reads):
    agents.actions.create(BERLIN, ALICE, NOW)
    agents.actions.replace("berlin", {**BERLIN, "priority": 1}, Actor("bob", ""), NOW)
    seen = reads.show_schedule("berlin")
    assert [(v.version, v.who) for v in seen.versions] == [(2, "bob"), (1, "alice@services")]
    assert any("${nothing}" in warning for warning in seen.warnings)
    assert seen.definition["priority"] == 1


def test_a_schedule_without_its_program_is_shown(agents):
    agents.actions.create({"name": "r", "process": "Report", "trigger": "every 60"}, ALICE, NOW)
    bare = ScheduleReads(agents.store, Deployment({}, {}), agents.clock)
    assert bare.show_schedule("r").words == "every minute: runs Report"
    assert bare.list_schedules().items[0].name == "r"
    assert bare.preview("r", limit=1).dues[0].at == NOW


@pytest.mark.parametrize("ask", ["show_schedule", "runs", "pending", "preview", "run"])
def test_unknown_names_are_not_found(reads, ask):
    with pytest.raises(NotFound):
        getattr(reads, ask)("none")


def test_runs_of_a_removed_schedule_are_still_found(agents, reads):
    agents.actions.create(BERLIN, ALICE, NOW)
    agents.actions.trigger("berlin", ALICE, NOW)
    agents.actions.remove("berlin", ALICE, NOW)
    assert len(reads.runs("berlin").items) == 1
    assert reads.runs("berlin", RunState.FAILED).items == ()


def test_a_run_shows_its_answers_and_its_cause(agents, reads):
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


def test_failed_runs_are_dead(agents, reads):
    member = agents.member(receiver=lambda _: failed("never", may_retry=False))
    agents.actions.create(BERLIN, ALICE, NOW)
    id_ = agents.actions.trigger("berlin", ALICE, NOW)
    assert reads.dead() == []
    member.rest()
    (dead,) = reads.dead()
    assert (dead.id, dead.reason) == (id_, "never")


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
