"""Pages show stored text as text, and all their links lead to existing pages."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from synergy.model.actor import Actor
from synergy.storage.protocol import LogLine
from synergy.visible_text import visible
from tests.deployments import HOURLY, a_deployment, a_process
from tests.factories import a_unit, an_entry
from tests.mx.conftest import client_of
from tests.mx.pages_kit import Page, seen
from tests.mx.populated import a_populated_deployment, populate

DECEIVING = "\u202e\u2066\u200b\x1b[2J\x85"
MARKUP = "'\"></textarea></title><script>xss</script><img src=x onerror=xss>"
HOSTILE = MARKUP + DECEIVING
NAME = "<script>xss<script>"  # of a process, a name that `context.py` would refuse
QUOTED = quote(NAME, safe="")
HOUR = "2015051700"
LISTS = ("/", "/events", "/journal", "/audit", "/queues", "/boxes", "/processes", "/timetable",
         "/timetable/site", "/units", "/runs", "/schedules", "/logs")  # fmt: skip
ESCAPED = ("/journal", "/processes", "/boxes", "/queues", "/units", "/timetable/site?table=1",
           f"/processes/{QUOTED}", f"/jobs/{QUOTED}/{HOUR}", f"/jobs/{QUOTED}/{HOUR}?panel=1",
           "/units/{unit}", "/units/{unit}/log", "/units/{other}")  # fmt: skip


@pytest.fixture
def hostile(worlds):
    """A world in which workers, users, programs and boxes wrote markup."""
    world = worlds(a_deployment({"site": [a_process(NAME, HOURLY)]}))
    world.schedule()

    def fail(_task):
        raise ValueError(HOSTILE)

    assert world.round(NAME, fail)
    (unit,) = world.units(NAME, HOUR)
    store, now, markup = world.store, world.clock.now(), {"why": HOSTILE, "who": HOSTILE}
    store.logs.append(unit.id, [LogLine(now, 1, HOSTILE, HOSTILE)])
    other = a_unit(NAME, HOUR, generation=9, reason=HOSTILE, owner=HOSTILE, counts={HOSTILE: 1})
    store.units.create([other], HOSTILE)
    world.skip(NAME, (HOUR, HOUR), Actor(HOSTILE, HOSTILE), now)
    entries = [
        an_entry(HOSTILE, process=HOSTILE, before=HOSTILE, after=HOSTILE, unit=HOSTILE, **markup),
        an_entry("schedule.changed", process=HOSTILE, **markup),
        an_entry("run.failed", process=HOSTILE, unit=HOSTILE, after=HOSTILE, **markup),
        an_entry("gc.run", **markup),
    ]
    store.journal.append(entries)
    store.messages.bury(NAME, HOSTILE.encode(), HOSTILE, now)
    store.boxes.assign(HOSTILE, [NAME, HOSTILE])
    store.boxes.report(HOSTILE, [seen(world, HOSTILE, HOSTILE, HOSTILE)], now)
    paths = [path.format(unit=unit.id, other=other.id) for path in ESCAPED]
    return world, paths


def test_stored_markup_is_shown_as_text_on_every_page(hostile):
    world, escaped = hostile
    with client_of(world) as client:
        event = {"eventType": "FILE", "eventTimestamp": "2015-05-20T11:00:00Z"}
        texts = {"id": MARKUP, "eventResourceId": MARKUP, "reason": HOSTILE}
        client.act("events", {**event, **texts}, 202)
        deceiving = set()  # pages with such text
        for path in (*LISTS, *escaped):
            page = client.page(path)
            assert "<script>xss" not in page, path
            assert "<img src=x" not in page, path
            assert visible(page) == page, path
            if path in (*escaped, "/events"):
                assert "&lt;script&gt;xss" in page, path
            if r"\u202e\u2066\u200b\x1b[2J\x85" in page:
                deceiving.add(path)
    assert deceiving >= {"/", "/journal", "/queues", "/boxes", "/units", *escaped[-3:]}


def test_every_link_of_every_page_leads_to_a_page(worlds, tmp_path):
    world = populate(worlds(a_populated_deployment()), tmp_path)
    client = client_of(world)
    pages = [*LISTS, "/timetable/site?table=1", "/processes/Sitedaily", "/processes/Report",
             "/schedules/nightly", f"/jobs/Sitehourly/{HOUR}"]  # fmt: skip
    links = {link for path in pages for link in Page(client.page(path)).links}
    links -= {"/schedules/Report"}  # it exists when an agent has run
    jobs = sorted(link for link in links if link.startswith("/jobs/"))
    links = (links - set(jobs)) | set(jobs[::20])
    assert len(links) > 60
    assert {link: client.get(link).status_code for link in links} == dict.fromkeys(links, 200)
