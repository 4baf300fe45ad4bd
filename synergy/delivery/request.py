"""What is sent, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from synergy.delivery.target import Target

JSON = "application/json"
KEPT = 4_096
"""So many bytes of an answer are read and kept."""

PASSING = frozenset({408, 425, 429})
"""Statuses of the 4xx that say nothing against the request: it may be sent again at any time."""


class SendOutcome(StrEnum):
    """What became of an attempt; a label of metrics, so the set is closed."""

    SENT = "sent"  # taken by the receiver
    REFUSED = "refused"  # answered, but not with success
    FAILED = "failed"  # no whole answer: not connected, cut off; or it cannot be sent at all
    TIMEOUT = "timeout"
    BLOCKED = "blocked"  # not sent: it would go to an address that is not allowed
    STOPPED = "stopped"  # the sender was closed; it may or may not have arrived


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One attempt to deliver one run of a schedule.

    `key` is the same for all attempts of a run, so that a receiver can tell them; `attempt`
    counts from 1. `headers` are the user's own. An empty `content_type` means JSON.
    """

    target: Target
    body: bytes = field(repr=False)
    content_type: str
    headers: Mapping[str, str] = field(repr=False)
    key: str
    scheduled_at: datetime
    schedule: str
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What became of one attempt.

    `retry_after`: seconds that the receiver wants to be left alone. `status`: of HTTP, also
    where an answer was cut off behind it. `body`: the first 4 KiB of what was answered.
    `error`: why it is not `ok`, without secrets. `disables`: nothing is ever to be sent there
    again.
    """

    ok: bool
    outcome: str
    may_retry: bool
    retry_after: float | None = None
    status: int | None = None
    body: str = ""
    error: str = ""
    seconds: float = 0.0
    disables: bool = False

    @property
    def is_lasting(self) -> bool:
        """Another attempt is likely to be answered the same: three are enough."""
        return self.status is not None and 300 <= self.status < 500 and self.status not in PASSING


def sent(status: int | None = None, body: bytes = b"") -> Response:
    """The receiver has it."""
    return Response(
        ok=True, outcome=SendOutcome.SENT, may_retry=False, status=status, body=readable(body)
    )


def failed(
    error: str,
    outcome: SendOutcome = SendOutcome.FAILED,
    *,
    may_retry: bool = True,
    status: int | None = None,
    body: bytes = b"",
) -> Response:
    """The receiver does not have it, or did not say so."""
    return Response(
        ok=False,
        outcome=outcome,
        may_retry=may_retry,
        status=status,
        body=readable(body),
        error=error,
    )


def readable(body: bytes) -> str:
    """What is kept of an answer, as text."""
    return body[:KEPT].decode(errors="replace")
