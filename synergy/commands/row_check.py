"""Checks all rows of a store for malformed ones, again and again, a portion at a time."""

from __future__ import annotations

import logging
from dataclasses import replace

from synergy.names import ROW_CHECK
from synergy.queries.malformed_rows import SHOWN, RowCheck, row_check
from synergy.storage.protocol import Store

PORTION = 5_000  # rows; a portion takes some ten milliseconds

log = logging.getLogger(__name__)


def check_rows(store: Store, limit: int = PORTION) -> bool:
    """Checks the next portion; returns whether it was the last one of the check.

    The log names each malformed row once, not with each check.
    """
    done = row_check(store)
    kinds = list(store.rows.kinds())
    at = kinds.index(done.kind) if done.kind in kinds else 0
    after, found, left = done.after, list(done.found), limit
    while at < len(kinds) and left > 0:
        part = store.rows.check(kinds[at], after, left)
        for row in set(part.malformed).difference(done.before):
            log.warning("%s", row.sentence, extra={"event": "store.malformed"})
        found += part.malformed
        left -= max(part.count, 1)
        after = part.last
        if after is None:
            at += 1
    is_over = at == len(kinds)
    kept = tuple(found[:SHOWN])
    if is_over:
        done = RowCheck(before=kept)
    else:
        done = replace(done, kind=kinds[at], after=after, found=kept)
    store.facts.set(ROW_CHECK, done.to_json())
    return is_over
