"""Sends hostile requests to every path of MX and checks the responses; used by `test_fuzz.py`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from fastapi.routing import APIRoute, iter_route_contexts

from synergy.mx.accounts.authenticator import OPEN
from tests.mx.asking import Client
from tests.mx.hostile import SEGMENTS
from tests.mx.populated import SCHEDULES
from tests.seeds import seeds
from tests.service.scheduler_harness import SchedulerHarness

API = "/api/v1"


ENDLESS = f"{API}/stream"


SHARE = 1 if len(seeds(1)) > 1 else 5  # each place receives one in so many of the hostile values


UNWELL = f"{API}/readyz"  # responds 503 without a scheduler, as here
RETURN = "/login/oidc/callback"  # responds 404 without a provider, as here


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
    "POST /schedules/{name}/backfill": {
        "from": "2015-05-18T00:00:00Z", "to": "2015-05-18T02:00:00Z",
    },
    "POST /schedules/preview": {
        "name": "x", "target": "https://a.example/", "payload": {"a": 1}, "headers": {"X-A": "b"},
        "trigger": "every 60", "constraints": [{"delay": "5m"}], "properties": {"a": "b"},
    },
    "POST /timetable/extend": {"from": "2015051600"},
    "PUT /boxes/{box}/processes/{name}": {"is_on": False},
    "PUT /schedules/{name}": {**SCHEDULES[4], "name": "hook", "group": "g", "priority": 1},
}  # fmt: skip


"""Valid bodies, without `reason` and `dry_run`."""


class Attack:
    """Sends requests, and checks each response."""

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
        """Some of the values; successive calls return others, and together all."""
        self._turn += 1
        return values[self._turn % SHARE :: SHARE]

    def operations(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        for path, operations in self.paths.items():
            for method, operation in operations.items():
                if path != ENDLESS:
                    yield method.upper(), path, operation

    def pages(self) -> list[str]:
        """Every path of GET outside of the API."""
        spec = set(self.paths)
        found = {context.path for context in contexts(self.client.app) if "GET" in context.methods}
        return sorted(found - spec)

    def address(self, path: str) -> str:
        """The path of an existing thing."""
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
        """The response; it must be a valid one, and a refused request must change nothing."""
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
        """All lists and pages still respond."""
        for path in [*self.paths, *self.pages()]:
            if path != ENDLESS and "get" in self.paths.get(path, {"get": 1}):
                answer = self.client.get(self.address(path))
                assert answer.status_code < 500 or path == UNWELL, (path, answer.text)


def contexts(app) -> list[Any]:
    return [
        context
        for context in iter_route_contexts(app.routes)
        if isinstance(context.original_route, APIRoute) and context.path not in OPEN
    ]


def judge(answer, told) -> None:
    """Whether MX may give this response."""
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
    """All rows of the store except kept answers, which refused requests have too."""
    with world.store._database.reading() as connection:
        names = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        return {
            name: connection.execute(f'SELECT * FROM "{name}"').fetchall()
            for (name,) in names
            if name != "answer"
        }


def sound(method: str, path: str) -> dict[str, Any]:
    """A valid body for an operation."""
    said = {} if path.endswith("/preview") else {"reason": "a test"}
    return {**said, **SOUND.get(f"{method} {path.removeprefix(API)}", {})}


def with_bodies(attack: Attack) -> list[tuple[str, str, str]]:
    """Method, path and address of every operation with a body."""
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
