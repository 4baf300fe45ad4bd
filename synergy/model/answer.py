"""Answers kept by idempotency key, so that a repeated request is carried out once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a request of `person` with an idempotency key.

    `fingerprint` identifies the request, `owner` is the incarnation that carries it out, and `at`
    the time at which that began. Until the end `status` is None. `body` is None if it was too long
    to be kept. `rev` rises with every change.
    """

    person: str
    key: str
    fingerprint: str
    owner: str
    at: datetime
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    rev: int = 0
