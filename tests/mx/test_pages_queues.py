"""The pages of the audit and of queues."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

from synergy.model.job import JobState
from synergy.model.unit_of_work import UnitState
from synergy.mx.pages import audit as audit_page
from synergy.mx.pages import queues as queues_page
from tests.factories import NOW, a_unit, an_entry
from tests.mx.pages_kit import pager, plain, rows
from tests.mx.timetable_kit import move, started

HOUR = "2015051700"


# The audit


def test_the_audit_counts_accounted_periods(world, client):
    world.schedule()
    text = plain(client.page("/audit"))
    assert "Nothing is unexplained" in text
    # from 17 May 0:00 to 20 May 11:55: 83 hours; 3 days and no month or year for each tree
    assert "89 periods that have closed 89 accounted for" in text
    assert "0 unexplained" in text


def test_a_fresh_audit_is_made_on_request(world, client):
    world.schedule()
    client.page("/audit")
    world.clock.advance(60)
    assert "1 min ago" in client.page("/audit")
    answer = client.get("/audit?fresh=true", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/audit")
    assert "made now" in plain(client.page("/audit"))


def test_unexplained_periods_are_listed_with_links(world, client, monkeypatch):
    monkeypatch.setattr(audit_page, "SHOWN", 2)
    started(world)
    move(world, HOUR, "2015051900", JobState.PROCESSED, process="Sitedaily")  # hours are not
    text = client.page("/audit")
    reason = "finished, but not all its children are"
    days = ("2015051700", "2015051800")
    assert rows(text) == [["Sitedaily", day, "processed", reason] for day in days]
    assert 'href="/jobs/Sitedaily/2015051700"' in text
    assert "3 unexplained" in plain(text)
    assert "These are the first 2" in text


# Queues


def test_queues_show_waiting_messages_and_may_be_purged(world, client):
    world.schedule()
    text = client.page("/queues")
    waiting = {row[0]: row[1] for row in rows(text) if len(row) == 3}
    assert waiting["Sitehourly"] == "8"  # as many as may be active at once
    assert waiting["Siteyearly"] == "0"
    assert 'data-api="/api/v1/queues/Sitehourly/purge"' in text
    assert 'data-api="/api/v1/queues/Siteyearly/purge"' not in text
    assert "a scheduler runs it" in text
    assert 'href="/units?process=Sitehourly&amp;state=requested"' in text


def test_messages_in_quarantine_are_shown_page_by_page(world, client, monkeypatch):
    monkeypatch.setattr(queues_page, "DEAD", 2)
    for body in (b"first", b"\xff<b>", b"x" * 5000):
        world.store.messages.bury("Sitehourly", body, "why <b>", NOW)
    text = client.page("/queues")
    third, second = [row for row in rows(text) if len(row) == 5]
    assert third[3].endswith("5.0 kB, beginning shown")
    assert second[2] == "why <b>"
    assert 'data-body="{&#34;seqs&#34;: [3]}"' in text
    older = client.page(pager(text)["Older"])
    [first] = [row for row in rows(older) if len(row) == 5]
    assert first[3] == "first first 5 B"  # in short, and all of it
    assert pager(older) == {"Newest": "/queues"}


@pytest.mark.parametrize(
    ("name", "actions"),
    [
        ("vera", set()),
        ("otto", {"gc/run", "queues/dead/replay"}),
        ("ada", {"gc/run", "queues/dead/replay", "queues/dead/purge", "queues/Sitehourly/purge"}),
    ],
)
def test_each_role_is_offered_its_actions(world, secured, name, actions):
    world.store.messages.bury("Sitehourly", b"x", "why", NOW)
    world.store.messages.put("Sitehourly", [b"x"])
    text = secured.logged_in(name).page("/queues")
    assert set(re.findall(r'data-api="/api/v1/((?:queues|gc)/[^"]*)"', text)) == actions


def test_the_collector_shows_its_plan_and_its_runs(world, client):
    started(world)
    ago = NOW - timedelta(days=9999)
    unit = a_unit("Sitehourly", HOUR, state=UnitState.INVALID, failures=1, not_before=ago)
    world.store.units.create([unit], "a test")
    world.store.journal.append([an_entry("gc.run", why="resubmitted 2")])
    text = client.page("/queues")
    assert "resubmitted 2" in text
    assert f'<a href="/units/{unit.id}">Sitehourly <span class="mono">{HOUR}</span></a>' in text
    assert "no scheduler runs it" in text


def test_without_a_timetable_the_collector_has_no_plan(client):
    text = client.page("/queues")
    assert "the timetable has no start yet" in text
    assert "No run of a schedule has failed without being launched again" in text
