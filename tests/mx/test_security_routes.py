"""Every route has an access rule, also those that are added later.

`test_security_matrix.py` asks them all, as every kind of sender.
"""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest
from fastapi.routing import APIRoute, iter_route_contexts

from synergy.mx import access
from synergy.mx.access import EVENT_ROUTES, Role
from synergy.mx.accounts.authenticator import OPEN
from synergy.mx.protection.csrf import SAFE
from synergy.mx.protection.forms import Form
from tests.mx.asking import Client
from tests.mx.secured_mx import ELSEWHERE

STRANGERS = {
    ("GET", "/login"),
    ("POST", "/login"),
    ("POST", "/login/oidc"),
    ("GET", "/login/oidc/callback"),
}
NEEDS = {
    kind.__metadata__[0].dependency: name
    for name, kind in vars(access).items()
    if name in ("Viewer", "Operator", "Admin", "EventPublisher")
}


def calls(dependant):
    """All dependencies of a route, at any depth."""
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
    """The path with a value for each parameter."""
    return re.sub(r"\{[^}]*\}", "2015051700", path)


def test_every_route_is_one_of_fastapi_except_static_files(secured):
    """The rules below, and the matrix, see no others."""
    others = [
        context.path
        for context in iter_route_contexts(secured.app.routes)
        if not isinstance(context.original_route, APIRoute)
    ]
    assert others == ["/static"]


def test_every_route_has_one_access_rule(secured):
    found = {(method, path) for method, path, _ in routes(secured.app)}
    assert {("GET", "/account"), ("POST", "/logout"), ("GET", "/api/openapi.json")} <= found
    for method, path, calls_ in routes(secured.app):
        needs = {NEEDS[call] for call in calls_ if call in NEEDS}
        if (method, path) in STRANGERS:
            assert not needs, (method, path)
        else:
            assert len(needs) == 1, (method, path, needs)


def test_changes_need_more_than_a_viewer(secured):
    for method, path, calls_ in routes(secured.app):
        if method not in SAFE and path.startswith("/api/"):
            needs = {NEEDS[call] for call in calls_ if call in NEEDS}
            assert needs <= {"Operator", "Admin", "EventPublisher"}, (method, path, needs)


def test_every_form_needs_its_csrf_token(secured):
    form = Form.__metadata__[0].dependency
    found = [
        (method, path, calls_)
        for method, path, calls_ in routes(secured.app)
        if method not in SAFE and not path.startswith("/api/")
    ]
    assert found
    for method, path, calls_ in found:
        assert form in calls_ or (method, path) in STRANGERS, (method, path)


def test_the_scope_of_events_publishes_events_only(secured):
    told = {
        (method, path)
        for method, path, calls_ in routes(secured.app)
        if any(NEEDS.get(call) == "EventPublisher" for call in calls_)
    }
    assert told == EVENT_ROUTES


def test_every_route_rejects_unauthenticated_requests(secured):
    client = secured.client(("203.0.113.9", 5))
    for method, path, _ in routes(secured.app):
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


@pytest.mark.parametrize(
    "path", ["/api/v1/nothing", "/nothing", "/%2e%2e/etc/passwd", "/static", "/live%0Az"]
)
def test_unknown_paths_need_a_login_too(secured, path):
    assert secured.client().get(path).status_code in (303, 401)


def test_openapi_is_open_to_this_machine(secured):
    assert secured.client().get("/api/openapi.json").status_code == 200
    assert secured.client(("203.0.113.9", 5)).get("/api/openapi.json").status_code == 401
    assert secured.client(("::ffff:203.0.113.9", 5)).get("/api/openapi.json").status_code == 401
    assert secured.client(("::ffff:127.0.0.1", 5)).get("/api/openapi.json").status_code == 200
    assert secured.bearer("vera", Role.VIEWER).get("/api/openapi.json").status_code == 200


def test_without_users_only_this_machine_has_access(client):
    assert client.get("/account").status_code == 200
    stranger = Client(client.app, ("203.0.113.9", 5), base_url=client.base_url)
    assert stranger.get("/api/openapi.json").status_code == 401
    assert stranger.get("/account", follow_redirects=False).status_code == 303


def test_openapi_declares_authentication_and_its_errors(client):
    found = client.get("/api/openapi.json").json()
    assert set(found["components"]["securitySchemes"]) == {"bearer", "cookie"}
    assert found["components"]["schemas"]["Problem"]["properties"]["detail"]
    for path, operations in found["paths"].items():
        for operation in operations.values():
            without = [{}] if path in OPEN else []
            assert operation["security"] == [{"bearer": []}, {"cookie": []}, *without], path
            expected = {"400", "401", "403", "414", "422", "429", "431", "503"}
            assert expected <= set(operation["responses"]), path
            if "requestBody" in operation:
                assert {"413", "415"} <= set(operation["responses"]), path


FILTERS = [
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
    "who",
    "event",
]
HOSTILE = "'\"><script>xss</script><img src=x onerror=xss>"


def test_parameters_of_pages_become_no_script(client):
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


# Requests from outside


@pytest.mark.parametrize("page", ["http://[", "//[x", "http://a]b/"])
def test_an_invalid_current_url_leads_to_the_overview(secured, page):
    headers = {"HX-Request": "true", "HX-Current-URL": page}
    answer = secured.client(ELSEWHERE).get("/journal", headers=headers)
    assert answer.status_code == 401
    assert answer.headers["hx-redirect"] == "/login?next=/"


def test_a_route_without_a_rule_changes_nothing_for_a_viewer(secured):
    done = []
    secured.app.add_api_route("/api/v1/forgot", lambda: done.append(1), methods=["POST", "DELETE"])
    for method in ("POST", "DELETE"):
        assert (
            secured.bearer("vera", Role.VIEWER).request(method, "/api/v1/forgot").status_code == 403
        )
        assert secured.bearer("otto", Role.OPERATOR).request(method, "/api/v1/forgot").is_success
    assert len(done) == 2
