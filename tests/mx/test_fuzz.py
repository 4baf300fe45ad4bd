"""Hostile requests to every path of the API and of the pages.

Every response is a declared one, never an internal error, and reveals no internals. Refused
requests do not change the store.
"""

from __future__ import annotations

import threading
from typing import Any

import pytest

from synergy.mx.services import Services
from synergy.queries.schedules import event_effects
from tests.mx.asking import Client, local_app
from tests.mx.attack import (
    API,
    ENDLESS,
    RETURN,
    SHARE,
    SOUND,
    UNWELL,
    Attack,
    contexts,
    dump,
    judge,
    sound,
    spoilt_paths,
    with_bodies,
)
from tests.mx.conftest import BASE
from tests.mx.hostile import BODIES, HEADERS, JSON, SPOILT, VALUES, written
from tests.mx.populated import LIMIT, a_populated_deployment, place_of, populate
from tests.mx.secured_mx import HERE
from tests.service.scheduler_harness import SchedulerHarness


@pytest.fixture
def world(worlds, tmp_path, monkeypatch) -> SchedulerHarness:
    monkeypatch.setattr(event_effects, "WAIT_SECONDS", 0.001)
    return populate(worlds(a_populated_deployment()), tmp_path)


@pytest.fixture
def client(world, tmp_path) -> Client:
    """MX without background services, so that nothing changes by itself."""
    return Client(local_app(Services.at(place_of(world, tmp_path))), HERE, base_url=BASE)


@pytest.fixture
def attack(world, client) -> Attack:
    return Attack(world, client)


# The table itself


def test_the_valid_bodies_are_accepted(attack):
    taking = with_bodies(attack)
    assert len(taking) == 28
    assert {f"{m} {p.removeprefix(API)}" for m, p, _ in taking} >= set(SOUND)
    for method, path, address in taking:
        body = sound(method, path)
        if not path.endswith("/preview"):
            body["dry_run"] = True
        answer = attack.send(method, address, json={k: v for k, v in body.items() if v is not None})
        assert answer.status_code in (200, 202, 404, 409), (method, path, answer.text)


def test_every_address_of_the_kit_exists(attack):
    for path in [*attack.paths, *attack.pages()]:
        if path != ENDLESS and "get" in attack.paths.get(path, {"get": 1}):
            answer = attack.client.get(attack.address(path), follow_redirects=False)
            expected = {UNWELL: (200, 503), RETURN: (404,)}.get(path, (200, 202, 303))
            assert answer.status_code in expected, (path, answer.text)


# Addresses


def test_hostile_names_in_addresses_of_the_api(attack):
    for method, path, operation in attack.operations():
        body = {"json": sound(method, path)} if "requestBody" in operation else {}
        for url in spoilt_paths(attack, path):
            attack.send(method, url, **body)
    attack.still_answers()
    assert attack.sent > 1000 // SHARE


def test_hostile_names_in_addresses_of_pages(attack):
    for path in attack.pages():
        for url in spoilt_paths(attack, path):
            attack.send("GET", url, headers={"Accept": "text/html"})
            attack.send("GET", url)
    attack.still_answers()
    assert attack.sent > 300 // SHARE


# Queries


def test_hostile_queries_of_the_api(attack):
    for method, path, operation in attack.operations():
        url = attack.address(path)
        body = {"json": sound(method, path)} if "requestBody" in operation else {}
        names = [one["name"] for one in operation.get("parameters", ()) if one["in"] == "query"]
        for name in names:
            for value in attack.some(VALUES):
                attack.send(method, f"{url}?{name}={value}", **body)
            attack.send(method, f"{url}?{name}=1&{name}=x&{name}[]=y&{name}", **body)
        attack.send(method, f"{url}?nobody=knows&=&%ff=%00&&&;", **body)
    attack.still_answers()
    assert attack.sent > 1000 // SHARE


def test_hostile_queries_of_pages(attack):
    for context in contexts(attack.client.app):
        if context.path not in attack.pages() or "GET" not in context.methods:
            continue
        url = attack.address(context.path)
        for field in context.dependant.query_params:
            for value in attack.some(VALUES):
                headers = {"Accept": "text/html"}
                attack.send("GET", f"{url}?{field.alias}={value}", headers=headers)
    attack.still_answers()
    assert attack.sent > 500 // SHARE


def test_cursors_of_other_lists_do_no_harm(attack):
    lists = [
        attack.address(path)
        for method, path, operation in attack.operations()
        if any(one["name"] == "cursor" for one in operation.get("parameters", ()))
    ]
    cursors = {attack.client.get(f"{url}?limit=1").json()["next"] for url in lists} - {None}
    assert len(cursors) > 3
    for url in lists:
        for cursor in sorted(cursors):
            attack.send("GET", f"{url}?limit=1&cursor={cursor}")


# Bodies


def test_malformed_bodies_are_refused(attack):
    for method, path, url in with_bodies(attack):
        for kind, content in attack.some(BODIES):
            answer = attack.send(method, url, content=content, headers={"Content-Type": kind})
            assert answer.status_code >= 400, (method, path, kind, content[:50])
    attack.still_answers()


def test_bodies_with_one_invalid_field(attack):
    for method, path, url in with_bodies(attack):
        body = sound(method, path)
        for field in [name for name in body if name != "reason"]:
            for value in attack.some(SPOILT):
                content = written({**body, field: value})
                attack.send(method, url, content=content, headers={"Content-Type": JSON})
    attack.still_answers()
    assert attack.sent > 1000 // SHARE


def test_invalid_reasons_and_dry_runs(attack):
    for method, _, url in with_bodies(attack):
        for value in (None, 3, "x" * 1001, "\ud800", [], {}):
            content = written({"reason": value, "dry_run": value})
            answer = attack.send(method, url, content=content, headers={"Content-Type": JSON})
            assert answer.status_code == 422


def test_bodies_of_requests_that_take_none(attack):
    for method, path, operation in attack.operations():
        if "requestBody" not in operation:
            for kind, content in ((JSON, b"[" * 1000), ("a/b", b"x")):
                headers = {"Content-Type": kind}
                attack.send(method, attack.address(path), content=content, headers=headers)


# Headers and methods

HEADED = ("jobs", "jobs/skip", "trees/{tree}", "processes/{name}", "schedules/{name}", "gc/run")


def test_hostile_headers(attack):
    for method, path, operation in attack.operations():
        if path.removeprefix(f"{API}/") not in HEADED:
            continue
        body = {"json": sound(method, path)} if "requestBody" in operation else {}
        for name, value in attack.some(HEADERS):
            attack.send(method, attack.address(path), headers={name: value}, **body)
    attack.still_answers()
    assert attack.sent >= len(HEADERS) * 9 // SHARE


def test_unknown_methods_are_refused_everywhere(attack):
    for path in [*attack.paths, *attack.pages()]:
        for method in ("TRACE", "BREW", "PROPFIND", "CONNECT", "X" * 5000):
            answer = attack.send(method, attack.address(path))
            assert answer.status_code == 405, (method, path)
        assert attack.send("OPTIONS", attack.address(path)).status_code == 204


# Asked twice


def test_a_reused_key_repeats_the_response(attack):
    for number, (method, path, url) in enumerate(with_bodies(attack)):
        if method != "POST":
            continue
        headers, body = {"Idempotency-Key": f"again-{number}"}, sound(method, path)
        first = attack.send(method, url, json=body, headers=headers)
        before = dump(attack.world)
        again = attack.send(method, url, json=body, headers=headers)
        assert (again.status_code, again.content) == (first.status_code, first.content), path
        assert again.headers["idempotency-replayed"] == "true"
        for other in (b"{}", b"[", written({**body, "reason": "another"})):
            json = {"Content-Type": JSON, **headers}
            answer = attack.send(method, url, content=other, headers=json)
            assert (answer.status_code, "Idempotency-Key" in answer.text) == (422, True), path
        assert dump(attack.world) == before


def test_a_key_used_at_once_acts_once(attack):
    for number, (method, path, url) in enumerate(with_bodies(attack)):
        if method != "POST":
            continue
        headers, body = {"Idempotency-Key": f"at-once-{number}"}, sound(method, path)
        answers: list[Any] = []
        together = threading.Barrier(3)

        def ask(answers=answers, together=together, url=url, headers=headers, body=body) -> None:
            together.wait(LIMIT)
            answers.append(attack.client.post(url, json=body, headers=headers))

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LIMIT)
        for answer in answers:
            judge(answer, (method, url, answer.text[:300]))
        acted = [
            answer
            for answer in answers
            if "idempotency-replayed" not in answer.headers and "retry-after" not in answer.headers
        ]
        assert (len(answers), len(acted)) == (3, 1), [a.text for a in answers]
