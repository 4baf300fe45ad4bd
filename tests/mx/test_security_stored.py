"""What programs and people wrote is shown on pages as text, whatever it is."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from synergy.model.actor import Actor
from synergy.storage.protocol import LogLine
from tests.deployments import HOURLY, a_deployment, a_process
from tests.mx.conftest import client_of

HOSTILE = "'\"></textarea></title><script>xss</script><img src=x onerror=xss>"
NAME = "<script>xss<script>"  # of a process, which `context.py` would refuse
HOUR = "2015051700"
PAGES = ("/", "/events", "/journal", "/audit", "/queues", "/boxes", "/processes", "/timetable",
         "/timetable/site", "/units", "/runs", "/schedules", "/logs")  # fmt: skip


def shown(client, path):
    """The page, which holds no script that somebody wrote."""
    answer = client.get(path)
    assert answer.status_code == 200, (path, answer.text[-300:])
    assert "<script>xss" not in answer.text, path
    assert "<img src=x" not in answer.text, path
    return answer.text


@pytest.fixture
def deployment():
    return a_deployment({"site": [a_process(NAME, HOURLY)]})


@pytest.fixture
def failed(worlds, deployment):
    """A world where everybody wrote something hostile: worker, person, program."""
    world = worlds(deployment)
    world.schedule()

    def fail(_task):
        raise ValueError(HOSTILE)

    assert world.round(NAME, fail)
    (unit,) = world.units(NAME, HOUR)
    world.store.logs.append(unit.id, [LogLine(world.clock.now(), 1, "error", HOSTILE)])
    who = Actor(HOSTILE, HOSTILE)
    world.skip(NAME, (HOUR, HOUR), who, world.clock.now())
    return world


def test_names_reasons_and_events_are_texts_on_every_page(failed):
    with client_of(failed) as client:
        body = {
            "eventType": "FILE",
            "eventResourceId": HOSTILE,
            "eventTimestamp": "2015-05-20T11:00:00Z",
            "id": HOSTILE,
            "reason": HOSTILE,
        }
        told = client.post("/api/v1/events", json=body)
        assert told.status_code == 202, told.text
        for path in PAGES:
            shown(client, path)
        assert "&lt;script&gt;xss" in shown(client, "/events")
        assert "&lt;script&gt;xss" in shown(client, "/journal")
        assert "&lt;script&gt;xss" in shown(client, "/processes")


def test_so_are_those_of_one_job_process_and_unit(failed):
    (unit,) = failed.units(NAME, HOUR)
    process = quote(NAME, safe="")
    with client_of(failed) as client:
        for path in (
            f"/processes/{process}",
            f"/jobs/{process}/{HOUR}",
            f"/jobs/{process}/{HOUR}?panel=1",
            f"/units/{unit.id}",
            f"/units/{unit.id}/log",
        ):
            assert "&lt;script&gt;xss" in shown(client, path), path
