"""The audit log of the box of this MX: who changed what."""

from __future__ import annotations

from itertools import islice
from typing import Any

from synergy.audit_log.entry import Entry
from synergy.model.cursor import number_of
from synergy.mx.access import Admin
from synergy.mx.bodies import Cursor, Limit, Page
from synergy.mx.routing import Router
from synergy.mx.services import ServicesDep

router = Router("audit log")


@router.get("/audit-log", response_model=Page[Entry])
def list_acts(services: ServicesDep, _: Admin, limit: Limit = 100, cursor: Cursor = None) -> Any:
    """Acts on the box of this MX, newest first.

    An act has an entry for its beginning and one for its result.
    """
    before = None if cursor is None else number_of(cursor)
    found = list(islice(services.audit_log.newest(before), limit + 1))
    has_more = len(found) > limit
    return {"items": found[:limit], "next": str(found[limit - 1].seq) if has_more else None}
