"""Stores the result of an audit, so that all readers see the same one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime

import orjson

from synergy.clock import Clock
from synergy.errors import StorageUnavailable
from synergy.names import LAST_AUDIT
from synergy.queries.timetable.audit import LATE, Audit
from synergy.queries.timetable.last_audit import LastAudit, last_audit
from synergy.storage.protocol import Store

Progress = Callable[[int, int], None]

REMEMBERED = 200  # late periods that are stored with the time of their first audit


def store_audit(store: Store, found: Audit, at: datetime, took: float) -> None:
    """Stores the result of an audit."""
    late = [one for one in found.unexplained if one.text == LATE]
    lost = [one for one in found.unexplained if one.text != LATE]
    number = min(found.late, _missing(found))
    before = last_audit(store)
    known = {} if before is None else before.late_since
    names = [f"{one.process} {one.timeperiod}" for one in late[:REMEMBERED]]
    since = {name: known.get(name, at) for name in names}
    first = next(iter([*lost, *late]), None)
    last = LastAudit(at, took, found.expected, _missing(found) - number, first, number, since)
    store.facts.set(LAST_AUDIT, orjson.dumps(asdict(last)).decode())


def _missing(found: Audit) -> int:
    return found.expected - found.accounted


def audited(
    store: Store,
    make: Callable[[Progress], Audit],
    clock: Clock,
    progress: Progress,
    warn: Callable[[str], None],
) -> Audit:
    """Makes an audit and stores its result; warns if the store can only be read now."""
    began = clock.monotonic()
    found = make(progress)
    try:
        store_audit(store, found, clock.now(), clock.monotonic() - began)
    except StorageUnavailable as error:
        warn(f"the result was not stored, so that verdicts go on with the one before: {error}")
    return found
