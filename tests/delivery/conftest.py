"""Senders that may reach this machine, and helpers to await their answers."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from ipaddress import ip_address, ip_network
from socket import gaierror
from typing import Any

import pytest

from synergy.clock import SteppedClock
from synergy.delivery.addresses import AddressRules
from synergy.delivery.options import Options
from synergy.delivery.request import NotSent, Request, Response
from synergy.delivery.sender import Sender
from synergy.delivery.target import parse_target
from tests.delivery.receivers import LIMIT

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
HERE = (ip_network("127.0.0.0/8"), ip_network("::1/128"))

Names = dict[str, list[str]]


class Services:
    """A sender, and the answers that it has returned."""

    def __init__(self, names: Names | None = None, **options: Any) -> None:
        self.clock = SteppedClock(NOW)
        self.asked: list[str] = []
        self._names = names or {}
        self._answers: queue.SimpleQueue[tuple[str, Response]] = queue.SimpleQueue()
        settings = Options(**{"rules": AddressRules(HERE), **options})
        self.sender = Sender(settings, self.clock, resolve=self._resolve)

    def post(self, request: Request) -> None:
        self.sender.submit(request, lambda answer: self._answers.put((request.key, answer)))

    def next(self) -> tuple[str, Response]:
        """Waits for the next answer; returns the key of its request, and the answer."""
        return self._answers.get(timeout=LIMIT)

    def send(self, url: str, **more: Any) -> Response:
        self.post(a_request(url, **more))
        return self.next()[1]

    def is_quiet(self) -> bool:
        return self._answers.empty()

    def _resolve(self, host: str, port: int) -> list[Any]:
        """Resolves a name with the addresses of the test, or else with the system."""
        self.asked.append(host)
        if host in self._names:
            if not self._names[host]:
                raise gaierror(-2, "Name or service not known")
            return [ip_address(one) for one in self._names[host]]
        from synergy.delivery.addresses import resolve

        return list(resolve(host, port))


MakeServices = Callable[..., Services]


def a_request(url: str, **more: Any) -> Request:
    given: dict[str, Any] = {
        "target": parse_target(url),
        "body": b'{"a": 1}',
        "content_type": "",
        "headers": {},
        "key": "run-1",
        "scheduled_at": datetime(2026, 11, 21, 11, 59, tzinfo=UTC),
        "schedule": "nightly",
        "attempt": 1,
    }
    return Request(**(given | more))


async def is_lost() -> None:
    """The `assert_current` of a request that belongs to another agent by now."""
    raise NotSent("it is another agent's")


@pytest.fixture
def services_with() -> Iterator[MakeServices]:
    made: list[Services] = []

    def make(names: Names | None = None, **options: Any) -> Services:
        made.append(Services(names, **options))
        return made[-1]

    yield make
    for services in made:
        services.sender.close(0)


@pytest.fixture
def services(services_with: MakeServices) -> Services:
    return services_with()
