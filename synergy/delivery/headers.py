"""The metadata of a request: its sender, its scheduled time, and a key to recognise repetitions.

Webhooks get it as headers, with a `signature`; AMQP and the services of AWS get the same names as
headers and attributes of the message.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from urllib.parse import quote

from synergy import __version__
from synergy.delivery.request import JSON, Request
from synergy.delivery.signature import signature
from synergy.errors import InvalidValue

KEY = "Idempotency-Key"
SCHEDULED_TIME = "X-Synergy-Scheduled-Time"
SCHEDULE = "X-Synergy-Schedule"
ATTEMPT = "X-Synergy-Attempt"
USER_AGENT = f"synergy/{__version__}"
MOST = 50
LONGEST = 8_192

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}", re.ASCII)
_VALUE = re.compile(r"([!-~]([\t -~]*[!-~])?)?")
_TYPE = re.compile(r"[!#$&^_.+0-9A-Za-z-]+/[!#$&^_.+0-9A-Za-z-]+(\s*;[\t\x20-\x7e]*)?", re.ASCII)
_OURS = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "expect",
        "host",
        "idempotency-key",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "user-agent",
        "webhook-id",
        "webhook-signature",
        "webhook-timestamp",
    }
)
_SEEN = "".join(map(chr, range(0x21, 0x7F))).replace("%", "")


def check_headers(headers: Mapping[str, str]) -> None:
    """Raises InvalidValue if the user's headers cannot be sent, or are set by Synergy."""
    if len(headers) > MOST:
        raise InvalidValue(f"headers: {len(headers)} of them: the most is {MOST}")
    for name, value in headers.items():
        if not _NAME.fullmatch(name):
            raise InvalidValue(f"header {name[:40]!r}: not a name that a header can have")
        if name.lower() in _OURS or name.lower().startswith("x-synergy-"):
            raise InvalidValue(f"header {name}: Synergy sets it itself")
        if not _VALUE.fullmatch(value):
            raise InvalidValue(
                f"header {name}: its value must be one line of ASCII characters, without blanks "
                "before or after it"
            )
        if len(value) > LONGEST:
            raise InvalidValue(f"header {name}: longer than {LONGEST} characters")
    names = [name.lower() for name in headers]
    if len(set(names)) < len(names):
        raise InvalidValue("headers: a name is given twice, in different case")


def check_content_type(content_type: str) -> None:
    """Raises InvalidValue for an invalid content type; empty means JSON."""
    if content_type and not _TYPE.fullmatch(content_type):
        raise InvalidValue(f"content type {content_type[:40]!r}: expected, for example, {JSON}")


def about(request: Request) -> dict[str, str]:
    """The metadata for all kinds of receivers.

    Raises InvalidValue if the user's headers or content type cannot be sent.
    """
    check_headers(request.headers)
    check_content_type(request.content_type)
    return {
        KEY: plain(request.key),
        SCHEDULED_TIME: iso(request.scheduled_at),
        SCHEDULE: plain(request.schedule),
        ATTEMPT: str(request.attempt),
    }


def of_webhook(request: Request, now: datetime, secrets: Sequence[str]) -> dict[str, str]:
    """All headers except those that the connection sets; raises InvalidValue.

    The secrets of the request, if it has any, sign it in place of these `secrets`.
    """
    metadata = about(request)
    timestamp = str(int(now.timestamp()))
    signed = signature(request.secrets or secrets, metadata[KEY], timestamp, request.body)
    has_accept = any(name.lower() == "accept" for name in request.headers)
    return {
        **({} if has_accept else {"Accept": "*/*"}),
        **request.headers,
        **metadata,
        "Content-Type": request.content_type or JSON,
        "User-Agent": USER_AGENT,
        "Accept-Encoding": "identity",
        "webhook-id": metadata[KEY],
        "webhook-timestamp": timestamp,
        **({"webhook-signature": signed} if signed else {}),
    }


def plain(text: str) -> str:
    """The text for a header: blanks, %, and non-ASCII characters are percent-encoded."""
    return quote(text, safe=_SEEN)


def iso(instant: datetime) -> str:
    """The instant in UTC, such as `2026-11-21T12:00:00Z`."""
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")
