"""Every list by REST comes in pages, which together hold what the list holds."""

from __future__ import annotations

import pytest

from synergy.queries.schedules import event_effects
from tests.mx.conftest import client_of
from tests.mx.populated import a_populated_deployment, populate


@pytest.fixture
def client(worlds, tmp_path, monkeypatch):
    monkeypatch.setattr(event_effects, "PATIENCE", 0.01)
    with client_of(populate(worlds(a_populated_deployment()), tmp_path)) as client:
        yield client


def lists(client):
    """The paths of all lists, by what OpenAPI says: path -> names of its parameters."""
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


def test_each_takes_a_limit_and_a_cursor(client):
    found = lists(client)
    assert len(found) >= 16
    assert [path for path, names in found.items() if not {"limit", "cursor"} <= names] == []


def test_the_pages_of_each_hold_what_it_holds(client):
    schedule = client.get("/api/v1/schedules").json()["items"][0]["name"]
    with_some = set()
    for path in lists(client):
        place = path.replace("{name}", schedule)
        whole = pages(client, place, 1000)
        with_some |= {path} if len(whole) > 1 else set()
        assert pages(client, place, max(len(whole) // 3, 1)) == whole, path
    lists_of_some = {f"/api/v1/{name}" for name in ("processes", "trees", "queues", "runs")}
    assert lists_of_some <= with_some


@pytest.mark.parametrize("name", ["processes", "boxes", "trees", "queues", "logs", "runs/dead"])
@pytest.mark.parametrize("wrong", ["limit=0", "limit=1001", "cursor=x", "cursor=-1", "cursor="])
def test_what_is_no_limit_or_cursor_is_refused(client, name, wrong):
    answer = client.get(f"/api/v1/{name}?{wrong}")
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_page_behind_the_end_is_empty(client):
    for name in ("processes", "boxes", "trees", "queues", "logs"):
        page = client.get(f"/api/v1/{name}?cursor=99999999999999999999").json()
        assert page == {"items": [], "next": None}
