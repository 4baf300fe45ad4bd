"""Bodies and headers have limits, types and a minimal speed."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager

import pytest
from starlette.exceptions import HTTPException

from synergy.mx.protection import limits
from synergy.mx.protection.limits import MIB

pytestmark = pytest.mark.usefixtures("echo_routes")


# Sizes and types


def in_pieces(number):
    yield from (b"x" * 65536 for _ in range(number))


def test_a_body_has_a_limit_with_and_without_a_length(client):
    kind = {"Content-Type": "application/json"}
    at_most = client.post("/api/v1/size", content=b"x" * MIB, headers=kind)
    assert at_most.json() == {"size": MIB}
    assert client.post("/api/v1/size", content=b"x" * (MIB + 1), headers=kind).status_code == 413
    assert client.post("/api/v1/size", content=in_pieces(16), headers=kind).json() == {"size": MIB}
    answer = client.post("/api/v1/size", content=in_pieces(17), headers=kind)
    assert answer.status_code == 413
    assert "1,048,576 bytes" in answer.json()["detail"]


def test_a_schedule_may_be_larger(client):
    kind = {"Content-Type": "application/json"}
    whole = 17 * MIB
    for method in ("POST", "PUT"):
        sent = client.request(
            method, "/api/v1/schedules/a/size", content=b"x" * whole, headers=kind
        )
        assert sent.json() == {"size": whole}
    larger = client.post("/api/v1/schedules/a/size", content=b"x" * (whole + 1), headers=kind)
    assert larger.status_code == 413


def test_a_form_is_small(secured):
    client = secured.client()
    fields = {"name": "x" * 20_000, "password": "x"}
    assert client.post("/login", data=fields).status_code == 413


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "", "json"])
def test_bodies_of_the_api_are_json(client, kind):
    answer = client.post("/api/v1/size", content=b"{}", headers={"Content-Type": kind})
    assert answer.status_code == 415
    assert answer.json()["detail"].startswith("expected a body of type application/json")


def test_bodies_of_the_api_are_not_compressed(client):
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    assert client.post("/api/v1/size", content=b"{}", headers=headers).status_code == 415


def test_json_may_have_a_charset_and_an_empty_body_needs_no_type(client):
    headers = {"Content-Type": "application/json; charset=utf-8"}
    assert client.post("/api/v1/size", content=b"{}", headers=headers).status_code == 200
    assert client.post("/api/v1/size").json() == {"size": 0}


def test_headers_have_a_limit(client):
    assert client.get("/api/v1/long", params={"a": "x" * 8100}).status_code == 200
    assert client.get("/api/v1/long", params={"a": "x" * 9000}).status_code == 414
    assert client.get("/api/v1/long", headers={"X-A": "x" * 15_000}).status_code == 200
    assert client.get("/api/v1/long", headers={"X-A": "x" * 17_000}).status_code == 431


# Bodies


def test_a_body_declared_too_large_is_refused_at_once(client):
    headers = {"Content-Type": "application/json", "Content-Length": str(limits.MIB + 1)}
    assert client.post("/api/v1/events", content=b"{}", headers=headers).status_code == 413


class Line:
    """A client that sends `size` bytes `every` so many seconds, on a clock of its own."""

    def __init__(self, monkeypatch, size, every):
        self.now, self.size, self.every, self.taken = 0.0, size, every, 0
        monkeypatch.setattr(limits.anyio, "current_time", lambda: self.now)
        monkeypatch.setattr(limits.anyio, "fail_after", self.within)

    @contextmanager
    def within(self, seconds):
        if self.every > seconds:
            raise TimeoutError
        yield

    async def receive(self):
        self.now += self.every
        self.taken += self.size
        return {"type": "http.request", "body": b"x" * self.size, "more_body": True}


def read(line, size):
    """Reads a body of at least `size` bytes."""
    body = limits._LimitedBody(line.receive, 10 * limits.MIB, lambda _: None)

    async def whole():
        while line.taken < size:
            await body()

    asyncio.run(whole())


def test_a_slow_body_is_refused(monkeypatch):
    line = Line(monkeypatch, size=1, every=20)
    with pytest.raises(HTTPException) as caught:
        read(line, 100)
    assert caught.value.status_code == 408
    assert line.now == 20


def test_a_large_body_may_arrive_slowly(monkeypatch):
    line = Line(monkeypatch, size=8192, every=1)
    read(line, 2 * limits.MIB)
    assert line.now == 256
