"""HTTP with the provider: short answers in JSON, within seconds, and without redirects."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import Any, Final
from urllib.parse import urlsplit

import httpx

from synergy.mx.oidc.failure import unavailable

SECONDS: Final = 10.0  # within which a whole answer has to arrive
MOST_BYTES: Final = 256 * 1024  # the largest answer

Json = dict[str, Any]


def scheme_of(url: str) -> str:
    """The scheme of a URL by which a request can be sent, in lower case; "" for others."""
    with suppress(ValueError, httpx.InvalidURL):
        found = httpx.URL(url)
        if found.host:
            return found.scheme
    return ""


async def get(url: str) -> Json:
    """The object at a URL; raises SignOnFailed."""
    status, answer = await _send(httpx.Request("GET", url, headers=_headers()))
    if status != httpx.codes.OK:
        raise unavailable(f"{_place(url)} answered with status {status}")
    return answer


async def post(url: str, headers: Mapping[str, str], body: str) -> tuple[int, Json]:
    """Status and object of the answer to a form; raises SignOnFailed."""
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    return await _send(
        httpx.Request("POST", url, headers={**_headers(), **form, **headers}, content=body)
    )


def _headers() -> dict[str, str]:
    """Headers that ask for no compression, because `_send` limits the bytes that arrive."""
    return {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "synergy"}


async def _send(request: httpx.Request) -> tuple[int, Json]:
    place = _place(str(request.url))
    try:
        async with (
            asyncio.timeout(SECONDS),
            httpx.AsyncHTTPTransport(verify=_trusted()) as transport,
        ):
            response = await transport.handle_async_request(request)
            body = bytearray()
            async for part in response.aiter_raw():
                body += part
                if len(body) > MOST_BYTES:
                    raise unavailable(f"{place} answered with more than {MOST_BYTES:,} bytes")
    except TimeoutError:
        raise unavailable(f"{place} did not answer within {SECONDS:g} seconds") from None
    except (httpx.HTTPError, OSError) as error:
        raise unavailable(f"{place} cannot be reached: {error or type(error).__name__}") from error
    return response.status_code, _object(place, response.status_code, bytes(body))


@cache
def _trusted() -> ssl.SSLContext:
    """A context with httpx's certificate authorities and those of this system."""
    context = httpx.create_ssl_context(trust_env=False)
    context.load_default_certs()
    return context


def _object(place: str, status: int, body: bytes) -> Json:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise unavailable(f"{place} answered with status {status}, and no JSON object")
    return found


def _place(url: str) -> str:
    """A URL for the log, without its query."""
    return urlsplit(url)._replace(query="").geturl()
