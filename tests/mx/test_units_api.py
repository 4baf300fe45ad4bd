"""Units of work by REST: lists, one unit with its journal, canceling and retrying."""

from __future__ import annotations

import pytest

from synergy.model.job import JobState
from synergy.model.schedule import RunState
from synergy.model.unit_of_work import UnitState
from tests.factories import a_unit
from tests.mx.conftest import client_of
from tests.service.free_runs import SECOND, a_free_process, a_run, a_system, launch

AT = "/api/v1/units"
HOUR = "2015051700"
REASON = {"reason": "it is wrong"}


@pytest.fixture
def failed(world):
    """The unit of the first hour, whose only attempt failed."""
    world.schedule()
    world.round("Sitehourly", lambda _task: 1 / 0)
    [unit] = world.units("Sitehourly", HOUR)
    assert unit.state is UnitState.INVALID
    return unit


def read(client, path=""):
    return client.read(f"units{path}")


def ids(page):
    return [unit["id"] for unit in page["items"]]


# Lists


def test_filters_hold_on_every_page(world, client):
    here = [a_unit("Sitehourly", f"20150517{n:02}", state=_state(n)) for n in range(6)]
    there = [a_unit("Clientdaily", f"201505{n + 10}00", state=_state(n)) for n in range(6)]
    world.store.units.create([each for pair in zip(here, there, strict=True) for each in pair], "t")
    query = "?process=Sitehourly&state=invalid&limit=2"
    first = read(client, query)
    second = read(client, f"{query}&cursor={first['next']}")
    assert (ids(first), ids(second)) == ([here[4].id, here[2].id], [here[0].id])
    assert second["next"] is None
    assert ids(read(client, "?process=Clientdaily")) == [unit.id for unit in there][::-1]
    assert len(ids(read(client, "?state=invalid"))) == 6
    assert ids(read(client, "?process=Gone")) == []


def _state(number):
    return UnitState.PROCESSED if number % 2 else UnitState.INVALID


@pytest.mark.parametrize(
    "query", ["?state=odd", "?process=", "?process=" + "x" * 201, "?cursor=" + "9" * 513]
)
def test_an_invalid_filter_is_refused(client, query):
    client.read(f"units{query}", 422)


# One of them


def test_a_unit_is_shown_with_its_journal(world, client, failed):
    shown = read(client, f"/{failed.id}")
    names = ("process", "timeperiod", "state", "start_timeperiod", "end_timeperiod")
    expected = ["Sitehourly", HOUR, "invalid", HOUR, "2015051701"]
    assert [shown[name] for name in names] == expected
    assert (shown["attempt"], shown["failures"], shown["run"]) == (1, 1, None)
    assert "division by zero" in shown["reason"]
    told = [(entry["event"], entry["before"], entry["after"]) for entry in shown["story"]]
    assert told == [
        ("unit.requested", "", "requested"),
        ("unit.in_progress", "requested", "in_progress"),
        ("unit.invalid", "in_progress", "invalid"),
    ]
    assert {entry["unit"] for entry in shown["story"]} == {failed.id}
    assert shown["log_lines"] == 1  # the traceback


def test_each_unit_of_a_job_has_its_own_journal(world, client):
    first, second = a_unit("Sitehourly", HOUR), a_unit("Sitehourly", HOUR, generation=2)
    world.store.units.create([first, second], "a test")
    for unit in (first, second):
        [entry] = read(client, f"/{unit.id}")["story"]
        assert (entry["unit"], entry["generation"]) == (unit.id, unit.generation)


@pytest.fixture
def free():
    """A world in which a unit carries out a run, its client, and the unit."""
    world = a_system(a_free_process())
    [unit] = launch(world, a_run())
    with client_of(world) as client:
        yield world, client, unit
    world.close()


def test_a_unit_of_a_run_names_it(free):
    _, client, unit = free
    shown = read(client, f"/{unit.id}")
    assert (shown["run"], shown["timeperiod"]) == (a_run().id, SECOND)
    assert [entry["event"] for entry in shown["story"]] == ["unit.requested"]


@pytest.mark.parametrize("id_", ["nope", "%2e%2e", "%00", "%ff", "x" * 100])
def test_an_unknown_unit_is_not_found(client, id_):
    for place in ("", "/log", "/log?format=text", "/log/matches?q=x"):
        client.read(f"units/{id_}{place}", 404)
    for verb in ("cancel", "retry"):
        client.act(f"units/{id_}/{verb}", {}, 404)
    client.read(f"units/{'x' * 101}", 422)


# Asking


def ask(client, unit, verb, **body):
    return client.post(f"{AT}/{unit.id}/{verb}", json=REASON | body)


def touched(unit, before, after):
    return {
        "id": unit.id, "process": unit.process, "timeperiod": unit.timeperiod,
        "before": before, "after": after,
    }  # fmt: skip


def test_a_failed_unit_is_retried_at_once(world, client, failed):
    preview = ask(client, failed, "retry", dry_run=True).json()
    expected = [touched(failed, "invalid", "requested")]
    assert (preview["dry_run"], preview["touched"]) == (True, expected)
    assert world.units("Sitehourly", HOUR) == [failed]
    waiting = world.bus.depths().get("Sitehourly", 0)
    answer = ask(client, failed, "retry").json()
    assert (answer["dry_run"], answer["touched"]) == (False, expected)
    [unit] = world.units("Sitehourly", HOUR)
    assert (unit.state, unit.attempt, unit.failures) == (UnitState.REQUESTED, 2, 0)
    assert world.bus.depths()["Sitehourly"] == waiting + 1  # the message to a worker
    entry = next(e for e in world.store.journal.find("Sitehourly") if e.why == "it is wrong")
    assert (entry.event, entry.who) == ("unit.requested", "local (mx)")


def test_a_unit_is_canceled_and_its_job_failed(world, client, failed):
    assert ask(client, failed, "cancel", dry_run=True).json()["touched"] == [
        touched(failed, "invalid", "canceled")
    ]
    assert world.units("Sitehourly", HOUR) == [failed]
    assert ask(client, failed, "cancel").status_code == 200
    world.schedule()
    assert world.state("Sitehourly", HOUR) is JobState.FAILED


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_finished_unit_is_neither_canceled_nor_retried(world, client, dry_run):
    unit = a_unit("Sitehourly", HOUR, state=UnitState.PROCESSED)
    world.store.units.create([unit], "a test")
    for verb in ("cancel", "retry"):
        answer = ask(client, unit, verb, dry_run=dry_run)
        assert answer.status_code == 409
        assert "is processed" in answer.json()["detail"]


def test_a_unit_in_progress_is_not_retried(world, client):
    unit = a_unit("Sitehourly", HOUR, state=UnitState.IN_PROGRESS, owner="w")
    world.store.units.create([unit], "a test")
    answer = ask(client, unit, "retry")
    assert (answer.status_code, "in progress" in answer.json()["detail"]) == (409, True)


def test_a_run_is_retried_as_a_whole_and_canceled_with_its_unit(free):
    world, client, unit = free
    answer = ask(client, unit, "retry")
    assert (answer.status_code, "carries out a run" in answer.json()["detail"]) == (409, True)
    assert ask(client, unit, "cancel").status_code == 200
    assert world.store.units.get([unit.id])[0].state is UnitState.CANCELED
    assert world.store.runs.get([unit.id])[0].state is RunState.LAUNCHED  # until an agent looks


@pytest.mark.parametrize("body", [{"reson": "x"}, {"reason": 1}, {"dry_run": "yes"}, [], None])
def test_an_invalid_request_is_refused(client, failed, body):
    assert client.post(f"{AT}/{failed.id}/cancel", json=body).status_code == 422
