"""What a request says is understood or refused, never ignored: parameters and fields."""

from __future__ import annotations

import http.client
import json
import threading
from contextlib import closing
from urllib.parse import parse_qsl, urldefrag, urlencode, urljoin, urlsplit

import pytest
from fastapi.routing import APIRoute, iter_route_contexts

from synergy.mx import routing
from synergy.mx.routing import DEEPEST, LONG, StrictRoute, parsed
from synergy.mx.services import Services
from tests.mx.asking import Client, local_app
from tests.mx.attack import Attack
from tests.mx.conftest import BASE
from tests.mx.pages_kit import Page
from tests.mx.populated import a_populated_deployment, place_of, populate
from tests.mx.secured_mx import HERE
from tests.mx.server_kit import LIMIT, get, running

SCHEDULE = {"name": "nightly", "process": "Report", "cron": "0 2 * * *"}
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def attack(worlds, tmp_path):
    """MX over a deployment with some data of every kind."""
    world = populate(worlds(a_populated_deployment()), tmp_path)
    services = Services.at(place_of(world, tmp_path))
    return Attack(world, Client(local_app(services), HERE, base_url=BASE))


CALLBACK = "/login/oidc/callback"  # takes what login providers add


def routes(client):
    """Method, address and declared parameters of every route."""
    for context in iter_route_contexts(client.app.routes):
        if isinstance(context.original_route, APIRoute):
            address = context.path.replace("{", "").replace("}", "").replace(":path", "")
            for method in context.methods:
                yield method, address, context.original_route


# Query parameters


def test_every_route_is_strict(client):
    found = {address: route for _, address, route in routes(client)}
    assert len(found) > 60
    lenient = {each for each, route in found.items() if not isinstance(route, StrictRoute)}
    assert lenient == {CALLBACK}


def test_every_route_refuses_an_unknown_parameter(client):
    for method, address, _ in routes(client):
        if address == CALLBACK:
            continue
        answer = client.request(method, f"{address}?surprise=1", follow_redirects=False)
        assert answer.status_code == 422, (method, address)
        assert "query.surprise: unknown parameter: this address takes" in answer.json()["detail"]


def test_every_declared_parameter_may_be_sent_once(client):
    for method, address, route in routes(client):
        for name in getattr(route, "query", ()):
            answer = client.request(method, f"{address}?{name}=a&{name}=a", follow_redirects=False)
            assert answer.status_code == 422, (method, address, name)
            assert f"query.{name}: sent twice" in answer.json()["detail"]


def test_a_route_that_is_added_later_is_strict(client):
    client.app.add_api_route("/api/v1/later", lambda: "fine")
    assert client.get("/api/v1/later").json() == "fine"
    assert client.get("/api/v1/later?x").status_code == 422


def test_a_dry_run_in_the_wrong_place_creates_nothing(attack):
    client = attack.client
    body = {**SCHEDULE, "name": "wanted"}
    answer = client.post("/api/v1/schedules?dry_run=true", json=body)
    assert answer.status_code == 422
    assert answer.json()["errors"] == [
        {
            "where": "query.dry_run",
            "detail": "unknown parameter: this address takes program; "
            "send other fields in the body",
        }
    ]
    assert client.get("/api/v1/schedules/wanted").status_code == 404
    client.act("schedules", {**body, "dry_run": True})
    client.act("schedules", body, 201)


def test_a_page_shows_what_it_refuses(client):
    text = client.page("/units?states=invalid", 422)
    assert (
        "Query.states: unknown parameter: this address takes cursor, from, process, state" in text
    )


def test_everything_that_pages_link_to_is_accepted(attack):
    """Follows links, parts and search forms of all pages, one with the same shape each."""
    waiting, met = [attack.address(path) for path in attack.pages()], set()
    while waiting:
        address = waiting.pop()
        if shape(address) not in met:
            met.add(shape(address))
            answer = attack.client.get(address, headers={"Accept": "text/html"})
            assert "unknown parameter" not in answer.text, address
            if answer.headers["content-type"].startswith("text/html"):
                waiting += targets(Page(answer.text), address)
    assert {("jobs", 3, "part"), ("timetable", 2, "at table"), ("audit", 1, "fresh")} <= met
    filters = "event from process timeperiod to who zone"
    assert {("journal", 1, filters), ("units", 3, "level q")} <= met


def shape(address):
    """The first segment of a path, the number of segments, and the names of its parameters."""
    found = urlsplit(address)
    names = [name for name, _ in parse_qsl(found.query, keep_blank_values=True)]
    return found.path.split("/")[1], found.path.count("/"), " ".join(sorted(names))


def targets(page, address):
    """The addresses in MX that a page names."""
    named = [element.get("hx-get") or element.get("href") or "" for _, element in page.elements]
    named += [
        each["content"].partition("url=")[2] for each in page.all("meta", http_equiv="refresh")
    ]
    whole = [urldefrag(urljoin(address, each)).url for each in [*named, *search_forms(page)]]
    return [each for each in whole if each.startswith("/") and not each.startswith("/static/")]


def search_forms(page):
    """The address of each form of a page that is submitted by GET, with all of its fields."""
    for index, (tag, attributes) in enumerate(page.elements):
        if tag == "form" and attributes.get("method") == "get":
            fields = {}
            for inner, field in page.elements[index + 1 :]:
                if inner == "form":
                    break
                if inner in ("input", "select", "button") and "name" in field:
                    fields[field["name"]] = field.get("value") or ""
            yield f"{attributes.get('action') or ''}?{urlencode(fields)}"


# Bodies


@pytest.mark.parametrize(
    "body",
    [
        '{"name": "a", "name": "b"}',
        '{"name": "a", "dry_run": true, "dry_run": false}',
        '{"name": "a", "arguments": {"x": 1, "\\u0078": 2}}',
    ],
)
def test_a_field_that_is_sent_twice_is_refused(attack, body):
    answer = attack.send("POST", "/api/v1/schedules", content=body, headers=JSON)
    assert answer.status_code == 400
    assert "twice: send each field once" in answer.json()["detail"]


@pytest.mark.parametrize("coding", ["utf-16", "utf-16-le", "utf-32", "utf-8-sig", "latin-1"])
def test_a_body_is_utf_8(attack, coding):
    content = json.dumps({**SCHEDULE, "by": "ä"}, ensure_ascii=False).encode(coding)
    answer = attack.send("POST", "/api/v1/schedules", content=content, headers=JSON)
    assert answer.status_code == 400
    assert "JSON" in answer.json()["detail"]


@pytest.mark.parametrize("path", ["gc/run", "jobs/skip", "events", "schedules/preview"])
@pytest.mark.parametrize("around", ["[]", '{"a":}'])
def test_a_deeply_nested_body_is_refused(attack, path, around):
    """It would exceed the stack of whatever walks through it, such as the audit log."""
    begin, end = around[:-1], around[-1]
    for field in ("process", "jobs", "payload", "dry_run"):
        for depth in (DEEPEST, 300, 900):
            content = f'{{"{field}": {begin * depth}1{end * depth}}}'
            answer = attack.send("POST", f"/api/v1/{path}", content=content, headers=JSON)
            assert answer.status_code == 400
            assert "nested too deeply" in answer.json()["detail"]


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_json_does_not_have_are_refused(attack, number):
    content = json.dumps({**SCHEDULE, "arguments": {"x": 0}}).replace("0}", f"{number}}}")
    answer = attack.send("POST", "/api/v1/schedules", content=content, headers=JSON)
    assert answer.status_code == 400


def test_others_are_answered_while_a_long_body_is_parsed(world, tmp_path, monkeypatch):
    has_begun, may_end = threading.Event(), threading.Event()

    def slowly(body):
        has_begun.set()
        assert may_end.wait(LIMIT)
        return parsed(body)

    monkeypatch.setattr(routing, "parsed", slowly)
    body = json.dumps({"reason": "x" * LONG})
    answers = []
    with running(place_of(world, tmp_path)) as (_, port):
        sender = threading.Thread(target=lambda: answers.append(post(port, body)))
        sender.start()
        assert has_begun.wait(LIMIT)
        assert get(port, "/livez")[0] == 200
        may_end.set()
        sender.join(LIMIT)
    assert answers == [422]


def post(port, body):
    """The status of a response to a change."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT)) as connection:
        connection.request("POST", "/api/v1/jobs/skip", body, JSON)
        return connection.getresponse().status
