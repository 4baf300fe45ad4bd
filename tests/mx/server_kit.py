"""MX as a server in a thread of the test."""

from __future__ import annotations

import http.client
import threading
from contextlib import closing, contextmanager

from synergy.mx.server import MX

LIMIT = 120.0  # seconds that a request or a shutdown may take


@contextmanager
def running(place):
    """A running MX and its port; it is stopped afterwards."""
    mx = MX(place)
    thread = threading.Thread(target=mx.start)
    thread.start()
    try:
        yield mx, port_of(mx)
    finally:
        place.stop.set()
        thread.join(LIMIT)
        assert not thread.is_alive()


def port_of(mx):
    return mx._listening.getsockname()[1]


def get(port, path="/api/openapi.json", **headers):
    """Status and body."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT)) as connection:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
