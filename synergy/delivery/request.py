"""Requests, and the responses to them."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from synergy.delivery.target import Target
from synergy.errors import SynergyError

JSON = "application/json"
KEPT = 4_096
"""Bytes of an answer that are read and kept."""

PASSING = frozenset({408, 425, 429})
"""The statuses 4xx that do not blame the request: it may be sent again at any time."""


UNREACHED = "it was not reached, or gave no whole answer"
"""The reason shown for each attempt without a status; it tells nothing about the network."""


class SendOutcome(StrEnum):
    """The outcome of an attempt; a label of metrics, so the set is closed."""

    SENT = "sent"  # accepted by the receiver
    REFUSED = "refused"  # answered, but not with success
    FAILED = "failed"  # no whole answer (not connected, or cut off), or it cannot be sent at all
    TIMEOUT = "timeout"
    BLOCKED = "blocked"  # not sent: its address is not allowed
    STOPPED = "stopped"  # the sender was closed, or the claim was lost; it may have arrived


class NotSent(SynergyError):
    """Raised right before a request would be sent, if it is not to be sent any more."""


async def _is_always_current() -> None:
    """The check of a request that nobody else can send."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One attempt to deliver one run of a schedule.

    `key` is the same for all attempts of a run, so that a receiver can recognise repetitions;
    `attempt` counts from 1. `headers` are the user's own. An empty `content_type` means JSON.
    `secrets` sign a webhook in place of those of the deployment. `assert_current` is called as the
    last step before the bytes go out, and raises NotSent.
    """

    target: Target
    body: bytes = field(repr=False)
    content_type: str
    headers: Mapping[str, str] = field(repr=False)
    key: str
    scheduled_at: datetime
    schedule: str
    attempt: int
    secrets: tuple[str, ...] = field(default=(), repr=False)
    assert_current: Callable[[], Coroutine[None, None, None]] = field(
        default=_is_always_current, repr=False
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """The result of one attempt.

    `retry_after`: seconds for which the receiver wants no request. `status`: of HTTP, also if the
    answer was cut off after it. `body`: the first 4 KiB of the answer. `error`: why it is not
    `ok`, without secrets, for operators. `disables`: the receiver wants no request ever again.
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
    def reason(self) -> str:
        """The error as every user may see it; it tells nothing about the network.

        It is the same for a closed port, a silent one, an unknown name and a refused address.
        """
        is_reached = self.status is not None or self.outcome == SendOutcome.REFUSED
        is_mistake = self.outcome == SendOutcome.FAILED and not self.may_retry
        return self.error if is_reached or is_mistake else UNREACHED

    @property
    def is_lasting(self) -> bool:
        """Whether another attempt is likely to get the same answer; see `retry.ENOUGH`."""
        return self.status is not None and 300 <= self.status < 500 and self.status not in PASSING


def sent(status: int | None = None, body: bytes = b"") -> Response:
    """The response of a receiver that accepted the request."""
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
    """The response if the receiver did not accept the request, or did not confirm it."""
    return Response(
        ok=False,
        outcome=outcome,
        may_retry=may_retry,
        status=status,
        body=readable(body),
        error=error,
    )


def readable(body: bytes) -> str:
    """The kept part of an answer, as text."""
    return body[:KEPT].decode(errors="replace")
