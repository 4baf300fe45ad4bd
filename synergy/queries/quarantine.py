"""Messages in quarantine, by page and as text."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from synergy.messaging.protocol import BusView
from synergy.model.cursor import number_of
from synergy.queries.page import Page
from synergy.runtime.masking import mask
from synergy.storage.protocol import DeadMessage


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A message in quarantine; `body` is its beginning as text, `size` its full length in bytes.

    Bytes that are not UTF-8 are replaced, and secrets are masked. The stored message keeps both: it
    may be replayed.
    """

    seq: int
    queue: str
    at: datetime
    reason: str
    body: str
    size: int


def dead_page(bus: BusView, limit: int, cursor: str | None, longest: int) -> Page[DeadLetter]:
    """A page of messages with at most `longest` characters; raises InvalidValue for the cursor."""
    found = bus.dead(limit + 1, None if cursor is None else number_of(cursor))
    items = tuple(_letter(dead, longest) for dead in found[:limit])
    return Page(items, str(items[-1].seq) if len(found) > limit else None)


def _letter(dead: DeadMessage, longest: int) -> DeadLetter:
    beginning = dead.body[: longest * 4]  # a character has four bytes at most
    body = mask(beginning.decode(errors="replace"))[:longest]
    return DeadLetter(dead.seq, dead.queue, dead.at, dead.reason, body, len(dead.body))
