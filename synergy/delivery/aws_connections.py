"""Connections of boto3's clients to addresses that were judged before.

boto3 has no option for this: the classes of urllib3, which open its connections, are replaced with
ones that resolve the name themselves. TLS still verifies the endpoint's name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from botocore.awsrequest import (
    AWSHTTPConnection,
    AWSHTTPConnectionPool,
    AWSHTTPSConnection,
    AWSHTTPSConnectionPool,
)
from urllib3.exceptions import HTTPError

from synergy.delivery.addresses import IpAddress

Allowed = Callable[[str, int], Sequence[IpAddress]]
Before = Callable[[], object]


def connect_to(client: Any, allowed: Allowed, before: Before) -> None:
    """Makes a client connect only to the addresses that `allowed` returns for its endpoint.

    `before` is called for each request, when it is connected and nothing of it was sent. What
    `allowed` and `before` raise becomes the `error` of botocore's HTTPClientError.
    """
    client._endpoint.http_session._manager.pool_classes_by_scheme = {
        "http": _pool(AWSHTTPConnectionPool, AWSHTTPConnection, allowed, before),
        "https": _pool(AWSHTTPSConnectionPool, AWSHTTPSConnection, allowed, before),
    }


def _pool(pool: Any, connection: Any, allowed: Allowed, before: Before) -> Any:
    class JudgedConnection(connection):  # type: ignore[misc]
        def _new_conn(self: Any) -> Any:
            name = self.host
            *others, last = map(str, allowed(name, self.port))
            try:
                for self.host in others:
                    with suppress(HTTPError):
                        return super()._new_conn()
                self.host = last
                return super()._new_conn()
            finally:
                self.host = name

        def request(self: Any, *arguments: Any, **more: Any) -> Any:
            if self.sock is None:
                self.connect()
            before()
            return super().request(*arguments, **more)

    return type(pool.__name__, (pool,), {"ConnectionCls": JudgedConnection})
