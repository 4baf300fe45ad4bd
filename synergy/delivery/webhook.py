"""Requests to webhooks, each to an address that was looked at before.

For each attempt the name is resolved once. All of its addresses are judged (`addresses`), and the
request goes to one of those very addresses, over a new connection or one that was kept
(`connections`). So a name that resolves to something else a moment later gains nothing; the Host
header, and the name that the certificate must show, stay the URL's.
"""

from __future__ import annotations

import asyncio
import email.utils
import logging
import os
import ssl
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from http import HTTPStatus
from ipaddress import ip_address
from typing import cast

import httpx

from synergy.clock import Clock
from synergy.delivery import headers
from synergy.delivery.addresses import IpAddress, refusal
from synergy.delivery.connections import Connection, Connections, Place
from synergy.delivery.options import Options
from synergy.delivery.request import KEPT, Request, Response, SendOutcome, failed, sent
from synergy.delivery.target import Webhook, split_webhook
from synergy.delivery.thread_pool import ThreadPool

Resolve = Callable[[str, int], Sequence[IpAddress]]

MOST_ADDRESSES = 4
RESOLVERS = 64
LONGEST_WISH = 3_600.0  # of Retry-After
_WISHES = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)

# They log each URL, with the secrets in its path and query.
logging.getLogger("httpx").setLevel(logging.WARNING)
logging.getLogger("httpcore").setLevel(logging.WARNING)


@dataclass(slots=True)
class _Heard:
    """What has come of the answer so far."""

    status: int | None = None
    wish: float | None = None
    body: bytearray = field(default_factory=bytearray)


class Webhooks:
    """To be used in one event loop."""

    def __init__(self, options: Options, clock: Clock, resolve: Resolve) -> None:
        self._options = options
        self._clock = clock
        self._resolve = resolve
        self._resolvers = ThreadPool("delivery-names", RESOLVERS)
        self._lookups: dict[tuple[str, int], asyncio.Future[Sequence[IpAddress]]] = {}
        self._connections = Connections(_trusted)
        self._limits = httpx.Timeout(options.read, connect=options.connect).as_dict()

    async def send(self, request: Request, tell: Callable[[Response], None]) -> None:
        """Tells the answer once it is not listened to any more; raises InvalidValue for headers."""
        place = request.target.destination
        heard = _Heard()
        try:
            async with asyncio.timeout(self._options.total):
                await self._carry(request, heard)
        except (TimeoutError, httpx.TimeoutException) as error:
            text = f"{place}: {self._limit(error)}"
            tell(_unfinished(heard, text, SendOutcome.TIMEOUT))
        except _Blocked as error:
            tell(failed(f"{place}: {error}", SendOutcome.BLOCKED, may_retry=False))
        except (httpx.HTTPError, _NotFound) as error:
            tell(_unfinished(heard, f"{place}: {_words(error, heard)}", SendOutcome.FAILED))
        else:
            tell(_judged(place, heard))

    async def close(self) -> None:
        self._resolvers.close()
        await self._connections.close()

    async def _carry(self, request: Request, heard: _Heard) -> None:
        hook = split_webhook(request.target.url)
        told = headers.of_webhook(request, self._clock.now(), self._options.secrets)
        addresses = await self._addresses(hook)
        if what := refusal(addresses, self._options.allowed_networks):
            raise _Blocked(f"{what}: not allowed")
        tried = addresses[:MOST_ADDRESSES]
        for address in tried:
            try:
                await self._post(hook, address, request.body, told, heard)
            except (httpx.ConnectError, httpx.ConnectTimeout):
                if address == tried[-1]:
                    raise
            else:
                break

    async def _addresses(self, hook: Webhook) -> Sequence[IpAddress]:
        """Those of its host; who asks while the same look-up is under way shares it."""
        try:
            return [ip_address(hook.host)]
        except ValueError:
            pass
        key = (hook.host, hook.port)
        lookup = self._lookups.get(key)
        if lookup is None:
            lookup = self._lookups[key] = self._resolvers.run(lambda: self._resolve(*key))
            lookup.add_done_callback(lambda done: self._looked_up(key, done))
        try:
            found = await asyncio.shield(lookup)
        except (OSError, UnicodeError) as error:
            why = getattr(error, "strerror", None) or error  # without its number
            raise _NotFound(f"its name is not found: {why}") from error
        if not found:
            raise _NotFound("its name has no address")
        return found

    def _looked_up(self, key: tuple[str, int], done: asyncio.Future[Sequence[IpAddress]]) -> None:
        del self._lookups[key]
        if not done.cancelled():
            done.exception()  # seen, also where everybody who waited has gone

    async def _post(
        self,
        hook: Webhook,
        address: IpAddress,
        body: bytes,
        told: Mapping[str, str],
        heard: _Heard,
    ) -> None:
        name = "" if hook.host == str(address) else hook.host
        place = Place(hook.scheme, address, hook.port, name)
        request = httpx.Request(
            "POST",
            _url(place, hook.path),
            headers={"Host": hook.authority, **told, "Content-Length": str(len(body))},
            stream=httpx.ByteStream(body),
            extensions={"timeout": self._limits, **({"sni_hostname": name} if name else {})},
        )
        kept = self._connections.kept(place)
        if kept is None or not await self._is_taken(kept, request, heard):
            await self._exchange(self._connections.new(place), request, heard)

    async def _is_taken(self, kept: Connection, request: httpx.Request, heard: _Heard) -> bool:
        """Whether it goes over a kept connection, whose other end may just have hung up."""
        try:
            await self._exchange(kept, request, heard)
        except (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError):
            if heard.status is not None:
                raise
            return False
        return True

    async def _exchange(
        self, connection: Connection, request: httpx.Request, heard: _Heard
    ) -> None:
        """Below httpx's client, which would undo compression, keep cookies, and log URLs."""
        async with self._connections.lent(connection):
            response = await connection.transport.handle_async_request(request)
            heard.status = response.status_code
            heard.wish = self._wish(response)
            try:
                connection.is_whole = await _read(response, heard)
            finally:
                await response.aclose()

    def _wish(self, response: httpx.Response) -> float | None:
        if response.status_code not in _WISHES:
            return None
        return seconds_of(response.headers.get("Retry-After", ""), self._clock.now())

    def _limit(self, error: BaseException) -> str:
        options = self._options
        match error:
            case httpx.ConnectTimeout():
                return f"no connection within {options.connect:g} s"
            case httpx.TimeoutException():
                return f"it took or said nothing for {options.read:g} s"
        return f"no whole answer within {options.total:g} s"


class _NotFound(Exception):
    """There is nowhere to connect to."""


class _Blocked(Exception):
    """The address is not one that may be sent to."""


def seconds_of(wish: str, now: datetime) -> float | None:
    """How long `Retry-After` asks to wait, an hour at most; None if it is not understood."""
    wish = wish.strip()
    if wish.isascii() and wish.isdigit():
        return min(float(wish[:10]), LONGEST_WISH)
    try:
        until = email.utils.parsedate_to_datetime(wish)
    except ValueError:
        return None
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return min(max((until - now).total_seconds(), 0.0), LONGEST_WISH)


async def _read(response: httpx.Response, heard: _Heard) -> bool:
    """As much of the answer as is kept; whether that is all of it."""
    stream = aiter(cast(httpx.AsyncByteStream, response.stream))
    async with aclosing(cast(AsyncGenerator[bytes, None], stream)) as pieces:
        async for piece in pieces:
            heard.body += piece[: KEPT - len(heard.body)]
            if len(heard.body) >= KEPT:
                return False
    return True


@lru_cache(1_000)
def _url(place: Place, path: str) -> httpx.URL:
    """With the address for its host."""
    host = f"[{place.address}]" if place.address.version == 6 else str(place.address)
    return httpx.URL(f"{place.scheme}://{host}:{place.port}{path}")


def _trusted() -> ssl.SSLContext:
    """Whom httpx trusts, and whom this system does: its administrator may know more of them."""
    context = httpx.create_ssl_context(trust_env=False)
    context.load_default_certs()
    return context


def _judged(place: str, heard: _Heard) -> Response:
    """The answer is there, or as much of it as is wanted."""
    status, body = heard.status or 0, bytes(heard.body)
    if 200 <= status < 300:
        return sent(status, body)
    return Response(
        ok=False,
        outcome=SendOutcome.REFUSED,
        may_retry=status != HTTPStatus.GONE,
        disables=status == HTTPStatus.GONE,
        retry_after=heard.wish,
        status=status,
        body=body.decode(errors="replace"),
        error=f"{place} answers {_named(status)}",
    )


def _unfinished(heard: _Heard, error: str, outcome: SendOutcome) -> Response:
    """Whatever its status: an answer that was cut off may be that of a receiver that died."""
    return failed(error, outcome, status=heard.status, body=bytes(heard.body))


def _named(status: int) -> str:
    try:
        name = f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        name = str(status)
    return f"{name}: redirects are not followed" if 300 <= status < 400 else name


def _words(error: BaseException, heard: _Heard) -> str:
    text = str(error) or type(error).__name__
    if isinstance(error, httpx.ConnectError):
        return f"no connection: {_cause(error) or text}"
    if heard.status is not None:
        return f"its answer ({heard.status}) was cut off: {text}"
    return text


def _cause(error: BaseException) -> str:
    """What the system said: httpx says only that all attempts failed."""
    inner: BaseException | None = error
    found = ""
    while inner is not None:
        if isinstance(inner, ssl.SSLError):
            return str(inner)
        if isinstance(inner, OSError) and inner.errno:
            found = os.strerror(inner.errno)
        inner = inner.__cause__ or inner.__context__
    return found
