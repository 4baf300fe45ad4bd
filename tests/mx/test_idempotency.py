"""Idempotency: a repeated request acts once and gets the same response."""

from __future__ import annotations

import pytest
from starlette.responses import Response

from synergy.errors import InvalidValue, StorageUnavailable
from synergy.mx.idempotency import LONGEST_BODY
from tests.mx.idempotency_kit import KEY, REPLAYED, Service, service, store

__all__ = ["service", "store"]  # fixtures


# Repeated requests


def test_the_same_request_acts_once_and_gets_the_same_response(service):
    first, again = service.post(), service.post()
    assert service.asked == [("/api/v1/x", b"{}")]
    assert (again.status_code, again.text) == (201, "answer 1") == (first.status_code, first.text)
    assert again.headers["location"] == "/x/1"
    assert again.headers["content-type"] == first.headers["content-type"]
    assert (REPLAYED in first.headers, again.headers[REPLAYED]) == (False, "true")
    assert "x-more" not in again.headers


def test_without_a_key_every_request_acts(service):
    assert {service.post(None).text, service.post(None).text} == {"answer 1", "answer 2"}


def test_keys_are_ignored_for_other_methods_and_pages(service):
    for _ in range(2):
        service.ask("PUT", {KEY: "k"})
        service.ask("GET", {KEY: "not one word"})
        service.post(path="/login")
    assert len(service.asked) == 6


def test_keys_of_unauthenticated_requests_are_ignored(service):
    service.post(who="?")
    service.post(who="?")
    assert len(service.asked) == 2


def test_a_response_is_repeated_for_a_day(service):
    service.post()
    service.clock.advance(24 * 3600 - 1)
    assert service.post().text == "answer 1"
    service.clock.advance(1)
    assert service.post(body='{"other": 1}').text == "answer 2"
    assert service.post(body='{"other": 1}').text == "answer 2"


def test_another_mx_gives_the_same_response(store, service):
    service.post()
    other = Service(store, "mx-2")
    assert other.post().text == "answer 1"
    assert other.asked == []


@pytest.mark.parametrize("body", [b"", bytes(range(256)), "é東京".encode()])
def test_bodies_are_repeated_byte_for_byte(service, body):
    service.act = lambda: Response(body, media_type="application/x")
    service.post()
    assert service.post().content == body


# Other requests


@pytest.mark.parametrize(
    "other",
    [
        {"body": '{"a": 2}'},
        {"body": ""},
        {"path": "/api/v1/y"},
        {"path": "/api/v1/x?a=1"},
        {"path": "/api/v1/x%7B", "body": "}"},
    ],
)
def test_another_request_under_the_same_key_is_refused(service, other):
    service.post()
    refused = service.post(**other)
    assert refused.status_code == 422
    assert refused.headers["content-type"] == "application/problem+json"
    assert "another request" in refused.json()["detail"]
    assert len(service.asked) == 1
    assert service.post().text == "answer 1"


def test_each_user_has_keys_of_their_own(service):
    asked = [("k", "jo"), ("K", "jo"), ("k", "mo"), ("k", ""), ("k2", "")]
    for n, (key, who) in enumerate(asked, 1):
        assert service.post(key, who=who, body=f"{n}").text == f"answer {n}"
    for n, (key, who) in enumerate(asked, 1):
        assert service.post(key, who=who, body=f"{n}").text == f"answer {n}"
    assert service.post("k", who="mo", body="1").status_code == 422


@pytest.mark.parametrize("key", ["", " ", "a b", "a\tb", "é", "k" * 256, "a\x7f"])
def test_an_invalid_key_is_refused(service, key):
    for keys in ([key.encode("latin-1")], ["a", "b"]):
        answer = service.ask("POST", [(KEY, each) for each in keys])
        assert answer.status_code == 422
        assert KEY in answer.json()["detail"]
    assert service.asked == []


@pytest.mark.parametrize("key", ["a", "k" * 255, "!\"#$%&'()*+,-./:;<=>?@[]^_`{|}~\\"])
def test_a_key_may_have_any_visible_character(service, key):
    assert [service.post(key).text for _ in range(2)] == ["answer 1", "answer 1"]


# Which responses are kept


@pytest.mark.parametrize("status", [200, 202, 204, 400, 404, 409, 422])
def test_final_responses_are_kept(service, status):
    service.act = lambda: Response(status_code=status)
    assert [service.post().status_code for _ in range(2)] == [status] * 2
    assert len(service.asked) == 1


@pytest.mark.parametrize("status", [401, 403, 408, 413, 415, 429, 500, 503])
def test_other_responses_leave_the_key_free(service, status):
    service.act = lambda: Response(status_code=status)
    assert service.post().status_code == status
    service.act = lambda: Response("now", 200)
    assert service.post(body="another").text == "now"
    assert len(service.asked) == 2


@pytest.mark.parametrize("error", [RuntimeError("x"), InvalidValue("x"), StorageUnavailable("x")])
def test_an_error_leaves_the_key_free(service, error):
    def fail() -> Response:
        raise error

    act, service.act = service.act, fail
    assert service.post().status_code in (422, 500, 503)
    service.act = act
    assert service.post().text == "answer 2"


def test_only_the_status_of_a_long_response_is_kept(service):
    service.act = lambda: Response("x" * LONGEST_BODY, 201, {"Location": "/x/1"})
    service.post("longest")
    assert len(service.post("longest").text) == LONGEST_BODY
    service.act = lambda: Response("x" * (LONGEST_BODY + 1), 201, {"Location": "/x/1"})
    assert len(service.post().text) == LONGEST_BODY + 1
    again = service.post()
    assert (again.status_code, again.headers[REPLAYED]) == (201, "true")
    assert again.headers["location"] == "/x/1"
    assert "too long to keep" in again.json()["detail"]
    assert len(service.asked) == 2


# In the application


EVENT = {"eventType": "FILE", "eventTimestamp": "2015-05-20T11:00:00Z", "eventResourceId": "/a"}


def test_an_event_sent_twice_is_stored_once(client, world):
    first, again = (
        client.post("/api/v1/events", json=EVENT, headers={KEY: "k-1"}) for _ in range(2)
    )
    assert first.status_code == again.status_code < 300
    assert first.json() == again.json()
    assert again.headers[REPLAYED] == "true"
    assert len(world.store.events.since(0, 10)) == 1
    assert again.headers["x-content-type-options"] == "nosniff"


def test_openapi_declares_the_key_of_every_post(client):
    paths = client.get("/api/openapi.json").json()["paths"]
    posts = [found["post"] for found in paths.values() if "post" in found]
    assert posts
    for post in posts:
        (key,) = (one for one in post["parameters"] if one["name"] == KEY)
        assert (key["in"], key.get("required", False)) == ("header", False)
        assert {"409", "422"} <= set(post["responses"])
        good = [one for status, one in post["responses"].items() if status.startswith("2")]
        assert good
        assert all("Idempotency-Replayed" in one["headers"] for one in good)
    others = [one for found in paths.values() for verb, one in found.items() if verb != "post"]
    assert not any(KEY in str(one) for one in others)
