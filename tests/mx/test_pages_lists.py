"""Pages of units, events, journal, audit and queues: what they say, to whom, and only as text."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape

import pytest

from synergy.model.job import JobState
from synergy.model.unit_of_work import UnitState
from synergy.mx.pages import audit as audit_page
from synergy.mx.pages import events as events_page
from synergy.mx.pages import journal as journal_page
from synergy.mx.pages import queues as queues_page
from synergy.mx.pages import units as units_page
from synergy.mx.pages.journal_rows import journal_rows
from synergy.queries import journal
from synergy.queries.schedules import events
from synergy.runtime.identity import short_name
from synergy.storage.protocol import LogLine
from synergy.timeperiod import Qualifier
from tests.factories import NOW, a_move, a_unit, an_entry
from tests.mx.conftest import client_of
from tests.mx.schedules_kit import Shop
from tests.service.free_runs import SECOND, a_free_process, a_run, a_system, launch

HOUR = "2015051700"
EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"


def page(client, path, status=200):
    answer = client.get(path, headers={"Accept": "text/html"})
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"].startswith("text/html")
    return answer.text


def rows(text):
    """The texts of the cells of all tables, row by row."""
    bodies = re.findall(r"<tbody>(.*?)</tbody>", text, re.DOTALL)
    found = re.findall(r"<tr>(.*?)</tr>", "".join(bodies), re.DOTALL)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in found]
    return [list(map(plain, row)) for row in cells]


def plain(markup):
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", markup)).split())


def links(text):
    """The addresses of what is in the pager, by label."""
    pagers = re.findall(r'<nav class="pager".*?</nav>', text, re.DOTALL)
    found = re.findall(r'href="([^"]*)"[^>]*>([^<]*)<', "".join(pagers))
    return {label: unescape(href) for href, label in found}


def is_only_text(text):
    return "<script>alert" not in text and "<img src=x" not in text


# Units


def a_few_units(world):
    units = [
        a_unit("Sitehourly", "2015051700", state=UnitState.PROCESSED, owner="w",
               started_at=NOW, finished_at=NOW + timedelta(milliseconds=1500)),
        a_unit("Sitehourly", "2015051701", state=UnitState.INVALID, attempt=2, failures=2,
               reason="no such file"),
        a_unit("Gone", "2015051702"),
    ]  # fmt: skip
    world.store.units.create(units, "a test")
    return units


def test_units_are_a_table_with_what_can_be_done(world, client):
    done, failed, _ = a_few_units(world)
    text = page(client, "/units")
    third, second, first = rows(text)
    assert first[1:9] == ["Sitehourly", "2015051700", "processed", "1", "0", "w", first[7], "1.5 s"]
    assert second[1:10] == [
        "Sitehourly",
        "2015051701",
        "invalid",
        "2",
        "2",
        "–",
        "–",
        "–",
        "no such file",
    ]
    assert (first[10], second[10], third[10]) == ("", "Retry Cancel", "Cancel")
    assert 'href="/jobs/Sitehourly/2015051700"' in text
    assert "/jobs/Gone" not in text  # it has no page
    assert f'href="/units/{failed.id}"' in text
    assert f'data-api="/api/v1/units/{failed.id}/retry"' in text
    assert f'data-api="/api/v1/units/{done.id}/cancel"' not in text


def test_filters_of_units_are_in_every_address(world, client, monkeypatch):
    monkeypatch.setattr(units_page, "PAGE", 2)
    units = [
        a_unit(process, f"20150517{n:02}", state=state)
        for n in range(6)
        for process, state in (("Sitehourly", UnitState.INVALID), ("Gone", UnitState.INVALID))
    ]
    world.store.units.create(units, "a test")
    first = page(client, "/units?process=Sitehourly&state=invalid")
    assert [row[2] for row in rows(first)] == ["2015051705", "2015051704"]
    second = page(client, links(first)["Older"])
    assert [row[2] for row in rows(second)] == ["2015051703", "2015051702"]
    assert links(second)["Newest"] == "/units?process=Sitehourly&state=invalid"
    third = page(client, links(second)["Older"])
    assert set(links(third)) == {"Newest"}
    for text in (first, second, third):
        assert 'value="Sitehourly"' in text
        assert '<option value="invalid" selected>' in text


def test_no_units_say_why(client):
    assert "The scheduler requests units when jobs are due" in page(client, "/units")
    assert "Nothing is invalid of X now" in plain(page(client, "/units?process=X&state=invalid"))


def test_a_unit_tells_its_story_and_the_end_of_its_log(world, client):
    world.schedule()
    world.round("Sitehourly", lambda _task: 1 / 0)
    [unit] = world.units("Sitehourly", HOUR)
    lines = [LogLine(NOW, 1, "INFO", f"line {n}") for n in range(1, 31)]
    world.store.logs.append(unit.id, lines)  # after the traceback
    text = page(client, f"/units/{unit.id}")
    told = plain(text)
    assert "waits for a worker (attempt 1)" in told
    assert "a worker took it (attempt 1)" in told
    assert "an attempt failed (attempt 1)" in told
    assert re.findall(r'id="line-(\d+)"', text) == [str(n) for n in range(12, 32)]
    assert "All 31 lines" in text
    assert f'href="/units/{unit.id}/log"' in text
    assert "division by zero" in page(client, f"/units/{unit.id}/log")


def test_a_unit_of_a_run_links_to_it():
    world = a_system(a_free_process())
    [unit] = launch(world, a_run())
    with client_of(world) as client:
        text = page(client, f"/units/{unit.id}")
        assert f'href="/runs/{unit.id}"' in text
        assert f"run {SECOND}" in text
        assert "/jobs/" not in text
        assert f'href="/runs/{unit.id}"' in page(client, "/units")
    world.close()


def test_what_units_and_their_logs_say_is_only_text(world, client):
    unit = a_unit("Sitehourly", HOUR, reason=EVIL, owner=EVIL, counts={EVIL: 1})
    world.store.units.create([unit], EVIL)
    world.store.logs.append(unit.id, [LogLine(NOW, 1, EVIL, EVIL)])
    for path in ("/units", f"/units/{unit.id}", f"/units/{unit.id}/log"):
        text = page(client, path)
        assert is_only_text(text)
        assert "&lt;script&gt;" in text


def test_what_is_asked_for_is_only_text(client):
    for path in ("/units", "/journal", "/events"):
        for field in ("process", "who", "event", "q"):
            assert is_only_text(client.get(path, params={field: EVIL}).text)


@pytest.mark.parametrize("id_", ["nope", "%2e%2e", "%00", "%ff", "x" * 2000, "..%2f..%2fetc"])
@pytest.mark.parametrize("end", ["", "/log"])
def test_pages_of_what_is_not_there_say_so(client, id_, end):
    assert "No such unit" in page(client, f"/units/{id_}{end}", 404) or "%2f" in id_


@pytest.mark.parametrize(
    "path",
    ["/units?state=odd", "/units?cursor=x", "/journal?cursor=-1", "/journal?timeperiod=2015",
     "/events?type=ODD", "/events?cursor=x", "/queues?cursor=x", "/units?process=" + "x" * 201],
)  # fmt: skip
def test_pages_of_what_cannot_be_asked_say_so(client, path):
    page(client, path, 422)


# The journal


def write(world, *entries):
    world.store.journal.append([an_entry(event, **fields) for event, fields in entries])


def a_job_entry(event="job.skipped", at=HOUR, process="Sitehourly", **fields):
    return event, {"process": process, "first": at, "last": at, **fields}


def test_an_entry_is_told_in_words_with_links(world, client):
    write(
        world,
        a_job_entry(before="embryo", after="skipped", generation=2, why="no data", who="vera (mx)"),
        ("job.in_progress", {"process": "Sitehourly", "first": HOUR, "last": "2015051705",
                             "before": "embryo", "after": "in_progress"}),
        ("unit.invalid", {"process": "Sitehourly", "first": HOUR, "last": HOUR, "unit": "u/1",
                          "before": "in_progress", "after": "invalid", "attempt": 3}),
        ("schedule.changed", {"process": "nightly", "before": "1", "after": "2"}),
        ("run.failed", {"process": "nightly", "unit": "r1",
                        "before": "launched", "after": "failed"}),
        ("process.off", {"process": "Sitehourly", "before": "on", "after": "off"}),
        ("of.old", {}),
    )  # fmt: skip
    text = page(client, "/journal")
    told = [row[1:] for row in rows(text)][::-1]
    assert told[0] == [
        "job.skipped was skipped", "Sitehourly 2015051700 generation 2", "embryo → to skipped",
        "no data", "vera (mx)",
    ]  # fmt: skip
    assert told[1][1] == "Sitehourly 2015051700 to 2015051705"
    assert told[2][1] == "Sitehourly 2015051700 unit , attempt 3"
    assert told[3][:3] == ["schedule.changed was changed", "nightly", "1 → to 2"]
    assert told[4][1:3] == ["nightly run", "launched → to failed"]
    assert told[5][:3] == ["process.off was switched off", "Sitehourly", "on → to off"]
    assert told[6][0] == "of.old"
    for href in ("/jobs/Sitehourly/2015051700", "/jobs/Sitehourly/2015051705", "/units/u%2F1",
                 "/schedules/nightly", "/runs/r1", "/processes/Sitehourly"):  # fmt: skip
        assert f'href="{href}"' in text


def test_all_filters_hold_while_one_reads_on(world, client, monkeypatch):
    monkeypatch.setattr(journal_page, "PAGE", 2)
    for n in range(6):
        for event in ("job.skipped", "unit.canceled"):
            for who in ("Vera (mx)", "otto (mx)"):
                write(world, a_job_entry(event, who=who, why=f"no {n}"))
    query = f"/journal?process=Sitehourly&timeperiod={HOUR}&event=job&who=vera"
    seen, text = [], page(client, query)
    while True:
        seen.append([row[4] for row in rows(text)])
        assert {row[5] for row in rows(text)} == {"Vera (mx)"}
        assert {row[1] for row in rows(text)} == {"job.skipped was skipped"}
        older = links(text).get("Older")
        if older is None:
            break
        assert older.startswith(query)
        text = page(client, older)
    assert seen == [["no 5", "no 4"], ["no 3", "no 2"], ["no 1", "no 0"]]
    assert links(text)["Newest"] == query


def test_what_is_rare_is_looked_for_so_far(world, client, monkeypatch):
    monkeypatch.setattr(journal, "SEARCHED", 3)
    monkeypatch.setattr(journal, "_STEP", 1)
    write(world, a_job_entry(who="vera"), *[a_job_entry(who="otto")] * 5)
    text = page(client, "/journal?who=vera")
    assert "Older ones may" in text
    assert [row[5] for row in rows(page(client, links(text)["Older"]))] == ["vera"]


def test_a_timeperiod_alone_asks_for_its_process(client):
    assert "Which process?" in page(client, f"/journal?timeperiod={HOUR}")


def test_what_the_journal_says_is_only_text(world, client):
    write(world, (EVIL, {"process": EVIL, "why": EVIL, "who": EVIL, "before": EVIL, "after": EVIL}))
    write(world, a_job_entry(why=EVIL * 20, who=EVIL, unit=EVIL))
    write(
        world,
        ("schedule.changed", {"process": EVIL}),
        ("run.failed", {"unit": EVIL, "after": EVIL}),
    )
    text = page(client, "/journal")
    assert is_only_text(text)
    assert "&lt;script&gt;" in text


@pytest.mark.parametrize(
    ("who", "short"),
    [
        ("vera (mx)", "vera (mx)"),
        ("vm/8f1a/10228/1387876/d572", "vm, pid 10228"),
        ("scheduler vm/8f1a/10222/1387861/1da4", "scheduler on vm, pid 10222"),
        ("late data", "late data"),
        ("", ""),
        ("a/b/c/d/e", "a/b/c/d/e"),
    ],
)
def test_who_acts_is_told_in_short(who, short):
    assert short_name(who) == short


def test_a_run_in_the_journal_of_units_links_to_itself(world):
    entry = an_entry("unit.processed", process="Report", first=SECOND, last=SECOND, unit="r1")
    [tale] = journal_rows([entry], world.deployment)
    assert (tale.jobs, tale.run, tale.unit) == ("", "/runs/r1", "/units/r1")


# Events


@pytest.fixture
def shop(worlds):
    made = Shop()
    yield made
    made.close()


LISTENER = {
    "name": "files", "process": "Report",
    "dependencies": [{"type": "FILE", "resourceId": "/data/a", "lifeDuration": 3600}],
}  # fmt: skip


def told(shop, *events):
    """Tells of events given as (type, resource)."""
    for type_, resource in events:
        body = {"eventType": type_, "eventTimestamp": "2015-05-20T11:00:00Z"}
        answer = shop.client.post("/api/v1/events", json={**body, "eventResourceId": resource})
        assert answer.status_code == 202, answer.text


def test_events_are_told_with_the_runs_they_caused(shop):
    shop.create(LISTENER, enabled=True)
    shop.settle()
    told(shop, ("FILE", "/data/a"), ("FILE", "/data/b"))
    assert "No agent has processed" in page(shop.client, "/events")
    shop.settle()
    text = page(shop.client, "/events")
    second, first = rows(text)
    assert first[1:4] == ["FILE", "/data/a", "2015-05-20 11:00:00"]
    assert first[4].startswith("files ")
    assert re.search(r'href="/runs/[0-9a-f]+">files<', text)
    assert (second[2], second[4]) == ("/data/b", "no run")
    assert "No agent has processed" not in text


def test_filters_of_events_hold_while_one_reads_on(shop, monkeypatch):
    monkeypatch.setattr(events_page, "PAGE", 2)
    for n in range(5):
        told(shop, ("FILE", f"/data/A{n}"), ("FILE", "/other"), ("TABLE", f"data/a{n}"))
    first = page(shop.client, "/events?type=FILE&q=data/a")
    assert [row[2] for row in rows(first)] == ["/data/A4", "/data/A3"]
    second = page(shop.client, links(first)["Older"])
    assert [row[2] for row in rows(second)] == ["/data/A2", "/data/A1"]
    third = page(shop.client, links(second)["Older"])
    assert [row[2] for row in rows(third)] == ["/data/A0"]
    assert links(third) == {"Newest": "/events?type=FILE&q=data%2Fa"}


def test_events_that_are_rare_are_looked_for_so_far(shop, monkeypatch):
    monkeypatch.setattr(events, "SEARCHED", 2)
    monkeypatch.setattr(events, "_STEP", 1)
    told(shop, ("TABLE", "t"), *[("FILE", "/f")] * 3)
    text = page(shop.client, "/events?type=TABLE")
    assert "Older ones may" in text
    assert [row[2] for row in rows(page(shop.client, links(text)["Older"]))] == ["t"]


def test_what_events_say_is_only_text(shop):
    told(shop, ("FILE", f"/{EVIL}"), ("FILE", f"/{EVIL * 10}"))
    assert is_only_text(page(shop.client, "/events"))


def test_who_may_not_tell_has_no_form(house):
    form = 'data-api="/api/v1/events"'
    assert form in page(house.logged_in("otto"), "/events")
    assert form not in page(house.logged_in("vera"), "/events")


def test_no_events_say_how_to_tell_of_one(client):
    assert "POST /api/v1/events" in page(client, "/events")
    assert "No events" in page(client, "/events?q=x")


# The audit


def test_the_audit_tells_what_is_not_accounted_for(world, client):
    world.schedule()
    text = plain(page(client, "/audit"))
    assert "Nothing is unexplained" in text
    # From 17 May 0:00 to 20 May 11:55: 83 hours; 3 days and no month or year for each tree.
    assert "89 periods that have closed 89 accounted for" in text
    assert "0 unexplained" in text


def test_a_fresh_audit_is_made_when_asked_for(world, client):
    world.schedule()
    page(client, "/audit")
    world.clock.advance(60)
    assert "1 min ago" in page(client, "/audit")
    answer = client.get("/audit?fresh=true", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/audit")
    assert "made now" in plain(page(client, "/audit"))


def test_what_is_unexplained_is_listed_with_links(world, client, monkeypatch):
    monkeypatch.setattr(audit_page, "SHOWN", 2)
    world.store.facts.set("timetable.start", world.start)
    first = Qualifier.DAILY.parse(HOUR)
    done = {"process": "Sitedaily", "qualifier": Qualifier.DAILY, "after": JobState.PROCESSED}
    world.store.jobs.move([a_move(first, first + 2, **done)], NOW)  # and its hours are not
    text = page(client, "/audit")
    assert rows(text) == [
        ["Sitedaily", "2015051700", "processed", "finished, but not all its children are"],
        ["Sitedaily", "2015051800", "processed", "finished, but not all its children are"],
    ]
    assert 'href="/jobs/Sitedaily/2015051700"' in text
    assert "3 unexplained" in plain(text)
    assert "These are the first 2" in text


# Queues


def test_queues_tell_what_waits_and_what_may_be_dropped(world, client):
    world.schedule()
    text = page(client, "/queues")
    waiting = {row[0]: row[1] for row in rows(text) if len(row) == 3}
    assert waiting["Sitehourly"] == "8"  # as many as may be active at once
    assert waiting["Siteyearly"] == "0"
    assert 'data-api="/api/v1/queues/Sitehourly/purge"' in text
    assert 'data-api="/api/v1/queues/Siteyearly/purge"' not in text
    assert "a scheduler runs it" in text
    assert 'href="/units?process=Sitehourly&amp;state=requested"' in text


def test_messages_in_quarantine_are_shown_page_by_page_as_text(world, client, monkeypatch):
    monkeypatch.setattr(queues_page, "DEAD", 2)
    bodies = [b"first", b"\xff" + EVIL.encode(), b"x" * 5000]
    for body in bodies:
        world.store.messages.bury("Sitehourly", body, f"why {EVIL}", NOW)
    text = page(client, "/queues")
    third, second = [row for row in rows(text) if len(row) == 5]
    assert third[3].endswith("5.0 kB, beginning shown")
    assert second[2] == f"why {EVIL}"
    assert is_only_text(text)
    assert 'data-body="{&#34;seqs&#34;: [3]}"' in text
    older = page(client, links(text)["Older"])
    [first] = [row for row in rows(older) if len(row) == 5]
    assert first[3] == "first first 5 B"  # in short, and all of it
    assert links(older) == {"Newest": "/queues"}


def test_dropping_needs_another_role_than_sending_again(world, house):
    world.store.messages.bury("Sitehourly", b"x", "why", NOW)
    world.store.messages.put("Sitehourly", [b"x"])
    offered = {
        name: set(
            re.findall(
                r'data-api="/api/v1/((?:queues|gc)/[^"]*)"', page(house.logged_in(name), "/queues")
            )
        )
        for name in ("vera", "otto", "ada")
    }
    assert offered["vera"] == set()
    assert offered["otto"] == {"gc/run", "queues/dead/replay"}
    assert offered["ada"] == {
        "gc/run",
        "queues/dead/replay",
        "queues/dead/purge",
        "queues/Sitehourly/purge",
    }


def test_the_collector_tells_what_it_would_do_and_what_it_did(world, client):
    unit = a_unit(
        "Sitehourly",
        HOUR,
        state=UnitState.INVALID,
        failures=1,
        not_before=NOW - timedelta(days=9999),
    )
    world.store.units.create([unit], "a test")
    world.store.facts.set("timetable.start", world.start)
    write(
        world,
        ("gc.run", {"why": "resubmitted 2"}),
        ("gc.run", {"process": "Sitehourly", "why": EVIL}),
    )
    text = page(client, "/queues")
    assert "resubmitted 2" in text
    assert is_only_text(text)
    assert f'<a href="/units/{unit.id}">Sitehourly <span class="mono">{HOUR}</span></a>' in text
    assert "no scheduler runs it" in text


def test_without_a_timetable_the_plan_says_why_there_is_none(client):
    assert "the timetable has no start yet" in page(client, "/queues")


def test_dead_runs_are_counted_with_a_link(client):
    text = page(client, "/queues")
    assert "No run of a schedule has failed without being launched again" in text


# All of them


@pytest.mark.parametrize("path", ["/units", "/journal", "/events", "/queues", "/audit", "/logs"])
def test_who_only_looks_is_offered_nothing(world, house, path):
    a_few_units(world)
    world.store.messages.bury("Sitehourly", b"x", "why", NOW)
    text = page(house.logged_in("vera"), path)
    assert "data-api=" not in text
    assert house.client().get(path, headers={"Accept": "text/html"}).status_code == 303
