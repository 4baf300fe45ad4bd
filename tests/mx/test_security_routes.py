"""Every route says who is let in, and is believed: also those that will be written later."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest
from fastapi.routing import APIRoute, iter_route_contexts

from synergy.mx import access
from synergy.mx.access import Role
from synergy.mx.accounts.authenticator import OPEN
from synergy.mx.protection.csrf import SAFE
from synergy.mx.protection.forms import Form
from tests.mx.asking import Client

STRANGERS = {("GET", "/login"), ("POST", "/login")}
NEEDS = {
    kind.__metadata__[0].dependency: name
    for name, kind in vars(access).items()
    if name in ("Viewer", "Operator", "Admin", "EventPublisher")
}


def calls(dependant):
    """All that a route depends on, at whatever depth."""
    for each in dependant.dependencies:
        yield each.call
        yield from calls(each)


def routes(app):
    """Method, path and dependencies of every route of ours."""
    return [
        (method, context.path, list(calls(context.dependant)))
        for context in iter_route_contexts(app.routes)
        if isinstance(context.original_route, APIRoute)
        for method in sorted(context.methods or ())
    ]


def filled(path):
    """The path with something in the place of each parameter."""
    return re.sub(r"\{[^}]*\}", "2015051700", path)


def test_there_is_something_to_walk_through(house):
    found = {(method, path) for method, path, _ in routes(house.app)}
    assert {("GET", "/account"), ("POST", "/logout"), ("GET", "/api/openapi.json")} <= found


def test_every_route_says_in_one_way_who_is_let_in(house):
    for method, path, calls_ in routes(house.app):
        needs = {NEEDS[call] for call in calls_ if call in NEEDS}
        if (method, path) in STRANGERS:
            assert not needs, (method, path)
        else:
            assert len(needs) == 1, (method, path, needs)


def test_what_changes_something_needs_more_than_a_viewer(house):
    for method, path, calls_ in routes(house.app):
        if method not in SAFE and path.startswith("/api/"):
            needs = {NEEDS[call] for call in calls_ if call in NEEDS}
            assert needs <= {"Operator", "Admin", "EventPublisher"}, (method, path, needs)


def test_a_form_comes_with_the_proof_that_it_is_of_our_page(house):
    form = Form.__metadata__[0].dependency
    found = [
        (method, path, calls_)
        for method, path, calls_ in routes(house.app)
        if method not in SAFE and not path.startswith("/api/")
    ]
    assert found
    for method, path, calls_ in found:
        assert form in calls_ or (method, path) in STRANGERS, (method, path)


def test_only_events_are_told_by_who_may_do_nothing_else(house):
    told = {
        (method, path)
        for method, path, calls_ in routes(house.app)
        if any(NEEDS.get(call) == "EventPublisher" for call in calls_)
    }
    assert told <= {("POST", "/api/v1/events")}


def test_a_stranger_is_let_in_nowhere(house):
    client = house.client(("203.0.113.9", 5))
    for method, path, _ in routes(house.app):
        if (method, path) in STRANGERS:
            continue
        answer = client.request(method, filled(path))
        if path.startswith("/api/") or path in OPEN:
            assert answer.status_code == 401, (method, path)
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.headers["www-authenticate"] == "Bearer"
        else:
            assert answer.status_code == 303, (method, path)
            assert answer.headers["location"].startswith("/login")


def test_a_viewer_changes_nothing(house):
    client = house.bearer("vera", Role.VIEWER)
    for method, path, _ in routes(house.app):
        if method not in SAFE and path.startswith("/api/"):
            assert client.request(method, filled(path)).status_code == 403, (method, path)


def test_a_token_for_events_looks_at_nothing(house):
    client = house.bearer("otto", Role.EVENTS)
    for method, path, _ in routes(house.app):
        if (method, path) not in {*STRANGERS, ("POST", "/api/v1/events")} and method in SAFE:
            assert client.request(method, filled(path)).status_code == 403, (method, path)


@pytest.mark.parametrize("path", ["/api/v1/nothing", "/nothing", "/%2e%2e/etc/passwd", "/static"])
def test_what_is_not_there_is_no_way_in(house, path):
    assert house.client().get(path).status_code in (303, 401)


def test_at_this_machine_everybody_may_see_that_it_is_well(house):
    assert house.client().get("/api/openapi.json").status_code == 200
    assert house.client(("203.0.113.9", 5)).get("/api/openapi.json").status_code == 401
    assert house.client(("::ffff:203.0.113.9", 5)).get("/api/openapi.json").status_code == 401
    assert house.client(("::ffff:127.0.0.1", 5)).get("/api/openapi.json").status_code == 200
    assert house.bearer("vera", Role.VIEWER).get("/api/openapi.json").status_code == 200


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/metrics"])
@pytest.mark.parametrize("prefix", ["", "/api/v1"])
def test_who_watches_it_from_this_machine_need_not_say_who_he_is(house, prefix, path):
    assert house.client().get(f"{prefix}{path}").status_code in (200, 503)
    assert house.client(("203.0.113.9", 5)).get(f"{prefix}{path}").status_code == 401


def test_without_users_only_this_machine_is_let_in(client):
    assert client.get("/account").status_code == 200
    stranger = Client(client.app, ("203.0.113.9", 5), base_url=client.base_url)
    assert stranger.get("/api/openapi.json").status_code == 401
    assert stranger.get("/account", follow_redirects=False).status_code == 303


def test_openapi_says_how_to_say_who_one_is(client):
    found = client.get("/api/openapi.json").json()
    assert set(found["components"]["securitySchemes"]) == {"bearer", "cookie"}
    assert found["components"]["schemas"]["Problem"]["properties"]["detail"]
    for path, operations in found["paths"].items():
        for operation in operations.values():
            without = [{}] if path in OPEN else []
            assert operation["security"] == [{"bearer": []}, {"cookie": []}, *without], path
            assert {"401", "403", "422", "429", "503"} <= set(operation["responses"]), path
            if "requestBody" in operation:
                assert {"400", "413", "415"} <= set(operation["responses"]), path


FILTERS = (
    "process",
    "state",
    "name",
    "cursor",
    "from",
    "to",
    "type",
    "q",
    "schedule",
    "box",
    "tree",
)
HOSTILE = "'\"><script>xss</script><img src=x onerror=xss>"


def test_whatever_a_page_is_asked_for_becomes_no_script(client):
    pages = [
        path
        for method, path, _ in routes(client.app)
        if method == "GET" and not path.startswith("/api/") and path not in OPEN
    ]
    assert pages
    for path in pages:
        hostile = re.sub(r"\{[^}]*\}", quote(HOSTILE, safe=""), path)
        for name in FILTERS:
            answer = client.get(hostile, params={name: HOSTILE}, headers={"Accept": "text/html"})
            assert answer.status_code < 500, (path, name)
            assert "<script>xss" not in answer.text, (path, name)
            assert "<img src=x" not in answer.text, (path, name)
