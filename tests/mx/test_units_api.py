"""Units of work by REST: which there are, what happened to one, its log; canceling and retrying."""

from __future__ import annotations

from datetime import timedelta

import pytest

from synergy.model.job import JobState
from synergy.model.schedule import RunState
from synergy.model.unit_of_work import UnitState
from synergy.mx.access import Role
from synergy.storage.protocol import LogLine
from tests.factories import NOW, a_unit, some_units
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


def read(client, path="", status=200):
    answer = client.get(AT + path)
    assert answer.status_code == status, answer.text
    return answer.json()


def ids(page):
    return [unit["id"] for unit in page["items"]]


# Lists


def test_units_are_listed_newest_first_page_by_page(world, client):
    units = some_units(5)
    world.store.units.create(units, "a test")
    expected = [unit.id for unit in units][::-1]
    first = read(client, "?limit=2")
    second = read(client, f"?limit=2&cursor={first['next']}")
    third = read(client, f"?limit=2&cursor={second['next']}")
    assert ids(first) + ids(second) + ids(third) == expected
    assert third["next"] is None


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
    "query",
    ["?state=odd", "?limit=0", "?limit=1001", "?cursor=x", "?cursor=-1", "?process=",
     "?process=" + "x" * 201, "?cursor=" + "9" * 513],
)  # fmt: skip
def test_what_cannot_be_asked_is_refused(client, query):
    answer = client.get(AT + query)
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"


# One of them


def test_a_unit_is_shown_with_what_happened_to_its_attempts(world, client, failed):
    shown = read(client, f"/{failed.id}")
    assert (shown["process"], shown["timeperiod"], shown["state"]) == (
        "Sitehourly",
        HOUR,
        "invalid",
    )
    assert (shown["start_timeperiod"], shown["end_timeperiod"]) == (HOUR, "2015051701")
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


def test_another_unit_of_the_job_is_another_story(world, client):
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


@pytest.mark.parametrize(
    "id_", ["nope", "%2e%2e", "%00", "%ff", "x" * 100, "%3Cscript%3E", "..%2f"]
)
@pytest.mark.parametrize("place", ["", "/log", "/log?format=text", "/log/matches?q=x"])
def test_units_that_are_not_there_are_not_found(client, id_, place):
    answer = client.get(f"{AT}/{id_}{place}")
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"


def test_an_id_that_none_can_be_is_refused(client):
    assert client.get(f"{AT}/{'x' * 101}").status_code == 422


# Its log


@pytest.fixture
def written(world):
    """A unit of which ten lines were written: six in its first attempt, four in its second."""
    unit = a_unit("Sitehourly", HOUR)
    world.store.units.create([unit], "a test")
    lines = [
        LogLine(
            NOW + timedelta(seconds=n),
            1 if n < 6 else 2,
            "ERROR" if n in (3, 8) else "INFO",
            f"no {n}",
        )
        for n in range(10)
    ]
    world.store.logs.append(unit.id, lines)
    return unit


@pytest.mark.parametrize(
    ("query", "found", "previous", "following"),
    [
        ("", [*range(1, 11)], None, None),
        ("limit=3", [8, 9, 10], 8, None),
        ("before=8&limit=3", [5, 6, 7], 5, 7),
        ("before=3", [1, 2], None, 2),
        ("after=0&limit=4", [1, 2, 3, 4], None, 4),
        ("after=4&limit=4", [5, 6, 7, 8], 5, 8),
        ("after=10", [], 11, None),
        ("level=error", [4, 9], None, None),
        ("level=error&after=4", [9], 5, None),
        ("level=warning&limit=1", [9], 9, None),
        ("q=NO+7", [8], None, None),
        ("q=no&level=error&after=0&limit=1", [4], None, 4),
        ("level=critical", [], None, None),
    ],
)
def test_the_log_of_a_unit_is_read_in_parts(client, written, query, found, previous, following):
    answer = read(client, f"/{written.id}/log?{query}")
    numbers = [line["number"] for line in answer["items"]]
    assert (numbers, answer["previous"], answer["next"]) == (found, previous, following)
    assert answer["total"] == 10


def test_a_line_says_in_which_attempt_it_was_written(client, written):
    [line] = read(client, f"/{written.id}/log?after=8&limit=1")["items"]
    assert line == {
        "number": 9,
        "at": (NOW + timedelta(seconds=8)).isoformat(timespec="milliseconds"),
        "level": "error",
        "event": "attempt 2",
        "message": "no 8",
        "more": {"attempt": 2},
    }


def test_numbers_of_lines_that_are_looked_for(client, written):
    found = read(client, f"/{written.id}/log/matches?level=error")
    assert (found["numbers"], found["total"], found["next"]) == ([4, 9], 10, None)


def test_the_log_of_a_unit_is_downloaded_as_text(client, written):
    answer = client.get(f"{AT}/{written.id}/log?format=text")
    lines = answer.text.splitlines()
    assert len(lines) == 10
    at = (NOW + timedelta(seconds=3)).isoformat(timespec="milliseconds")
    assert lines[3] == f"{at} attempt 1 error: no 3"
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["content-disposition"] == f'attachment; filename="unit-{written.id}.log"'


def test_a_log_of_many_parts_is_read_whole(world, client):
    unit = a_unit("Sitehourly", HOUR)
    world.store.units.create([unit], "a test")
    world.store.logs.append(unit.id, [LogLine(NOW, 1, "INFO", f"no {n}") for n in range(1, 951)])
    for query in ("after=0&limit=1000", "limit=1000"):
        answer = read(client, f"/{unit.id}/log?{query}")
        assert [line["message"] for line in answer["items"]] == [f"no {n}" for n in range(1, 951)]
    assert len(client.get(f"{AT}/{unit.id}/log?format=text").text.splitlines()) == 950


def test_a_unit_that_wrote_nothing_has_an_empty_log(world, client):
    unit = a_unit("Sitehourly", HOUR)
    world.store.units.create([unit], "a test")
    answer = read(client, f"/{unit.id}/log")
    assert (answer["total"], answer["items"]) == (0, [])
    assert client.get(f"{AT}/{unit.id}/log?format=text").text == ""


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
    assert world.bus.depths()["Sitehourly"] == waiting + 1  # a worker is told
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
def test_what_is_finished_is_neither_canceled_nor_retried(world, client, dry_run):
    unit = a_unit("Sitehourly", HOUR, state=UnitState.PROCESSED)
    world.store.units.create([unit], "a test")
    for verb in ("cancel", "retry"):
        answer = ask(client, unit, verb, dry_run=dry_run)
        assert answer.status_code == 409
        assert "is processed" in answer.json()["detail"]


def test_what_a_worker_holds_is_not_retried(world, client):
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


@pytest.mark.parametrize("verb", ["cancel", "retry"])
def test_units_that_are_not_there_are_not_changed(client, verb):
    for id_ in ("nope", "%00", "%2e%2e"):
        assert client.post(f"{AT}/{id_}/{verb}", json={}).status_code == 404


@pytest.mark.parametrize("body", [{"reson": "x"}, {"reason": 1}, {"dry_run": "yes"}, [], None])
def test_what_is_asked_has_to_be_clear(client, failed, body):
    assert client.post(f"{AT}/{failed.id}/cancel", json=body).status_code == 422


@pytest.mark.parametrize("verb", ["cancel", "retry"])
def test_who_only_looks_changes_nothing(house, world, verb):
    unit = a_unit("Sitehourly", HOUR, state=UnitState.INVALID)
    world.store.units.create([unit], "a test")
    place = f"{AT}/{unit.id}/{verb}"
    assert house.bearer("vera", Role.VIEWER).post(place, json={}).status_code == 403
    assert house.client().post(place, json={}).status_code in (401, 403)
    assert world.store.units.get([unit.id]) == [unit]
    assert house.bearer("otto", Role.OPERATOR).post(place, json={}).status_code == 200
