"""The verdict by REST and as a metric."""

from __future__ import annotations

import pytest

from synergy.queries.health.findings import Trouble
from synergy.worker.outcome import Processed
from tests.mx import prometheus
from tests.service.audits import audit


@pytest.fixture
def done(world):
    """A world in which all jobs are done."""
    for name in world.deployment.managed():
        world.runner(name, lambda _task: Processed({"rows": 1}))
    world.settle()
    world.advance(301)
    world.settle()
    audit(world)
    return world


def metrics(client):
    return prometheus.parse(client.get("/metrics").text)


def ask(client, **headers):
    return client.get("/api/v1/verdict", headers=headers)


def test_before_the_first_start_the_verdict_is_unknown(client):
    answer = ask(client)
    assert (answer.status_code, answer.json()["is_well"]) == (200, None)
    assert metrics(client)["synergy_verdict_well"].value() == 0


def test_once_all_jobs_are_done_the_verdict_is_well(done, client):
    found = ask(client).json()
    assert (found["is_well"], found["text"], found["findings"]) == (True, "well", [])
    told = metrics(client)
    assert told["synergy_verdict_well"].value() == 1
    assert set(told["synergy_verdict_findings"].samples.values()) == {0}
    assert len(told["synergy_verdict_findings"].samples) == len(Trouble)


def test_a_finding_is_shown_with_its_remedies(done, client):
    done.store.messages.bury("Sitehourly", b"?", "it is no JSON", done.clock.now())
    found = ask(client).json()
    assert found["is_well"] is False
    (finding,) = found["findings"]
    assert (finding["kind"], finding["count"], finding["waiting"]) == ("quarantine", 1, 0)
    assert finding["since"].startswith("2015-05-20T12:")
    assert finding["first"]["path"] == "/api/v1/queues/dead"
    assert client.get(finding["first"]["path"]).status_code == 200
    assert finding["helps"][1] == {
        "command": "launch.py queue replay",
        "label": "Send them again",
        "method": "POST",
        "path": "/api/v1/queues/dead/replay",
        "body": {},
    }
    told = metrics(client)
    assert told["synergy_verdict_well"].value() == 0
    assert told["synergy_verdict_findings"].value(kind="quarantine") == 1
    assert "Not well: 1 message is in quarantine" in client.get("/").text


def test_an_unchanged_verdict_responds_304(done, client):
    client.get("/api/v1/audit")
    assert client.app.state.services.audits.wait_for_result(60)
    tag = ask(client).headers["etag"]
    done.clock.advance(1)
    again = ask(client, **{"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")
    done.store.messages.bury("Sitehourly", b"?", "it is no JSON", done.clock.now())
    assert ask(client, **{"If-None-Match": tag}).status_code == 200


def test_while_the_bus_is_away_it_is_not_well(done, client, monkeypatch):
    from synergy.errors import MessagingUnavailable

    def no_bus(*_):
        raise MessagingUnavailable("the broker is away")

    monkeypatch.setattr(type(done.bus), "dead", no_bus)
    assert ask(client).status_code == 503
    found = metrics(client)
    assert found["synergy_verdict_well"].value() == 0
    assert found["synergy_verdict_findings"].samples == {}
