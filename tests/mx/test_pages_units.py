"""The pages of units: the list, one unit, and its log."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

from synergy.model.unit_of_work import UnitState
from synergy.mx.pages import units as units_page
from synergy.storage.protocol import LogLine
from tests.factories import NOW, a_unit
from tests.mx.conftest import client_of
from tests.mx.pages_kit import pager, plain, rows
from tests.service.free_runs import SECOND, a_free_process, a_run, a_system, launch

HOUR = "2015051700"


@pytest.fixture
def units(world):
    """A unit that was processed, one that failed, and one of a process that is gone."""
    times = {"started_at": NOW, "finished_at": NOW + timedelta(milliseconds=1500)}
    fails = {"attempt": 2, "failures": 2, "reason": "no such file"}
    units = [
        a_unit("Sitehourly", HOUR, state=UnitState.PROCESSED, owner="w", **times),
        a_unit("Sitehourly", "2015051701", state=UnitState.INVALID, **fails),
        a_unit("Gone", "2015051702"),
    ]
    world.store.units.create(units, "a test")
    return units


def test_units_are_a_table_with_possible_actions(units, client):
    done, failed, _ = units
    text = client.page("/units")
    third, second, first = rows(text)
    assert first[1:7] == ["Sitehourly", HOUR, "processed", "1", "0", "w"]
    assert first[8] == "1.5 s"
    assert second[1:6] == ["Sitehourly", "2015051701", "invalid", "2", "2"]
    assert second[6:10] == ["–", "–", "–", "no such file"]
    assert (first[10], second[10], third[10]) == ("", "Retry Cancel", "Cancel")
    assert 'href="/jobs/Sitehourly/2015051700"' in text
    assert "/jobs/Gone" not in text  # it has no page
    assert f'href="/units/{failed.id}"' in text
    assert f'data-api="/api/v1/units/{failed.id}/retry"' in text
    assert f'data-api="/api/v1/units/{done.id}/cancel"' not in text


def test_the_pages_of_a_filtered_list_keep_the_filter(world, client, monkeypatch):
    monkeypatch.setattr(units_page, "PAGE", 2)
    units = [
        a_unit(process, f"20150517{n:02}", state=UnitState.INVALID)
        for n in range(6)
        for process in ("Sitehourly", "Gone")
    ]
    world.store.units.create(units, "a test")
    first = client.page("/units?process=Sitehourly&state=invalid")
    assert [row[2] for row in rows(first)] == ["2015051705", "2015051704"]
    second = client.page(pager(first)["Older"])
    assert [row[2] for row in rows(second)] == ["2015051703", "2015051702"]
    assert pager(second)["Newest"] == "/units?process=Sitehourly&state=invalid"
    third = client.page(pager(second)["Older"])
    assert set(pager(third)) == {"Newest"}
    for text in (first, second, third):
        assert 'value="Sitehourly"' in text
        assert '<option value="invalid" selected>' in text


def test_an_empty_list_says_why(client):
    assert "The scheduler requests units when jobs are due" in client.page("/units")
    assert "No unit of X is invalid now" in plain(client.page("/units?process=X&state=invalid"))


def test_a_unit_shows_its_journal_and_the_end_of_its_log(world, client):
    world.schedule()
    world.round("Sitehourly", lambda _task: 1 / 0)
    [unit] = world.units("Sitehourly", HOUR)
    lines = [LogLine(NOW, 1, "INFO", f"line {n}") for n in range(1, 31)]
    world.store.logs.append(unit.id, lines)  # after the traceback
    text = client.page(f"/units/{unit.id}")
    for words in ("waits for a worker", "a worker took it", "an attempt failed"):
        assert f"{words} (attempt 1)" in plain(text)
    assert re.findall(r'id="line-(\d+)"', text) == [str(n) for n in range(12, 32)]
    assert "All 31 lines" in text
    assert f'href="/units/{unit.id}/log"' in text
    assert "division by zero" in client.page(f"/units/{unit.id}/log")


def test_a_unit_of_a_run_links_to_the_run():
    world = a_system(a_free_process())
    [unit] = launch(world, a_run())
    client = client_of(world)
    text = client.page(f"/units/{unit.id}")
    assert f'href="/runs/{unit.id}"' in text
    assert f"run {SECOND}" in text
    assert "/jobs/" not in text
    assert f'href="/runs/{unit.id}"' in client.page("/units")
    world.close()


@pytest.mark.parametrize("path", ["nope", "nope/log", "%2e%2e", "%00", "%ff/log"])
def test_the_page_of_an_unknown_unit_says_so(client, path):
    assert "No such unit" in client.page(f"/units/{path}", 404)


@pytest.mark.parametrize(
    "path",
    ["/units?state=odd", "/units?cursor=x", "/journal?cursor=-1", "/journal?process=A&timeperiod=x",
     "/events?type=ODD", "/events?cursor=x", "/queues?cursor=x", "/units?process=" + "x" * 201],
)  # fmt: skip
def test_a_list_with_an_invalid_filter_is_refused(client, path):
    client.page(path, 422)


@pytest.mark.parametrize("path", ["/units", "/journal", "/events", "/queues", "/audit", "/logs"])
def test_a_viewer_is_offered_no_action(units, world, secured, path):
    world.store.messages.bury("Sitehourly", b"x", "why", NOW)
    assert "data-api=" not in secured.logged_in("vera").page(path)
