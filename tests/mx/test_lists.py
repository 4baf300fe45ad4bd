"""Every list by REST comes in pages that together hold all its items."""

from __future__ import annotations

import pytest

from synergy.queries.schedules import event_effects
from tests.mx.conftest import client_of
from tests.mx.populated import a_populated_deployment, populate


@pytest.fixture
def client(worlds, tmp_path, monkeypatch):
    monkeypatch.setattr(event_effects, "WAIT_SECONDS", 0.01)
    with client_of(populate(worlds(a_populated_deployment()), tmp_path)) as client:
        yield client


def lists(client):
    """The paths of all lists by OpenAPI, with the names of their parameters."""
    told = client.get("/api/openapi.json").json()
    found = {}
    for path, operations in told["paths"].items():
        answers = operations.get("get", {}).get("responses", {}).get("200", {}).get("content", {})
        name = answers.get("application/json", {}).get("schema", {}).get("$ref", "").split("/")[-1]
        if set(told["components"]["schemas"].get(name, {}).get("properties", {})) == {
            "items",
            "next",
        }:
            found[path] = {one["name"] for one in operations["get"].get("parameters", ())}
    return found


def pages(client, path, limit):
    """All items of a list, page by page."""
    found, cursor = [], {}
    while True:
        page = client.get(path, params={"limit": limit, **cursor}).json()
        assert len(page["items"]) <= limit
        found += page["items"]
        if page["next"] is None:
            return found
        cursor = {"cursor": page["next"]}


def test_every_list_takes_a_limit_and_a_cursor(client):
    found = lists(client)
    assert len(found) >= 16
    assert [path for path, names in found.items() if not {"limit", "cursor"} <= names] == []


def test_the_pages_of_a_list_hold_all_its_items(client):
    schedule = client.get("/api/v1/schedules").json()["items"][0]["name"]
    with_some = set()
    for path in lists(client):
        place = path.replace("{name}", schedule)
        whole = pages(client, place, 1000)
        with_some |= {path} if len(whole) > 1 else set()
        assert pages(client, place, max(len(whole) // 3, 1)) == whole, path
    lists_of_some = {f"/api/v1/{name}" for name in ("processes", "trees", "queues", "runs")}
    assert lists_of_some <= with_some


@pytest.mark.parametrize("wrong", ["limit=0", "limit=1001", "limit=x"])
def test_every_list_refuses_an_invalid_limit(client, wrong):
    for path in lists(client):
        answer = client.get(f"{path.replace('{name}', 'nightly')}?{wrong}")
        assert answer.status_code == 422, path
        assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("name", ["boxes", "logs", "queues/dead", "runs/dead", "journal", "units"])
@pytest.mark.parametrize("cursor", ["x", "-1", "1.5", "\u0661", ""])
def test_a_cursor_of_numbers_is_a_whole_number(client, name, cursor):
    client.read(f"{name}?cursor={cursor}", 422)


def test_a_page_after_the_end_is_empty(client):
    for name in ("processes", "boxes", "trees", "queues", "logs"):
        page = client.get(f"/api/v1/{name}?cursor=99999999999999999999").json()
        assert page == {"items": [], "next": None}
