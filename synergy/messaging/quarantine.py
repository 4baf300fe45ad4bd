"""Where consumers of every bus put messages that cannot be handled; it is kept in the store."""

from __future__ import annotations

import logging

from synergy.clock import Clock
from synergy.model import journal
from synergy.runtime.masking import mask
from synergy.storage.protocol import QUARANTINE_LIMITS, QuarantineLimits, Store

LONGEST_KEPT = 1 << 20
"""Bytes of a message that quarantine keeps, because stores limit the size of a row."""

LONGEST_REASON = 1_000  # characters: a reason may quote an error of any length
TOLD_EVERY = 1_000  # dropped messages between two entries of the journal

log = logging.getLogger(__name__)


class Quarantine:
    """Adds messages within limits; logs and journals that older messages were dropped.

    It does so for the first dropped message, and then once for every `TOLD_EVERY`.
    """

    def __init__(
        self, store: Store, clock: Clock, limits: QuarantineLimits = QUARANTINE_LIMITS
    ) -> None:
        self._store = store
        self._clock = clock
        self._limits = limits

    def put(self, queue: str, body: bytes, reason: str) -> None:
        """Puts a message of a queue into quarantine; of a long one the beginning is kept."""
        reason = mask(reason)[:LONGEST_REASON]  # first masked: half a secret is not recognised
        reason = reason.encode(errors="replace").decode()  # no store keeps surrogates
        if len(body) > LONGEST_KEPT:
            reason += f"; it had {len(body)} bytes, of which the first {LONGEST_KEPT} are kept"
        now, messages = self._clock.now(), self._store.messages
        dropped = messages.bury(queue, body[:LONGEST_KEPT], reason, now, self._limits)
        if not dropped:
            return
        total = messages.quarantine().dropped
        if total == dropped or total // TOLD_EVERY > (total - dropped) // TOLD_EVERY:
            entry = journal.quarantine_dropped(total, now)
            log.warning("Quarantine is full: %s", entry.why, extra={"event": entry.event})
            self._store.journal.append([entry])
