"""A hanging destination delays only itself; each request gets exactly one answer."""

from __future__ import annotations

import threading
from collections import Counter

import pytest

from synergy.delivery.aws import THREADS
from synergy.delivery.fair_queue import FairQueue
from synergy.delivery.request import Response
from synergy.delivery.target import parse_target
from tests.delivery.conftest import MakeServices, Services, a_request
from tests.delivery.receivers import LIMIT, answers, hangs, receiving


def test_a_hanging_destination_does_not_delay_others(services_with: MakeServices) -> None:
    services = services_with(total=LIMIT, read=LIMIT, per_destination=4)
    with receiving(hangs) as hanging, receiving(answers()) as good:
        for number in range(40):
            services.post(a_request(f"http://127.0.0.1:{hanging.port}/", key=f"hanging {number}"))
        hanging.wait_for(4)
        for number in range(100):
            services.post(a_request(f"http://127.0.0.1:{good.port}/", key=f"good {number}"))
        answered = Counter(services.next() for _ in range(100))
        assert {key for key, _ in answered} == {f"good {number}" for number in range(100)}
        assert all(answer.ok for _, answer in answered)
        assert hanging.connections == 4
        assert services.is_quiet()
        hanging.gate.set()
        left = [services.next() for _ in range(40)]
        assert sorted(key for key, _ in left) == sorted(f"hanging {n}" for n in range(40))
        assert all(answer.ok for _, answer in left)


def test_hanging_name_lookups_delay_only_their_own_requests(services_with: MakeServices) -> None:
    """There are more requests than lookup threads, but few names: a name is looked up once."""
    services = services_with(total=6.0, per_destination=12)
    found = services.sender._resolver._resolve
    gate, stuck = threading.Event(), Counter[str]()

    def resolve(host: str, port: int) -> object:
        if host.startswith("stuck"):
            stuck[host] += 1
            gate.wait(LIMIT)
        return found(host, port)

    services.sender._resolver._resolve = resolve  # type: ignore[assignment]
    try:
        with receiving(answers()) as good:
            for number in range(120):
                services.post(a_request(f"http://stuck{number % 10}.test/", key="stuck"))
            services.post(a_request(f"http://localhost:{good.port}/", key="good"))
            answered = [services.next() for _ in range(121)]
        assert [answer.ok for key, answer in answered if key == "good"] == [True]
        assert {answer.outcome for key, answer in answered if key == "stuck"} == {"timeout"}
        assert set(stuck.values()) == {1}
    finally:
        gate.set()


def test_room_counts_free_places_of_a_destination_and_of_all(services_with: MakeServices) -> None:
    services = services_with(total=LIMIT, read=LIMIT, per_destination=3, most=4)
    with receiving(hangs) as hanging, receiving(hangs) as other:
        url, elsewhere = f"http://127.0.0.1:{hanging.port}/", f"http://127.0.0.1:{other.port}/"
        at, there = parse_target(url).destination, parse_target(elsewhere).destination
        assert (services.sender.room(at), services.sender.room(there)) == (
            7,
            7,
        )  # 4 of them would wait
        for number in range(3):
            services.post(a_request(url))
            hanging.wait_for(number + 1)
        assert (services.sender.room(at), services.sender.room(there)) == (
            4,
            1,
        )  # of four places in all
        services.post(a_request(url))
        assert (services.sender.room(at), services.sender.room(there)) == (3, 1)
        services.clock.advance(1.0)
        assert (services.sender.room(at), services.sender.room(there)) == (0, 1)  # it hangs
        for _ in range(9):
            services.post(a_request(url))
        assert services.sender.room(there) == 1
        assert services.sender.room("amqp://host:5672/") == 7
        assert services.sender.room("sqs:queue") == 3 + THREADS
        hanging.gate.set()
        for _ in range(13):
            services.next()
        services.sender.close(LIMIT)
        assert services.sender.room(at) == 0


def test_destinations_take_turns() -> None:
    queue = FairQueue[str](each=2, most=3)
    for item in ("a1", "a2", "a3", "a4", "b1", "b2"):
        queue.put(item[0], item)
    assert queue.take(9, 0.0) == [("a", "a1"), ("b", "b1"), ("a", "a2")]
    assert queue.take(9, 0.0) == []
    queue.release("a", 0.0)
    assert queue.take(9, 0.0) == [("b", "b2")]
    assert queue.room("c", 0.0) == 0
    queue.release("b", 0.0)
    assert queue.take(9, 0.0) == [("a", "a3")]
    assert queue.drain() == ["a4"]
    for key in ("a", "a", "b"):
        queue.release(key, 0.0)
    assert queue.take(9, 0.0) == []
    assert queue.room("a", 0.0) == 2
    assert queue.room("b", 0.0) == 2


def test_a_take_returns_no_more_requests_than_its_limit() -> None:
    queue = FairQueue[int](each=3, most=9)
    for item in range(5):
        queue.put("a", item)
    assert queue.take(2, 0.0) == [("a", 0), ("a", 1)]
    assert queue.take(2, 0.0) == [("a", 2)]
    assert queue.take(2, 0.0) == []


def test_requests_may_queue_ahead_while_their_destination_answers() -> None:
    queue = FairQueue[int](each=2, most=10, ahead=5)
    assert queue.room("a", 100.0) == 7
    for item in range(7):
        queue.put("a", item)
    assert queue.room("a", 100.0) == 0
    assert queue.take(9, 100.0) == [("a", 0), ("a", 1)]
    queue.release("a", 100.9)
    assert queue.take(9, 100.9) == [("a", 2)]
    assert queue.room("a", 101.8) == 1
    assert queue.room("a", 101.9) == 0  # nothing has ended for a second
    queue.release("a", 102.0)
    assert queue.room("a", 102.0) == 2
    assert queue.take(9, 102.0) == [("a", 3)]
    for _ in range(2):
        queue.release("a", 103.0)
    assert queue.take(9, 200.0) == [("a", 4), ("a", 5)]  # the destination answers again
    assert queue.room("a", 200.0) == 4


def test_requests_queued_for_hanging_destinations_leave_room_for_others() -> None:
    """Twenty requests wait in full queues; requests for other destinations still begin."""
    queue = FairQueue[int](each=1, most=12, ahead=5)
    for key in "abcd":
        for item in range(6):
            queue.put(key, item)
    assert len(queue.take(99, 0.0)) == 4
    assert (
        queue.room("e", 0.0) == 1
    )  # it may begin; none may wait, as the limit of twelve is reached
    for key in "efghijkl":
        queue.put(key, 0)
    assert queue.room("m", 0.0) == 0  # those eight have the last places
    assert len(queue.take(99, 0.0)) == 8
    queue.release("a", 5.0)
    assert queue.room("m", 5.0) == 0  # the next request of the same destination takes it
    assert queue.take(99, 5.0) == [("a", 1)]
    queue.release("l", 5.0)
    assert queue.room("m", 5.0) == 1


def test_closing_waits_for_running_requests(services_with: MakeServices) -> None:
    services = services_with(total=LIMIT, read=LIMIT)
    with receiving(hangs) as receiver:
        services.post(a_request(f"http://127.0.0.1:{receiver.port}/"))
        receiver.wait_for(1)
        closing = threading.Thread(target=services.sender.close, args=(LIMIT,))
        closing.start()
        while not services.sender._is_closed:
            closing.join(0.01)
        assert closing.is_alive()
        receiver.gate.set()
        closing.join(LIMIT)
        assert not closing.is_alive()
        assert services.next()[1].ok


def test_closing_stops_requests_that_do_not_end(services_with: MakeServices) -> None:
    services = services_with(total=LIMIT, read=LIMIT, per_destination=1)
    with receiving(hangs) as receiver:
        url = f"http://127.0.0.1:{receiver.port}/"
        services.post(a_request(url, key="under way"))
        services.post(a_request(url, key="waiting"))
        receiver.wait_for(1)
        services.sender.close(0.05)
        services.post(a_request(url, key="too late"))
        answered = dict(services.next() for _ in range(3))
        assert set(answered) == {"under way", "waiting", "too late"}
        for answer in answered.values():
            assert (answer.ok, answer.outcome, answer.may_retry) == (False, "stopped", True)
        services.sender.close(0.05)
        assert services.is_quiet()
        assert receiver.connections == 1


def test_an_unused_sender_can_be_closed(services: Services) -> None:
    services.sender.close(LIMIT)
    assert services.send("https://receiver.test/").outcome == "stopped"


def test_a_failing_callback_does_not_affect_other_requests(
    services: Services, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: Response) -> None:
        raise RuntimeError("callback")

    with receiving(answers()) as receiver:
        url = f"http://127.0.0.1:{receiver.port}/"
        services.sender.submit(a_request(url), fail)
        receiver.wait_for(1)
        assert services.send(url).ok
    assert "callback" in caplog.text


def test_callbacks_run_in_one_thread_and_may_submit(services: Services) -> None:
    threads: list[str] = []
    ended = threading.Event()
    with receiving(answers()) as receiver:
        again = a_request(f"http://127.0.0.1:{receiver.port}/")

        def done(_: Response) -> None:
            threads.append(threading.current_thread().name)
            if len(threads) < 20:
                services.sender.submit(again, done)
            else:
                ended.set()

        services.sender.submit(again, done)
        assert ended.wait(LIMIT)
    assert set(threads) == {"delivery"}
