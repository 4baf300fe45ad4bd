"""Sends requests to webhooks, each to an address that was checked before.

The request goes to an address that was judged for this attempt (`resolver`), over a new or a kept
connection (`connections`), and once: a connection that ends without an answer may have taken it, so
that is a failed attempt. The Host header, and the name that the certificate must show, stay the
URL's. Headers are made in `headers`, signatures in `signature`.
"""

from __future__ import annotations

import asyncio
import email.utils
import logging
import os
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from http import HTTPStatus
from typing import cast

import httpx

from synergy.clock import Clock
from synergy.delivery import headers
from synergy.delivery.addresses import IpAddress
from synergy.delivery.connections import Connection, Connections, Endpoint
from synergy.delivery.options import Options
from synergy.delivery.request import KEPT, Request, Response, SendOutcome, failed, sent
from synergy.delivery.resolver import AddressNotFound, Blocked, Resolver
from synergy.delivery.target import Webhook, split_webhook

LONGEST_RETRY_AFTER_SECONDS = 3_600.0
_RETRY_AFTER_STATUSES = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)

# These loggers write each URL, with the secrets in its path and query.
logging.getLogger("httpx").setLevel(logging.WARNING)
logging.getLogger("httpcore").setLevel(logging.WARNING)


@dataclass(slots=True)
class _Received:
    """The part of the answer that has arrived."""

    status: int | None = None
    retry_after: float | None = None
    body: bytearray = field(default_factory=bytearray)


class Webhooks:
    """The transport to webhooks; for one event loop."""

    def __init__(self, options: Options, clock: Clock, resolver: Resolver) -> None:
        self._options = options
        self._clock = clock
        self._resolver = resolver
        self._connections = Connections(_trusted)
        self._limits = httpx.Timeout(options.read, connect=options.connect).as_dict()

    async def send(self, request: Request, report: Callable[[Response], None]) -> None:
        """Reports the answer once reading has ended; raises InvalidValue for invalid headers."""
        destination = request.target.destination
        received = _Received()
        try:
            async with asyncio.timeout(self._options.total):
                await self._post_to_any(request, received)
        except (TimeoutError, httpx.TimeoutException) as error:
            text = f"{destination}: {self._limit(error)}"
            report(_unfinished(received, text, SendOutcome.TIMEOUT))
        except Blocked as error:
            report(failed(f"{destination}: {error}", SendOutcome.BLOCKED, may_retry=False))
        except (httpx.HTTPError, AddressNotFound) as error:
            report(
                _unfinished(
                    received, f"{destination}: {_reason(error, received)}", SendOutcome.FAILED
                )
            )
        else:
            report(_response(destination, received))

    async def close(self) -> None:
        await self._connections.close()

    async def _post_to_any(self, request: Request, received: _Received) -> None:
        hook = split_webhook(request.target.url)
        metadata = headers.of_webhook(request, self._clock.now(), self._options.secrets)
        is_plaintext = hook.scheme == "http"
        addresses = await self._resolver.allowed(hook.host, hook.port, is_plaintext=is_plaintext)
        for address in addresses:
            try:
                await self._post_to(hook, address, request, metadata, received)
            except (httpx.ConnectError, httpx.ConnectTimeout):
                if address == addresses[-1]:
                    raise
            else:
                break

    async def _post_to(
        self,
        hook: Webhook,
        address: IpAddress,
        request: Request,
        metadata: Mapping[str, str],
        received: _Received,
    ) -> None:
        name = "" if hook.host == str(address) else hook.host
        endpoint = Endpoint(hook.scheme, address, hook.port, name)
        outgoing = httpx.Request(
            "POST",
            _url(endpoint, hook.path),
            headers={"Host": hook.authority, **metadata, "Content-Length": str(len(request.body))},
            stream=httpx.ByteStream(request.body),
            extensions={
                "timeout": self._limits,
                "trace": _before_sending(request),
                **({"sni_hostname": name} if name else {}),
            },
        )
        connection = self._connections.kept(endpoint) or self._connections.new(endpoint)
        await self._exchange(connection, outgoing, received)

    async def _exchange(
        self, connection: Connection, request: httpx.Request, received: _Received
    ) -> None:
        """Sends a request below httpx's client, which decompresses, keeps cookies, logs URLs."""
        async with self._connections.lent(connection):
            response = await connection.transport.handle_async_request(request)
            received.status = response.status_code
            received.retry_after = self._retry_after(response)
            try:
                connection.is_whole = await _read(response, received)
            finally:
                await response.aclose()

    def _retry_after(self, response: httpx.Response) -> float | None:
        if response.status_code not in _RETRY_AFTER_STATUSES:
            return None
        return seconds_of(response.headers.get("Retry-After", ""), self._clock.now())

    def _limit(self, error: BaseException) -> str:
        options = self._options
        match error:
            case httpx.ConnectTimeout():
                return f"no connection within {options.connect:g} s"
            case httpx.TimeoutException():
                return f"no data was sent or received for {options.read:g} s"
        return f"no whole answer within {options.total:g} s"


def seconds_of(retry_after: str, now: datetime) -> float | None:
    """How long `Retry-After` asks to wait, an hour at most; None if it is not understood."""
    retry_after = retry_after.strip()
    if retry_after.isascii() and retry_after.isdigit():
        return min(float(retry_after[:10]), LONGEST_RETRY_AFTER_SECONDS)
    try:
        until = email.utils.parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return min(max((until - now).total_seconds(), 0.0), LONGEST_RETRY_AFTER_SECONDS)


async def _read(response: httpx.Response, received: _Received) -> bool:
    """Reads the part of the answer that is kept; returns whether that is the whole answer."""
    stream = aiter(cast(httpx.AsyncByteStream, response.stream))
    async with aclosing(cast(AsyncGenerator[bytes, None], stream)) as pieces:
        async for piece in pieces:
            received.body += piece[: KEPT - len(received.body)]
            if len(received.body) >= KEPT:
                return False
    return True


def _before_sending(request: Request) -> Callable[[str, object], Awaitable[None]]:
    """Has httpcore ask whether the request is current once it is connected, before the headers."""

    async def trace(event: str, _: object) -> None:
        if event == "http11.send_request_headers.started":
            await request.assert_current()

    return trace


@lru_cache(1_000)
def _url(endpoint: Endpoint, path: str) -> httpx.URL:
    """The URL of a path, with the address as its host."""
    host = f"[{endpoint.address}]" if endpoint.address.version == 6 else str(endpoint.address)
    return httpx.URL(f"{endpoint.scheme}://{host}:{endpoint.port}{path}")


def _trusted() -> ssl.SSLContext:
    """A context with httpx's certificate authorities and those of this system."""
    context = httpx.create_ssl_context(trust_env=False)
    context.load_default_certs()
    return context


def _response(destination: str, received: _Received) -> Response:
    """The response for an answer that was read as far as it is kept."""
    status, body = received.status or 0, bytes(received.body)
    if 200 <= status < 300:
        return sent(status, body)
    return Response(
        ok=False,
        outcome=SendOutcome.REFUSED,
        may_retry=status != HTTPStatus.GONE,
        disables=status == HTTPStatus.GONE,
        retry_after=received.retry_after,
        status=status,
        body=body.decode(errors="replace"),
        error=f"{destination} answers {_status_text(status)}",
    )


def _unfinished(received: _Received, error: str, outcome: SendOutcome) -> Response:
    """The response for an answer that was cut off, whatever its status."""
    return failed(error, outcome, status=received.status, body=bytes(received.body))


def _status_text(status: int) -> str:
    try:
        name = f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        name = str(status)
    return f"{name}: redirects are not followed" if 300 <= status < 400 else name


def _reason(error: BaseException, received: _Received) -> str:
    text = str(error) or type(error).__name__
    if isinstance(error, httpx.ConnectError):
        return f"no connection: {_cause(error) or text}"
    if received.status is not None:
        return f"its answer ({received.status}) was cut off: {text}"
    return text


def _cause(error: BaseException) -> str:
    """The system's error text: httpx says only that all attempts failed."""
    inner: BaseException | None = error
    found = ""
    while inner is not None:
        if isinstance(inner, ssl.SSLError):
            return str(inner)
        if isinstance(inner, OSError) and inner.errno:
            found = os.strerror(inner.errno)
        inner = inner.__cause__ or inner.__context__
    return found
