"""Every path of the API and of the pages is sent what nobody who means well would send.

Whatever comes is answered as declared: never by a failure of the service, never with what is
inside, and what is refused leaves no trace in the store.
"""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from fastapi.routing import APIRoute, iter_route_contexts

from synergy.mx.accounts.authenticator import OPEN
from synergy.mx.app import create_app
from synergy.mx.services import Services
from synergy.queries.schedules import event_effects
from tests.mx.asking import Client
from tests.mx.conftest import BASE
from tests.mx.hostile import BODIES, HEADERS, JSON, SEGMENTS, SPOILT, VALUES, written
from tests.mx.house import HERE
from tests.mx.populated import LIMIT, SCHEDULES, a_populated_deployment, place_of, populate, served
from tests.seeds import seeds
from tests.service.scheduler_harness import SchedulerHarness

API = "/api/v1"
ENDLESS = f"{API}/stream"
SHARE = 1 if len(seeds(1)) > 1 else 5  # of what is hostile, each place gets one in so many
UNWELL = f"{API}/readyz"  # 503 is what it says where no scheduler is at work, as here
MODEL = {"type", "title", "status", "detail", "errors"}
INSIDE = re.compile(
    r"Traceback|File \"|site-packages|/tmp/|/work/|/home/|pydantic|starlette|fastapi|apsw|orjson|"
    r"(?<!launch)\.py\b|<class|object at 0x|SELECT |INSERT |JobsInRange|NamedJob|function-before"
)
SOUND: dict[str, dict[str, Any]] = {
    "PATCH /processes/{name}": {"is_on": True, "trigger_frequency": "every 60"},
    "POST /events": {
        "eventType": "FILE", "eventTimestamp": "2015-05-20T11:59:00Z", "eventResourceId": "/data/c",
        "id": "one", "partitions": None,
    },
    "POST /gc/run": {"process": "Sitehourly", "flush": False},
    "POST /jobs/acknowledge": {"jobs": [{"process": "Sitehourly", "timeperiod": "2015051800"}]},
    "POST /jobs/retry": {"process": "Sitehourly", "from": "2015051800", "to": "2015051802"},
    "POST /jobs/reprocess": {"process": "Sitehourly", "from": "2015051800", "to": "2015051802"},
    "POST /jobs/skip": {"jobs": [{"process": "Sitehourly", "timeperiod": "2015051800"}]},
    "POST /queues/dead/replay": {"seqs": [1]},
    "POST /runs/replay": {"schedule": "dead"},
    "POST /schedules": {**SCHEDULES[0], "name": "another", "arguments": {"a": 1}, "timeout": "5m"},
    "POST /schedules/preview": {
        "name": "x", "target": "https://a.example/", "payload": {"a": 1}, "headers": {"X-A": "b"},
        "trigger": "every 60", "constraints": [{"delay": "5m"}], "properties": {"a": "b"},
    },
    "POST /timetable/extend": {"from": "2015051600"},
    "PUT /boxes/{box}/processes/{name}": {"is_on": False},
    "PUT /schedules/{name}": {**SCHEDULES[4], "name": "hook", "group": "g", "priority": 1},
}  # fmt: skip
"""Bodies that nothing is wrong with, besides `reason` and `dry_run`."""


@pytest.fixture
def world(worlds, tmp_path, monkeypatch) -> SchedulerHarness:
    monkeypatch.setattr(event_effects, "PATIENCE", 0.001)
    return populate(worlds(a_populated_deployment()), tmp_path)


@pytest.fixture
def client(world, tmp_path) -> Client:
    """MX without what runs beside its handlers, so that nothing moves by itself."""
    return Client(create_app(Services.at(place_of(world, tmp_path))), HERE, base_url=BASE)


class Attack:
    """Sends, and judges each answer."""

    def __init__(self, world: SchedulerHarness, client: Client) -> None:
        self.world, self.client = world, client
        self.paths: dict[str, dict[str, Any]] = client.get("/api/openapi.json").json()["paths"]
        self.sent = 0
        self._turn = 0
        self.ids = {
            "units": world.store.units.find()[0][0].id,
            "runs": world.store.runs.find()[0][0].id,
            "operations": world.store.operations.find()[0][0].id,
        }

    def some(self, values: Sequence[Any]) -> Sequence[Any]:
        """A share of the values: each place gets its own, and neighbours together get all."""
        self._turn += 1
        return values[self._turn % SHARE :: SHARE]

    def operations(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        for path, operations in self.paths.items():
            for method, operation in operations.items():
                if path != ENDLESS:
                    yield method.upper(), path, operation

    def pages(self) -> list[str]:
        """Every page, and what else can be looked at besides the API."""
        spec = set(self.paths)
        found = {context.path for context in _contexts(self.client.app) if "GET" in context.methods}
        return sorted(found - spec)

    def address(self, path: str) -> str:
        """A path of something that is there."""
        names = {
            "processes": "Report",
            "schedules": "hook",
            "queues": "of-old",
            "timetable": "site",
        }
        noun = path.removeprefix(API).split("/")[1]
        id_ = self.ids["runs" if "/runs/{id" in path else noun] if "{id" in path else ""
        name = "Sitehourly" if noun in ("logs", "boxes") else names.get(noun, "x")
        given = {
            "process": "Sitehourly", "timeperiod": "2015051800", "tree": "site", "box": "box",
            "id": id_, "name": name, "token": "x",
        }  # fmt: skip
        return re.sub(r"\{(\w+)(?::\w+)?\}", lambda found: given[found[1]], path)

    def send(self, method: str, url: str, **more: Any) -> Any:
        """The answer, which has to be one; what was refused has changed nothing."""
        changes = method not in ("GET", "HEAD", "OPTIONS")
        before = dump(self.world) if changes else None
        answer = self.client.request(method, url, follow_redirects=False, **more)
        self.sent += 1
        told = (method, url[:200], str(more)[:300], answer.status_code, answer.text[:500])
        judge(answer, told)
        if changes and answer.status_code >= 400:
            assert dump(self.world) == before, told
        return answer

    def still_answers(self) -> None:
        """All lists and pages are as well as they were."""
        for path in [*self.paths, *self.pages()]:
            if path != ENDLESS and "get" in self.paths.get(path, {"get": 1}):
                answer = self.client.get(self.address(path))
                assert answer.status_code < 500 or path == UNWELL, (path, answer.text)


@pytest.fixture
def attack(world, client) -> Attack:
    return Attack(world, client)


def _contexts(app) -> list[Any]:
    return [
        context
        for context in iter_route_contexts(app.routes)
        if isinstance(context.original_route, APIRoute) and context.path not in OPEN
    ]


def judge(answer, told) -> None:
    """Whether an answer is one that MX may give."""
    status = answer.status_code
    assert status < 500 or (status == 503 and UNWELL in told[1]), told
    if status < 400:
        return
    assert not INSIDE.search(answer.text), told
    assert "x-evil" not in answer.headers, told
    if answer.headers["content-type"].startswith("text/html"):
        assert "<main" in answer.text, told
        assert "/api/" not in told[1], told
        return
    assert answer.headers["content-type"] == "application/problem+json", told
    problem = answer.json()
    assert set(problem) == MODEL, told
    assert (problem["status"], bool(problem["detail"])) == (status, True), told
    assert all(set(one) == {"where", "detail"} for one in problem["errors"]), told
    if status == 405:
        assert "OPTIONS" in answer.headers["allow"], told


def dump(world: SchedulerHarness) -> dict[str, list[Any]]:
    """All rows of the store but the kept answers, which are kept of refusals as well."""
    with world.store._database.reading() as connection:
        names = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        return {
            name: connection.execute(f'SELECT * FROM "{name}"').fetchall()
            for (name,) in names
            if name != "answer"
        }


def sound(method: str, path: str) -> dict[str, Any]:
    """A body for an operation that there is nothing to say against."""
    said = {} if path.endswith("/preview") else {"reason": "a test"}
    return {**said, **SOUND.get(f"{method} {path.removeprefix(API)}", {})}


def with_bodies(attack: Attack) -> list[tuple[str, str, str]]:
    """Method, path, and address of all that takes a body."""
    return [
        (method, path, attack.address(path))
        for method, path, operation in attack.operations()
        if "requestBody" in operation
    ]


def spoilt_paths(attack: Attack, path: str) -> Iterator[str]:
    for found in re.finditer(r"\{[^}]*\}", path):
        before, after = path[: found.start()], path[found.end() :]
        for segment in attack.some(SEGMENTS):
            yield attack.address(before + "\x01" + after).replace("\x01", segment)


# The table itself


def test_the_bodies_that_others_are_made_of_are_sound(attack):
    taking = with_bodies(attack)
    assert len(taking) == 27
    assert {f"{m} {p.removeprefix(API)}" for m, p, _ in taking} >= set(SOUND)
    for method, path, address in taking:
        body = sound(method, path)
        if not path.endswith("/preview"):
            body["dry_run"] = True
        answer = attack.send(method, address, json={k: v for k, v in body.items() if v is not None})
        assert answer.status_code in (200, 202, 404, 409), (method, path, answer.text)


def test_what_is_there_is_found(attack):
    for path in [*attack.paths, *attack.pages()]:
        if path != ENDLESS and "get" in attack.paths.get(path, {"get": 1}):
            answer = attack.client.get(attack.address(path), follow_redirects=False)
            assert answer.status_code in (200, 202, 303) or path == UNWELL, (path, answer.text)


# Addresses


def test_names_in_addresses_of_the_api(attack):
    for method, path, operation in attack.operations():
        body = {"json": sound(method, path)} if "requestBody" in operation else {}
        for url in spoilt_paths(attack, path):
            attack.send(method, url, **body)
    attack.still_answers()
    assert attack.sent > 1000 // SHARE


def test_names_in_addresses_of_pages(attack):
    for path in attack.pages():
        for url in spoilt_paths(attack, path):
            attack.send("GET", url, headers={"Accept": "text/html"})
            attack.send("GET", url)
    attack.still_answers()
    assert attack.sent > 300 // SHARE


# Queries


def test_queries_of_the_api(attack):
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


def test_queries_of_pages(attack):
    for context in _contexts(attack.client.app):
        if context.path not in attack.pages() or "GET" not in context.methods:
            continue
        url = attack.address(context.path)
        for field in context.dependant.query_params:
            for value in attack.some(VALUES):
                headers = {"Accept": "text/html"}
                attack.send("GET", f"{url}?{field.alias}={value}", headers=headers)
    attack.still_answers()
    assert attack.sent > 500 // SHARE


def test_cursors_of_other_lists(attack):
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


def test_bodies_that_are_none(attack):
    for method, path, url in with_bodies(attack):
        for kind, content in attack.some(BODIES):
            answer = attack.send(method, url, content=content, headers={"Content-Type": kind})
            assert answer.status_code >= 400, (method, path, kind, content[:50])
    attack.still_answers()


def test_bodies_with_one_field_that_is_wrong(attack):
    for method, path, url in with_bodies(attack):
        body = sound(method, path)
        for field in [name for name in body if name != "reason"]:
            for value in attack.some(SPOILT):
                content = written({**body, field: value})
                attack.send(method, url, content=content, headers={"Content-Type": JSON})
    attack.still_answers()
    assert attack.sent > 1000 // SHARE


def test_reasons_and_dry_runs_that_are_none(attack):
    for method, _, url in with_bodies(attack):
        for value in (None, 3, "x" * 1001, "\ud800", [], {}):
            content = written({"reason": value, "dry_run": value})
            answer = attack.send(method, url, content=content, headers={"Content-Type": JSON})
            assert answer.status_code == 422


def test_bodies_where_none_belongs(attack):
    for method, path, operation in attack.operations():
        if "requestBody" not in operation:
            attack.send(
                method, attack.address(path), content=b"[" * 1000, headers={"Content-Type": JSON}
            )
            attack.send(method, attack.address(path), content=b"x", headers={"Content-Type": "a/b"})


# Heads

HEADED = (
    "/jobs",
    "/jobs/skip",
    "/trees/{tree}",
    "/processes/{name}",
    "/schedules/{name}",
    "/gc/run",
)


def test_headers(attack):
    for method, path, operation in attack.operations():
        if path.removeprefix(API) not in HEADED:
            continue
        body = {"json": sound(method, path)} if "requestBody" in operation else {}
        for name, value in attack.some(HEADERS):
            attack.send(method, attack.address(path), headers={name: value}, **body)
    attack.still_answers()
    assert attack.sent >= len(HEADERS) * 9 // SHARE


def test_methods_that_nothing_has(attack):
    for path in [*attack.paths, *attack.pages()]:
        for method in ("TRACE", "BREW", "PROPFIND", "CONNECT", "X" * 5000):
            answer = attack.send(method, attack.address(path))
            assert answer.status_code == 405, (method, path)
        assert attack.send("OPTIONS", attack.address(path)).status_code == 204


# Asked twice


def test_a_key_that_is_used_again(attack):
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


def test_a_key_that_is_used_twice_at_once(attack):
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


# What comes by the wire

H = b"Host: localhost\r\nConnection: close\r\n"
POST = b"POST /api/v1/gc/run HTTP/1.1\r\n" + H + b"Content-Type: application/json\r\n"
DRY = b'{"dry_run": true}'
WIRE: dict[bytes, int] = {
    b"GET /api/v1/units/\xff\xfe HTTP/1.1\r\n" + H + b"\r\n": 400,
    b"GET /static/../../etc/passwd HTTP/1.1\r\n" + H + b"\r\n": 404,
    b"GET /static/%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\n" + H + b"\r\n": 404,
    b"GET http://localhost/api/v1/queues HTTP/1.1\r\n" + H + b"\r\n": 404,
    b"GET http://evil.example/api/v1/queues HTTP/1.1\r\n" + H + b"\r\n": 404,
    b"GET //evil.example/api/v1/queues HTTP/1.1\r\n" + H + b"\r\n": 404,
    b"GET api/v1/queues HTTP/1.1\r\n" + H + b"\r\n": 404,
    b"GET /api/v1/queues HTTP/1.1\r\n\r\n": 400,
    b"GET /api/v1/queues HTTP/1.1\r\n" + H + b"X : a\r\n\r\n": 400,
    b"GET /api/v1/queues HTTP/1.1\r\n" + H + b"X: " + b"a" * 20_000 + b"\r\n\r\n": 431,
    b"GET /api/v1/queues HTTP/1.1\r\n" + H + b"Host: evil.example\r\n\r\n": 400,
    b"TRACE /api/v1/queues HTTP/1.1\r\n" + H + b"\r\n": 405,
    b"BREW /api/v1/queues HTTP/1.1\r\n" + H + b"\r\n": 405,
    b"OPTIONS * HTTP/1.1\r\n" + H + b"\r\n": 404,
    b"CONNECT localhost:22 HTTP/1.1\r\n" + H + b"\r\n": 404,
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n": 400,
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n": 400,
    b"\x00\xff\xfe\r\n\r\n": 400,
    b"GET /api/v1/queues HTTP/1.1\r\n" + H + b"Upgrade: websocket\r\n\r\n": 200,
    b"GET /api/v1/queues HTTP/1.1\r\n" + H + b"Content-Length: 2\r\n\r\n{}": 415,
    POST + b"Content-Length: -1\r\n\r\n": 400,
    POST + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n": 400,
    POST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}": 400,
    POST + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n": 400,
    POST + b"Transfer-Encoding: gzip\r\n\r\n": 400,
    POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n": 400,
    POST + b"Transfer-Encoding: chunked\r\n\r\n11\r\n" + DRY + b"\r\n0\r\n\r\n": 200,
    POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n": 422,
    POST + b"Expect: 100-continue\r\nContent-Length: 17\r\n\r\n" + DRY: 100,
    POST + b"Expect: 200-maybe\r\nContent-Length: 17\r\n\r\n" + DRY: 200,
    POST + b"Idempotency-Key: \xff\r\nContent-Length: 17\r\n\r\n" + DRY: 422,
    POST + b"Content-Length: 17\r\n\r\n" + DRY + b"GET /\x00 garbage\r\n\r\n": 200,
}


@pytest.fixture
def port(world, tmp_path) -> Iterator[int]:
    with served(place_of(world, tmp_path)) as port:
        yield port


def test_what_is_no_http_or_nearly_none(port):
    for sent, expected in WIRE.items():
        answer = exchanged(port, sent)
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 %d " % expected), (sent[:120], answer[:300])
        assert not INSIDE.search(body.decode(errors="replace")), (sent[:120], body)
    alive = exchanged(port, b"GET /api/v1/livez HTTP/1.1\r\n" + H + b"\r\n")
    assert alive.startswith(b"HTTP/1.1 200 "), alive


def exchanged(port: int, sent: bytes) -> bytes:
    """All that is answered until the connection ends."""
    with socket.create_connection(("127.0.0.1", port), timeout=LIMIT) as connection:
        connection.sendall(sent)
        answer = b""
        try:
            while part := connection.recv(65536):
                answer += part
        except ConnectionResetError:  # the rest of what was sent was not wanted any more
            pass
        return answer
