"""What is asked twice under one key is done once, and answered the same again."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime

import pytest
from httpx2 import ASGITransport, AsyncClient
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from synergy.clock import SteppedClock
from synergy.commands.idempotency import KeptAnswers
from synergy.errors import InvalidValue, StorageUnavailable
from synergy.model.retention import DEFAULT
from synergy.mx.access import Person
from synergy.mx.accounts.roles import Role
from synergy.mx.error_responses import ErrorMiddleware
from synergy.mx.idempotency import LONGEST_BODY, Idempotency
from synergy.storage.protocol import Store
from tests.contract.concurrency import in_threads, open_store
from tests.mx.operations_kit import of_a_dead_process
from tests.service.faults import Died, FaultyStore

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
KEY = "Idempotency-Key"
REPLAYED = "idempotency-replayed"

Headers = dict[str, str] | list[tuple[str, str | bytes]]


class Service:
    """Acts, and counts how often. What `act` returns, or raises, is its answer."""

    def __init__(self, store: Store, owner: str = "mx-1") -> None:
        self.asked: list[tuple[str, bytes]] = []
        self.act: Callable[[], Response] = lambda: Response(
            f"answer {len(self.asked)}", 201, {"Location": "/x/1", "X-More": "1"}, "text/plain"
        )
        self.clock = SteppedClock(NOW)
        self._over(store, owner)

    def _over(self, store: Store, owner: str) -> None:
        inner = Idempotency(self._answer, KeptAnswers(store, owner, DEFAULT.answers), self.clock)
        self.transport = ASGITransport(ErrorMiddleware(_Identity(inner)))

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        self.asked.append((request.url.path, await request.body()))
        await self.act()(scope, receive, send)

    def ask(self, method: str, headers: Headers, body: str = "", path: str = "/api/v1/x"):
        """In a loop of its own: what the service dies of comes out, and many may ask at once."""

        async def asked():
            async with AsyncClient(transport=self.transport, base_url="http://localhost") as client:
                return await client.request(method, path, content=body, headers=headers)

        return asyncio.run(asked())

    def post(self, key: str | None = "k", path: str = "/api/v1/x", body: str = "{}", who: str = ""):
        headers = {"X-Who": who} if key is None else {KEY: key, "X-Who": who}
        return self.ask("POST", headers, body, path)


class _Identity:
    """Everybody is who he says he is; `?` says nothing."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        name = request.headers.get("x-who", "")
        request.state.person = None if name == "?" else Person(name, Role.OPERATOR)
        await self.app(scope, receive, send)


@pytest.fixture(params=["sqlite::memory:", "mongomock:"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    with closing(open_store(request.param)) as store:
        yield store


@pytest.fixture
def service(store: Store) -> Service:
    return Service(store)


# Again


def test_the_same_request_is_acted_on_once_and_answered_the_same(service):
    first, again = service.post(), service.post()
    assert service.asked == [("/api/v1/x", b"{}")]
    assert (again.status_code, again.text) == (201, "answer 1") == (first.status_code, first.text)
    assert again.headers["location"] == "/x/1"
    assert again.headers["content-type"] == first.headers["content-type"]
    assert (REPLAYED in first.headers, again.headers[REPLAYED]) == (False, "true")
    assert "x-more" not in again.headers


def test_without_a_key_every_request_acts(service):
    assert {service.post(None).text, service.post(None).text} == {"answer 1", "answer 2"}


def test_other_methods_and_pages_have_no_keys(service):
    for _ in range(2):
        service.ask("PUT", {KEY: "k"})
        service.ask("GET", {KEY: "not one word"})
        service.post(path="/login")
    assert len(service.asked) == 6


def test_unauthenticated_requests_have_no_keys(service):
    service.post(who="?")
    service.post(who="?")
    assert len(service.asked) == 2


def test_an_answer_is_given_again_for_a_day(service):
    service.post()
    service.clock.advance(24 * 3600 - 1)
    assert service.post().text == "answer 1"
    service.clock.advance(1)
    assert service.post(body='{"other": 1}').text == "answer 2"
    assert service.post(body='{"other": 1}').text == "answer 2"


def test_another_mx_gives_the_same_answer(store, service):
    service.post()
    other = Service(store, "mx-2")
    assert other.post().text == "answer 1"
    assert other.asked == []


@pytest.mark.parametrize("body", [b"", bytes(range(256)), "é東京".encode()])
def test_bodies_are_given_again_byte_for_byte(service, body):
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
    answer = service.ask("POST", [(KEY, key.encode("latin-1"))])
    assert answer.status_code == 422
    assert KEY in answer.json()["detail"]
    assert service.asked == []


@pytest.mark.parametrize("key", ["a", "k" * 255, "!\"#$%&'()*+,-./:;<=>?@[]^_`{|}~\\"])
def test_visible_characters_make_a_key(service, key):
    assert [service.post(key).text for _ in range(2)] == ["answer 1", "answer 1"]


def test_two_keys_are_refused(service):
    answer = service.ask("POST", [(KEY, "a"), (KEY, "b")])
    assert answer.status_code == 422


# What is not kept


@pytest.mark.parametrize("status", [200, 202, 204, 400, 404, 409, 422])
def test_final_answers_are_kept(service, status):
    service.act = lambda: Response(status_code=status)
    assert [service.post().status_code for _ in range(2)] == [status] * 2
    assert len(service.asked) == 1


@pytest.mark.parametrize("status", [401, 403, 408, 413, 415, 429, 500, 503])
def test_other_answers_leave_the_key_free(service, status):
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


def test_only_the_status_of_a_long_answer_is_kept(service):
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


# At once, and after a death


def test_the_same_request_waits_while_the_first_acts(service):
    has_begun, may_end = threading.Event(), threading.Event()

    def act() -> Response:
        has_begun.set()
        assert may_end.wait(30)
        return Response("done")

    service.act = act
    found: list[Response] = []
    thread = threading.Thread(target=lambda: found.append(service.post()))
    thread.start()
    assert has_begun.wait(30)
    put_off, other = service.post(), service.post(body="other")
    may_end.set()
    thread.join()
    assert (put_off.status_code, put_off.headers["retry-after"]) == (409, "1")
    assert other.status_code == 422
    assert found[0].text == service.post().text == "done"
    assert len(service.asked) == 1


def test_one_of_many_concurrent_requests_acts(tmp_path):
    with closing(open_store(f"sqlite:{tmp_path / 'synergy.db'}")) as store:
        service = Service(store)
        answers = in_threads(8, lambda _: service.post())
        assert len(service.asked) == 1
        assert {answer.status_code for answer in answers} <= {201, 409}
        assert sum(REPLAYED not in a.headers for a in answers if a.status_code == 201) == 1


def begin(store: Store, owner: str, key: str = "k") -> str:
    """Somebody began to act on what `Service.post` asks, and is heard of no more."""
    service = Service(store, owner)

    def die() -> Response:
        raise Died

    service.act = die
    with pytest.raises(Died):
        service.post(key)
    return key


def test_the_key_of_a_dead_process_is_taken_over(store, service):
    begin(store, of_a_dead_process())
    assert service.post(body="other").status_code == 422
    assert [service.post().text for _ in range(2)] == ["answer 1", "answer 1"]


def test_the_key_of_another_host_is_taken_over_after_ten_minutes(store, service):
    begin(store, "elsewhere")
    service.clock.advance(599)
    assert service.post().status_code == 409
    service.clock.advance(1)
    assert service.post().text == "answer 1"


def test_a_late_answer_does_not_overwrite_the_kept_one(store, service):
    other = Service(store, "mx-2")
    other.clock.advance(600)

    def dawdle() -> Response:
        (answer,) = in_threads(1, lambda _: other.post())
        assert answer.text == "answer 1"
        return Response("late")

    service.act = dawdle
    assert service.post().text == "late"
    assert service.post().text == "answer 1"


@pytest.mark.parametrize("is_late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("call", [1, 2])
def test_the_next_mx_answers_after_a_crash_at_any_call(store, call, is_late):
    """Within the first call of the store it begins, within the second it keeps."""
    faulty = FaultyStore(store, call, Died)
    faulty.is_late = is_late
    first = Service(faulty, of_a_dead_process())
    with pytest.raises(Died):
        first.post()
    other = Service(store, "mx-2")
    other.act = lambda: Response("answer of the other")
    is_kept = (call, is_late) == (2, True)
    assert other.post().text == ("answer 1" if is_kept else "answer of the other")
    assert len(first.asked) + len(other.asked) == (2 if (call, is_late) == (2, False) else 1)


def test_without_the_store_nothing_is_done(store):
    service = Service(FaultyStore(store, 1, StorageUnavailable))
    assert service.post().status_code == 503
    assert service.asked == []
    assert service.post().text == "answer 1"


class Away:
    """A store whose answers cannot be had while it is `away`."""

    def __init__(self, store: Store) -> None:
        self._store, self._answers, self.is_away = store, store.answers, False

    @property
    def answers(self) -> object:
        return self

    def __getattr__(self, name: str) -> object:
        def asked(*given: object) -> object:
            if self.is_away:
                raise StorageUnavailable("it is away")
            return getattr(self._answers, name)(*given)

        return asked


@pytest.mark.parametrize("is_acted", [True, False])
def test_a_store_lost_during_the_action_locks_no_key(store, is_acted):
    """What was done is not done again, and what was not done can be, as soon as it is back."""
    away = Away(store)
    service = Service(away)

    def act() -> Response:
        away.is_away = True
        if not is_acted:
            raise StorageUnavailable("it is away")
        return Response("done")

    service.act = act
    assert service.post().status_code == (200 if is_acted else 503)
    assert service.post().status_code == 503
    away.is_away = False
    service.act = lambda: Response("done at last")
    assert service.post().text == ("done" if is_acted else "done at last")
    assert len(service.asked) == (1 if is_acted else 2)


# In the application


EVENT = {"eventType": "FILE", "eventTimestamp": "2026-11-21T12:00:00Z", "eventResourceId": "/a"}


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
