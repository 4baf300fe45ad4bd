"""The schedules that were paused because their runs failed."""

from __future__ import annotations

import json

from synergy.model.schedule import Schedule
from synergy.names import PAUSED_SCHEDULES
from synergy.runtime.fact_text import fact_text
from synergy.storage.protocol import StoreView

PAUSED = "paused after "
"""The beginning of the reason of a paused schedule."""


def paused_schedules(store: StoreView) -> list[Schedule]:
    """The schedules that are still paused."""
    names = json.loads(fact_text(store.facts, PAUSED_SCHEDULES) or "[]")
    rows = store.schedules.get(names) if names else []
    return [row for row in rows if not row.is_enabled and row.reason.startswith(PAUSED)]
