"""Answers that are kept, so that who asks the same again is not done the same again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person was answered under a key of his own choice.

    `fingerprint` tells his request from others, `owner` is the incarnation that acts on it and
    `at` when that began. While it acts, `status` is None. `body` is None if it was too long to
    be kept. `rev` rises with every change.
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
