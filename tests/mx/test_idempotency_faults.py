"""Idempotency keys while requests overlap, processes die, or the store is unavailable."""

from __future__ import annotations

import threading
from contextlib import closing

import pytest
from starlette.responses import Response

from synergy.errors import StorageUnavailable
from synergy.storage.protocol import Store
from tests.contract.concurrency import in_threads, open_store
from tests.mx.idempotency_kit import REPLAYED, Service, service, store
from tests.mx.operations_kit import of_a_dead_process
from tests.service.faults import Died, FaultyStore

__all__ = ["service", "store"]  # fixtures


# Concurrent requests, and requests after a crash


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
    """Leaves a key whose owner died during the action."""
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


def test_a_late_response_does_not_overwrite_the_kept_one(store, service):
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
def test_after_a_crash_at_any_call_the_next_mx_responds(store, call, is_late):
    """The first call of the store takes the key, the second keeps the response."""
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


def test_without_the_store_no_action_happens(store):
    service = Service(FaultyStore(store, 1, StorageUnavailable))
    assert service.post().status_code == 503
    assert service.asked == []
    assert service.post().text == "answer 1"


class Away:
    """A store whose kept answers are unavailable while `is_away`."""

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
    """Afterwards a finished action is not repeated, and an unfinished one can be."""
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
